/**
 * The engine's side of the seam: takes commands, drives the run's generator and posts events. Pause, single step and
 * stop are nothing but when (and whether) the next value is asked for.
 */
import { messageOf, UserError, unreachable } from '../base/assert.ts';
import type { Document } from '../engine/data/example.ts';
import { dataFiles, loadTable, nothingKept } from '../engine/data/load-table.ts';
import { blobSource } from '../engine/data/read/bytes.ts';
import { readModelFolder } from '../engine/model/checkpoint.ts';
import { parameterCount } from '../engine/model/config.ts';
import { openDevice } from '../engine/model/kernel-gate.ts';
import { onDeviceLost } from '../engine/tensor/device.ts';
import { onCompile } from '../engine/tensor/pipelines.ts';
import { loadTokenizer } from '../engine/tokenizer/hf-tokenizer.ts';
import { parseRecipe, scaleRecipe } from '../engine/train/recipe.ts';
import { type RunHandle, runRecipe } from '../engine/train/run.ts';
import type { LoadedModel } from '../engine/train/setup.ts';
import type { Command, EngineEvent, ExportedFile, RunState, StartOptions } from './protocol.ts';
import { RewardSandbox } from './reward-sandbox.ts';

type BackendChoice = Extract<Command, { type: 'init' }>['backend'];

const scope = self as unknown as DedicatedWorkerGlobalScope;

function post(event: EngineEvent): void {
  const transfer: Transferable[] = [];
  if (event.type === 'autosave') transfer.push(event.saved.state);
  if (event.type === 'checkpoint' || event.type === 'exported')
    transfer.push(...event.files.map((file) => file.bytes));
  scope.postMessage(event, transfer);
}

let state: RunState = 'idle';
function setState(next: RunState): void {
  state = next;
  post({ type: 'state', state });
}

let opened: { backend: BackendChoice; ready: Promise<void> } | null = null;
let handle: RunHandle | null = null;
/** Optimizer steps that may still be made while paused (single step). */
let stepsAllowed = 0;
let stopAsked = false;
/** Resolves when a paused run may look again. */
let wake: (() => void) | null = null;
const dropped = new Map<string, readonly Document[]>();
let droppedModel: LoadedModel | null = null;
const sandbox = new RewardSandbox();

/** Lets waiting commands in: they are macrotasks, and on the CPU a run awaits only microtasks. */
const breathe = (): Promise<void> =>
  new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      channel.port1.close();
      resolve();
    };
    channel.port2.postMessage(null);
  });

function fail(error: unknown, fatal: boolean): void {
  if (!(error instanceof UserError)) console.error(error);
  const message =
    error instanceof UserError
      ? error.message
      : `Something went wrong in the engine: ${messageOf(error)}. Reload the page; if it happens again, please report it with this text.`;
  post({ type: 'error', message, fatal });
}

/** Opens a backend once; another choice opens another one, between runs. */
function open(backend: BackendChoice): Promise<void> {
  if (!opened || opened.backend !== backend) opened = { backend, ready: init(backend) };
  return opened.ready;
}

/** Ends the watch over the device before. */
let unwatch = (): void => {};

async function init(backend: BackendChoice): Promise<void> {
  const device = await openDevice(backend);
  unwatch();
  unwatch = onDeviceLost((message) => {
    stopAsked = true;
    opened = null;
    fail(
      new UserError(
        `${message} If it happens again, use smaller micro-batches (microBatchTokens) or compute on the processor.`,
      ),
      true,
    );
  });
  post({ type: 'ready', device });
  onCompile((done, all) => post({ type: 'compiling', done, all }));
}

async function loadShipped(name: string): Promise<LoadedModel> {
  const files = new Map<string, ArrayBuffer>();
  for (const path of ['config.json', 'model.safetensors', 'tokenizer.json', 'tokenizer_config.json']) {
    // The worker's script lies in assets/; models/ lies beside it.
    const url = new URL(`${import.meta.env.DEV ? '/' : '../'}models/${name}/${path}`, self.location.href);
    const response = await fetch(url);
    if (!response.ok)
      throw new UserError(
        `The shipped model "${name}" could not be loaded: ${path} gave status ${response.status}.`,
      );
    files.set(path, await response.arrayBuffer());
  }
  const folder = readModelFolder(files);
  return {
    config: folder.config,
    weights: folder.weights,
    tokenizer: loadTokenizer(folder.tokenizerJson, folder.tokenizerConfigJson),
  };
}

async function start(document: unknown, options: StartOptions): Promise<void> {
  if (state === 'running' || state === 'paused' || state === 'loading')
    throw new UserError('A run is already going. Stop it before you start another.');
  const resume = options.resume ?? null;
  const recipe = resume ? parseRecipe(resume.recipe) : scaleRecipe(parseRecipe(document), options.scale);
  stopAsked = false;
  stepsAllowed = 0;
  setState('loading');
  try {
    await (opened?.ready ?? open('auto'));
    handle = runRecipe({
      recipe,
      scale: options.scale,
      resume,
      dropped,
      droppedModel,
      loadShipped,
      customReward: sandbox,
    });
    setState('running');
    await drive(handle);
    setState(stopAsked ? 'stopped' : 'finished');
  } catch (error) {
    // A GPU that reported an error stays faulty: the next run opens the backend anew.
    opened = null;
    fail(error, true);
    setState('failed');
  } finally {
    handle = null;
    sandbox.dispose();
  }
}

async function drive(run: RunHandle): Promise<void> {
  try {
    for (;;) {
      await breathe();
      if (exportAsked) {
        exportAsked = false;
        post({ type: 'exported', files: await run.exportModel() });
      }
      while (state === 'paused' && stepsAllowed === 0 && !stopAsked && !exportAsked)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      if (stopAsked) return;
      if (state === 'paused' && stepsAllowed === 0) continue;
      const next = await run.events.next();
      if (next.done) return;
      const event = next.value;
      if (event.type === 'step' && stepsAllowed > 0) stepsAllowed--;
      if (event.type === 'checkpoint') lastFolder = event.files.map(copyOf);
      if (event.type !== 'tick') post(event);
    }
  } finally {
    if (stopAsked) lastFolder = await run.exportModel().catch(() => lastFolder);
    await run.events.return(undefined);
  }
}

/** The last model that was trained stays available after its run. */
let lastFolder: ExportedFile[] | null = null;

/** A run exports between two of its events, so that no optimizer step falls into the middle of the copy. */
let exportAsked = false;

function exportModel(): void {
  if (handle) {
    exportAsked = true;
    look();
  } else if (lastFolder) post({ type: 'exported', files: lastFolder.map(copyOf) });
  else throw new UserError('There is nothing to export: start a run first.');
}

const copyOf = ({ path, bytes }: ExportedFile): ExportedFile => ({ path, bytes: bytes.slice(0) });

function look(): void {
  wake?.();
  wake = null;
}

/** Files of a Hugging Face folder, as opposed to data. */
const MODEL_FILE =
  /^(config|generation_config|tokenizer|tokenizer_config|special_tokens_map)\.json$|\.safetensors(\.index\.json)?$/;

async function dropModel(files: readonly File[]): Promise<void> {
  const contents = new Map<string, ArrayBuffer>();
  for (const file of files) contents.set(file.name, await file.arrayBuffer());
  const folder = readModelFolder(contents);
  const facts = { architecture: folder.config.architecture, parameters: parameterCount(folder.config) };
  const size = `${facts.architecture}, ${facts.parameters.toLocaleString('en')} parameters`;
  if (folder.tokenizerJson === null) {
    const message = `The model is whole (${size}), but its folder has no tokenizer.json, which a run needs. Drop it together with the other files.`;
    post({ type: 'model', report: { ...facts, usable: false, message } });
    return;
  }
  const tokenizer = loadTokenizer(folder.tokenizerJson, folder.tokenizerConfigJson);
  droppedModel = { config: folder.config, weights: folder.weights, tokenizer };
  const message = `Model loaded: ${size}. Recipes with "model": {"source": "dropped"} start from it.`;
  post({ type: 'model', report: { ...facts, usable: true, message } });
}

async function drop(all: readonly File[]): Promise<void> {
  const model = all.filter((file) => MODEL_FILE.test(file.name));
  if (model.length > 0) await dropModel(model).catch((error) => fail(error, false));
  const files = all.filter((file) => !MODEL_FILE.test(file.name));
  for (const file of files) {
    try {
      for await (const source of dataFiles(blobSource(file.name, file))) {
        const { table, report } = await loadTable(source);
        if (table.length === 0) throw new UserError(nothingKept(report));
        dropped.set(
          source.name,
          Array.from({ length: table.length }, (_, i) => table.row(i)),
        );
        post({ type: 'dataset', report });
      }
    } catch (error) {
      fail(error, false);
    }
  }
}

async function handleCommand(command: Command): Promise<void> {
  switch (command.type) {
    case 'init':
      if (handle && opened?.backend !== command.backend)
        throw new UserError('The backend cannot change while a run is going. Stop it first.');
      await open(command.backend);
      break;
    case 'start':
      await start(command.recipe, command.options);
      break;
    case 'pause':
      if (state === 'running') setState('paused');
      break;
    case 'resume':
      if (state === 'paused') setState('running');
      look();
      break;
    case 'step':
      if (state === 'running') setState('paused');
      if (state === 'paused') stepsAllowed = 1;
      look();
      break;
    case 'stop':
      stopAsked = true;
      look();
      break;
    case 'export':
      exportModel();
      break;
    case 'drop':
      await drop(command.files);
      break;
    default:
      unreachable(command);
  }
}

scope.onmessage = (message: MessageEvent<Command>) => {
  handleCommand(message.data).catch((error) => fail(error, false));
};
