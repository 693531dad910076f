/**
 * `npm run train -- <recipe.json> --out <dir> [--backend webgpu|wasm] [--scale 0.05] [--resume] [--drop <path>]…`
 * Runs a recipe (or an experiment: its arms one after the other) in headless Chromium with the built app, through the page's public commands (`window.polypath`).
 */
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { chromium } from '@playwright/test';
import { isModelFile } from '../src/engine/model/blobs.ts';
import { isExperiment } from '../src/engine/train/experiment.ts';
import type { EngineEvent, Recipe } from '../src/worker/protocol.ts';
import { serveApp } from './app-server.ts';
import { chromiumArguments, chromiumPath } from './chromium.ts';
import { runExperiment } from './experiment.ts';
import { type Encoded, RunFolder } from './run-folder.ts';

const USAGE =
  'Usage: npm run train -- <recipe.json> --out <dir> [--backend webgpu|wasm|cpu] [--scale 0.05] [--resume] [--drop <data file or model folder>]…';

function stop(message: string): never {
  console.error(message);
  process.exit(2);
}

function options() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        out: { type: 'string' },
        backend: { type: 'string', default: 'webgpu' },
        scale: { type: 'string', default: '1' },
        resume: { type: 'boolean', default: false },
        drop: { type: 'string', multiple: true, default: [] },
      },
    });
    const scale = Number(values.scale);
    if (positionals.length !== 1 || !values.out) stop(USAGE);
    if (!['webgpu', 'wasm', 'cpu'].includes(values.backend))
      stop(`Unknown backend "${values.backend}". ${USAGE}`);
    if (!(scale > 0)) stop(`--scale must be a number above 0, not "${values.scale}".`);
    const { out, backend, resume, drop } = values;
    return { recipe: positionals[0], out, backend, scale, resume, drop };
  } catch (error) {
    return stop(`${(error as Error).message}\n${USAGE}`);
  }
}

const clock = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(11, 19);

/** The few numbers that tell how a step went. */
function line(event: Encoded<Extract<EngineEvent, { type: 'step' }>>): string {
  const shown = [
    ['loss', 'loss', 4],
    ['reward', 'reward', 2],
    ['acc', 'accuracy', 3],
    ['par', 'parallel/ratio', 2],
    ['valid', 'parallel/valid_ratio', 2],
    ['first', 'parallel/first_relative_position', 2],
    ['late', 'parallel/late_share', 2],
    ['agree', 'parallel/path_agreement', 2],
    ['len', 'tokens/total', 0],
    ['gap', 'sampling/logp_difference/max', 7],
    ['norm', 'grad_norm', 3],
    ['tok/s', 'perf/tokens_per_second', 0],
  ] as const;
  const metrics = event.metrics as Record<string, number>;
  const parts = shown.flatMap(([label, key, digits]) =>
    key in metrics ? [`${label} ${metrics[key].toFixed(digits)}`] : [],
  );
  return `${clock(event.timeSeconds)} ${event.stage} ${event.step}  ${parts.join('  ')}`;
}

/** A data file alone, or every file of a model folder; and the events that say that it is taken, or not. */
async function readDrop(path: string): Promise<{ files: { name: string; bytes: string }[]; ends: string[] }> {
  const folder = await stat(path).catch(() => stop(`There is no file or folder ${path} to drop.`));
  const paths = folder.isDirectory() ? (await readdir(path)).map((name) => join(path, name)) : [path];
  const files = await Promise.all(
    paths.map(async (one) => ({ name: basename(one), bytes: (await readFile(one)).toString('base64') })),
  );
  return { files, ends: files.some(({ name }) => isModelFile(name)) ? ['model', 'error'] : ['data-done'] };
}

async function main(): Promise<number> {
  const { recipe: recipePath, out, backend, scale, resume, drop } = options();
  const folder = new RunFolder(out);
  const text = await readFile(recipePath, 'utf8').catch(() => stop(`There is no file ${recipePath}.`));
  let recipe: unknown;
  try {
    recipe = JSON.parse(text);
  } catch (error) {
    stop(`${recipePath} is not JSON: ${(error as Error).message}`);
  }
  // An experiment goes on by itself with what is not finished.
  if (isExperiment(recipe)) return runExperiment(recipePath, recipe, { out, backend, scale });
  if (!resume && !(await folder.isEmpty()))
    stop(`The folder ${out} is not empty. Add --resume to go on with the run in it, or name another folder.`);
  await folder.create();
  const saved = resume ? await folder.load() : null;
  if (resume && !saved) console.log(`${out} has no save yet; starting from the beginning.`);
  if (saved) await folder.cutBack(saved.manifest);

  const app = await serveApp();
  const browser = await chromium.launch({ executablePath: chromiumPath(), args: chromiumArguments });
  try {
    const page = await browser.newPage();
    // Events are handled one after the other, in order.
    let queue: Promise<void> = Promise.resolve();
    let running: Recipe | null = null;
    const finished = new Promise<number>((resolve) => {
      page.on('crash', () => {
        console.error('The page crashed. Go on from the last save with --resume.');
        resolve(1);
      });
      page.on('pageerror', (error) => console.error(`page: ${error.message}`));
      page.on('console', (message) => {
        if (message.type() === 'error' || message.type() === 'warning')
          console.error(`page: ${message.text()}`);
      });
      const handle = async (event: Encoded<EngineEvent>): Promise<void> => {
        switch (event.type) {
          case 'ready':
            console.log(
              `${event.device.backend}: ${event.device.name}${event.device.notice ? ` (${event.device.notice})` : ''}`,
            );
            break;
          case 'run-started':
            running = event.recipe as Recipe;
            console.log(
              `${event.recipe.name}: ${event.parameters} parameters, vocabulary ${event.vocabulary}`,
            );
            break;
          case 'step':
            await folder.step(event);
            console.log(line(event));
            break;
          case 'rollouts':
            await folder.rollouts(event);
            break;
          case 'evaluation': {
            await folder.evaluation(event);
            const metrics = event.metrics as Record<string, number>;
            console.log(
              `         ${event.stage} ${event.step}  held-out ${event.set}: ${['eval/mean@k', 'eval/maj@k', 'eval/pass@k', 'parallel/ratio', 'parallel/valid_ratio', 'parallel/late_share'].map((key) => `${key} ${metrics[key]?.toFixed(3) ?? '–'}`).join('  ')}`,
            );
            break;
          }
          case 'rollback':
            await folder.cutBack({ recipe: running!, stage: event.stageIndex, step: event.step });
            break;
          case 'checkpoint':
            await folder.checkpoint(event);
            break;
          case 'autosave':
            await folder.autosave(event);
            break;
          case 'error':
            console.error(event.message);
            if (event.fatal) resolve(1);
            break;
          case 'dataset':
            console.log(`${event.report.name}: ${event.report.kept} of ${event.report.rows} rows kept`);
            break;
          case 'model':
            console.log(event.report.message);
            break;
          case 'notice':
            console.log(event.message);
            break;
          case 'state':
            if (event.state === 'finished') resolve(0);
            if (event.state === 'failed' || event.state === 'stopped') resolve(1);
            break;
          default:
            // The rest is for the page's screens.
            break;
        }
      };
      page.exposeFunction('polypathEvent', (event: Encoded<EngineEvent>) => {
        queue = queue
          .then(() => handle(event))
          .catch((error) => {
            console.error(`The run folder could not be written: ${error.message}`);
            resolve(1);
          });
        // Awaited by the page, so that it never runs far ahead of the disk.
        return queue;
      });
    });
    // tsx names inner functions through a helper that the page does not have.
    await page.addInitScript('globalThis.__name = (f) => f');
    await page.goto(app.url);
    await page.waitForFunction('window.polypath');
    await page.evaluate(
      async ({ recipe, backend, scale, saved, drops }) => {
        type Bytes = ArrayBuffer;
        const encode = (bytes: Bytes): string => {
          const view = new Uint8Array(bytes);
          let binary = '';
          for (let at = 0; at < view.length; at += 0x8000)
            binary += String.fromCharCode(...view.subarray(at, at + 0x8000));
          return btoa(binary);
        };
        const decode = (text: string): Bytes => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
        const encoded = (value: unknown): unknown => {
          if (value instanceof ArrayBuffer) return encode(value);
          if (Array.isArray(value)) return value.map(encoded);
          if (typeof value === 'object' && value !== null)
            return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, encoded(one)]));
          return value;
        };
        const scope = window as unknown as {
          polypath: {
            start(recipe: unknown, options: object): void;
            onEvent(listener: (event: { type: string }) => void): () => void;
            drop(files: File[]): void;
          };
          polypathEvent(event: unknown): Promise<void>;
        };
        scope.polypath.onEvent((event) => {
          if (event.type !== 'rollout-progress') void scope.polypathEvent(encoded(event));
        });
        for (const { files, ends } of drops)
          await new Promise<void>((resolve) => {
            const stop = scope.polypath.onEvent(({ type }) => {
              if (!ends.includes(type)) return;
              stop();
              resolve();
            });
            scope.polypath.drop(files.map(({ name, bytes }) => new File([decode(bytes)], name)));
          });
        const resume = saved && { ...saved.manifest, state: decode(saved.state) };
        scope.polypath.start(recipe, { backend, scale, resume: resume ?? undefined });
      },
      {
        recipe,
        backend,
        scale,
        drops: await Promise.all(drop.map(readDrop)),
        saved: saved && { manifest: saved.manifest, state: saved.state.toString('base64') },
      },
    );
    const code = await finished;
    await queue;
    return code;
  } finally {
    await browser.close();
    await app.close();
  }
}

process.exitCode = await main();
