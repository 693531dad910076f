/**
 * The folder of a headless run: metrics.jsonl, rollouts.jsonl, eval.json, checkpoints/<stage>/ and autosave/. What an
 * interrupted run wrote after its last save is cut off again when it goes on, so no step stands there twice.
 */

import { existsSync } from 'node:fs';
import { appendFile, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { EngineEvent, SavedRun } from '../src/worker/protocol.ts';

/** A save without its bytes, and the name of the file that holds them. */
type SavedManifest = Omit<SavedRun, 'state'> & { file: string };

/** Bytes cross from the page as base64. */
export type Encoded<T> = T extends ArrayBuffer
  ? string
  : T extends (infer U)[]
    ? Encoded<U>[]
    : T extends object
      ? { [K in keyof T]: Encoded<T[K]> }
      : T;
type Of<Type extends EngineEvent['type']> = Encoded<Extract<EngineEvent, { type: Type }>>;

export class RunFolder {
  private evaluations: Record<string, Record<string, Record<string, number>>> = {};
  private history: object[] = [];

  constructor(readonly path: string) {}

  private file(name: string): string {
    return join(this.path, name);
  }

  async isEmpty(): Promise<boolean> {
    return !existsSync(this.path) || (await readdir(this.path)).length === 0;
  }

  async create(): Promise<void> {
    await mkdir(this.path, { recursive: true });
  }

  /** The last save, or null where there is none. */
  async load(): Promise<{ manifest: SavedManifest; state: Buffer } | null> {
    const path = this.file('autosave/run.json');
    if (!existsSync(path)) return null;
    const manifest = JSON.parse(await readFile(path, 'utf8')) as SavedManifest;
    return { manifest, state: await readFile(this.file(join('autosave', manifest.file))) };
  }

  /** Cuts the logs back to a save. */
  async cutBack({ recipe, stage, step }: Pick<SavedManifest, 'recipe' | 'stage' | 'step'>): Promise<void> {
    const index = new Map(recipe.stages.map(({ name }, i) => [name, i]));
    const done = (line: { stage: string; step: number }): boolean => {
      const at = index.get(line.stage) ?? Number.POSITIVE_INFINITY;
      return at < stage || (at === stage && line.step <= step);
    };
    for (const name of ['metrics.jsonl', 'rollouts.jsonl']) {
      if (!existsSync(this.file(name))) continue;
      const lines = (await readFile(this.file(name), 'utf8')).split('\n').filter((line) => line !== '');
      const kept = lines.filter((line) => {
        try {
          return done(JSON.parse(line));
        } catch {
          return false; // the line that a crash cut off
        }
      });
      await this.replace(name, kept.map((line) => `${line}\n`).join(''));
    }
    if (existsSync(this.file('eval.json'))) {
      const saved = JSON.parse(await readFile(this.file('eval.json'), 'utf8'));
      this.evaluations = saved.stages ?? {};
      this.history = (saved.history ?? []).filter(done);
    }
  }

  async step(event: Of<'step'>): Promise<void> {
    const line = {
      stage: event.stage,
      kind: event.kind,
      step: event.step,
      time_s: Number(event.timeSeconds.toFixed(3)),
      ...event.metrics,
    };
    await appendFile(this.file('metrics.jsonl'), `${JSON.stringify(line)}\n`);
  }

  async rollouts(event: Of<'rollouts'>): Promise<void> {
    await appendFile(
      this.file('rollouts.jsonl'),
      event.records.map((record) => `${JSON.stringify(record)}\n`).join(''),
    );
  }

  async evaluation(event: Of<'evaluation'>): Promise<void> {
    const { stage, step, set, difficulty, metrics, report } = event;
    this.history.push({ stage, step, set, difficulty, metrics, report });
    this.evaluations[stage] = { ...this.evaluations[stage], [set]: metrics as Record<string, number> };
    await this.replace(
      'eval.json',
      `${JSON.stringify({ stages: this.evaluations, history: this.history }, null, 1)}\n`,
    );
  }

  async checkpoint(event: Of<'checkpoint'>): Promise<void> {
    for (const { path, bytes } of event.files)
      await this.replace(join('checkpoints', event.stage, path), Buffer.from(bytes, 'base64'));
    if (Object.keys(event.behaviour).length > 0)
      await this.replace(
        join('checkpoints', event.stage, 'behaviour.json'),
        `${JSON.stringify(event.behaviour, null, 1)}\n`,
      );
  }

  /** The manifest is written last: a save without it does not count. */
  async autosave(event: Of<'autosave'>): Promise<void> {
    const { state, ...rest } = event.saved;
    const file = `state-${rest.stage}-${rest.step}.safetensors`;
    const before = await this.load();
    await this.replace(join('autosave', file), Buffer.from(state, 'base64'));
    await this.replace('autosave/run.json', JSON.stringify({ ...rest, file }));
    if (before && before.manifest.file !== file)
      await rm(this.file(join('autosave', before.manifest.file)), { force: true });
  }

  /** Writes beside the file and renames, so that a crash leaves the old one whole. */
  private async replace(name: string, content: string | Buffer): Promise<void> {
    const target = this.file(name);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(`${target}.part`, content);
    await rename(`${target}.part`, target);
  }
}
