/**
 * The engine's side of the seam: takes commands, drives the run's generator and posts events. Pause, single step and
 * stop are nothing but when (and whether) the next value is asked for.
 */
import { messageOf, UserError, unreachable } from '../base/assert.ts';
import type { NamedBlob } from '../engine/model/blobs.ts';
import { openDevice } from '../engine/model/kernel-gate.ts';
import { onDeviceLost } from '../engine/tensor/device.ts';
import { onCompile } from '../engine/tensor/pipelines.ts';
import type { TrainEvent } from '../engine/train/events.ts';
import { parseRecipe, type Recipe, scaleRecipe } from '../engine/train/recipe.ts';
import { type RunContext, type RunHandle, runRecipe } from '../engine/train/run.ts';
import type { LoadedModel } from '../engine/train/setup.ts';
import { AskDesk, type AskedModel, modelOfFolder } from './ask-desk.ts';
import { breathe } from './breathe.ts';
import { DataShelf } from './data/data-shelf.ts';
import { DataStore } from './data/data-store.ts';
import { KeptRuns } from './kept-runs.ts';
import { ModelShelf } from './model-shelf.ts';
import { ModelStore } from './model-store.ts';
import type {
  AskModel,
  EngineCommand,
  EngineEvent,
  ExportedFile,
  RunState,
  StartOptions,
} from './protocol.ts';
import { RewardSandbox } from './reward-sandbox.ts';
import { OpfsDirectory } from './run-store/directory.ts';
import { MemoryDirectory } from './run-store/memory-directory.ts';

type BackendChoice = Extract<EngineCommand, { type: 'init' }>['backend'];

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
let lost = false;
/** Resolves when a paused run may look again. */
let wake: (() => void) | null = null;
const data = new DataShelf(async () => {
  const root = await OpfsDirectory.root();
  return root && new DataStore(root);
});
const models = new ModelShelf({
  openStore: () => ModelStore.open(),
  post,
  fetch: (...args) => fetch(...args),
});
const sandbox = new RewardSandbox();
let kept: Promise<KeptRuns> | null = null;
/** The runs on disk; without a disk they last as long as the page. */
const keptRuns = (): Promise<KeptRuns> => {
  kept ??= OpfsDirectory.root().then((root) => new KeptRuns(root ?? new MemoryDirectory(), post));
  return kept;
};

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

let deviceName = '';

/** Ends the watch over the device before. */
let unwatch = (): void => {};

async function init(backend: BackendChoice): Promise<void> {
  const device = await openDevice(backend);
  unwatch();
  unwatch = onDeviceLost((message) => {
    stopAsked = true;
    // What was on the device is gone; the last save on disk is what the run goes on from.
    lost = true;
    opened = null;
    fail(
      new UserError(
        `${message} If it happens again, use smaller micro-batches (microBatchTokens) or compute on the processor.`,
      ),
      true,
    );
  });
  deviceName = `${device.backend} · ${device.name}`;
  post({ type: 'ready', device });
  onCompile((done, all) => post({ type: 'compiling', done, all }));
}

async function loadShipped(name: string): Promise<LoadedModel> {
  const files: ExportedFile[] = [];
  for (const path of ['config.json', 'model.safetensors', 'tokenizer.json', 'tokenizer_config.json']) {
    // The worker's script lies in assets/; models/ lies beside it.
    const url = new URL(`${import.meta.env.DEV ? '/' : '../'}models/${name}/${path}`, self.location.href);
    const response = await fetch(url);
    if (!response.ok)
      throw new UserError(
        `The shipped model "${name}" could not be loaded: ${path} gave status ${response.status}.`,
      );
    files.push({ path, bytes: await response.arrayBuffer() });
  }
  return modelOfFolder(files);
}

async function askedModel(which: AskModel): Promise<AskedModel> {
  switch (which.from) {
    case 'shipped':
      return { model: await loadShipped(which.name), recipe: null };
    case 'checkpoint': {
      const runs = await keptRuns();
      const files = await runs.checkpoint(which.id, which.stage);
      return { model: modelOfFolder(files), recipe: (await runs.recordOf(which.id)).recipe };
    }
    case 'loaded': {
      const model = await models.dropped({ model: { source: 'dropped' } });
      if (!model) throw new UserError('No model is loaded. Load one on the Models screen first.');
      return { model, recipe: null };
    }
    case 'run': {
      const files = handle ? await handle.exportModel() : lastFolder;
      if (!files || !lastRecipe) throw new UserError('No run has a model to ask yet. Start one first.');
      return { model: modelOfFolder(files), recipe: lastRecipe };
    }
    default:
      return unreachable(which);
  }
}

const desk = new AskDesk({ load: askedModel, post });

/** What waits for the run to stand between two steps. */
let interlude: (() => Promise<void>) | null = null;

/** Uses the device: at once, or as soon as the run that goes stands between two steps. */
async function meanwhile(work: () => Promise<void>): Promise<void> {
  await (opened?.ready ?? open('auto'));
  if (desk.busy || interlude)
    throw new UserError('A question is being answered already. Wait for the answer, or stop it.');
  if (!handle) return work();
  return new Promise((resolve, reject) => {
    interlude = () => work().then(resolve, reject);
    look();
  });
}

function refuseSecond(): void {
  if (desk.busy)
    throw new UserError(
      'A question is being answered. Wait for the answer or stop it before you start a run.',
    );
  if (state === 'running' || state === 'paused' || state === 'loading')
    throw new UserError('A run is already going. Stop it before you start another.');
}

async function start(document: unknown, options: StartOptions): Promise<void> {
  refuseSecond();
  const resume = options.resume ?? null;
  const recipe = resume ? parseRecipe(resume.recipe) : scaleRecipe(parseRecipe(document), options.scale);
  await run(async () => {
    const { dropped, uses } = await data.open(recipe, null);
    if (options.store) await (await keptRuns()).begin(recipe, options.scale, deviceName, uses);
    return { recipe, scale: options.scale, resume, dropped };
  });
}

/** Goes on with a run on disk. */
async function resumeRun(id: string): Promise<void> {
  refuseSecond();
  await run(async () => {
    const { saved, base, data: used } = await (await keptRuns()).resume(id);
    const { dropped } = await data.open(saved.recipe, used);
    return { recipe: saved.recipe, scale: saved.scale, resume: saved, base, dropped };
  });
}

type Begun = Pick<RunContext, 'recipe' | 'scale' | 'resume' | 'base' | 'dropped'>;

async function run(begin: () => Promise<Begun>): Promise<void> {
  stopAsked = false;
  lost = false;
  saveAsked = false;
  stepsAllowed = 0;
  setState('loading');
  let ended: 'finished' | 'failed' | 'unfinished' = 'failed';
  try {
    await (opened?.ready ?? open('auto'));
    const begun = await begin();
    lastRecipe = begun.recipe;
    lastFolder = null;
    handle = runRecipe({
      ...begun,
      droppedModel: begun.base ? null : await models.dropped(begun.recipe),
      loadShipped,
      loadHub: (name, revision) => models.loadHub(name, revision),
      customReward: sandbox,
    });
    setState('running');
    await drive(handle);
    ended = lost ? 'failed' : stopAsked ? 'unfinished' : 'finished';
    setState(lost ? 'failed' : stopAsked ? 'stopped' : 'finished');
  } catch (error) {
    // A GPU that reported an error stays faulty: the next run opens the backend anew.
    opened = null;
    fail(error, true);
    setState('failed');
  } finally {
    handle = null;
    sandbox.dispose();
    const late = interlude as (() => Promise<void>) | null;
    interlude = null;
    void late?.();
    await (await keptRuns()).end(ended);
    await listRuns();
  }
}

async function listRuns(): Promise<void> {
  post({ type: 'runs', runs: await (await keptRuns()).list() });
}

async function drive(run: RunHandle): Promise<void> {
  const runs = await keptRuns();
  /** Only between two steps; else it waits for the end of this one. */
  const saveNow = async (): Promise<void> => {
    const saving = run.save();
    if (!saving) return;
    saveAsked = false;
    if (runs.id) await runs.see({ type: 'autosave', saved: await saving });
  };
  try {
    for (;;) {
      await breathe();
      if (saveAsked) await saveNow();
      if (interlude && run.between) {
        const work = interlude;
        interlude = null;
        await work();
      }
      if (exportAsked) {
        exportAsked = false;
        post({ type: 'exported', files: await run.exportModel() });
      }
      while (
        state === 'paused' &&
        stepsAllowed === 0 &&
        !stopAsked &&
        !exportAsked &&
        !(interlude && run.between) &&
        !(saveAsked && run.save())
      )
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
      if (await runs.see(event)) tell(event);
      if (saveAsked && event.type === 'step') await saveNow();
    }
  } finally {
    if (stopAsked && !lost) await saveNow().catch((error) => fail(error, false));
    if (stopAsked && !lost) lastFolder = await run.exportModel().catch(() => lastFolder);
    await run.events.return(undefined);
  }
}

function tell(event: TrainEvent): void {
  if (event.type === 'tick' || event.type === 'base') return;
  post(event);
}

/** Someone leaves the page: the run is saved as soon as its step is done. */
let saveAsked = false;

/** The last model that was trained stays available after its run. */
let lastFolder: ExportedFile[] | null = null;
let lastRecipe: Recipe | null = null;

/** A run exports between two of its events, so that no optimizer step falls into the middle of the copy. */
let exportAsked = false;

function exportModel(): void {
  if (handle) {
    exportAsked = true;
    look();
  } else if (lastFolder) post({ type: 'exported', files: lastFolder.map(copyOf) });
  else throw new UserError('There is nothing to export: start a run first.');
}

/** A checkpoint as the folder that a person would drop. */
async function checkpointOf(id: string, stage: string): Promise<NamedBlob[]> {
  const files = await (await keptRuns()).checkpoint(id, stage);
  return files.map(({ path, bytes }) => ({ path: `${id}-${stage}/${path}`, blob: new Blob([bytes]) }));
}

const copyOf = ({ path, bytes }: ExportedFile): ExportedFile => ({ path, bytes: bytes.slice(0) });

function look(): void {
  wake?.();
  wake = null;
}

async function handleCommand(command: EngineCommand): Promise<void> {
  switch (command.type) {
    case 'init':
      if (handle && opened?.backend !== command.backend)
        throw new UserError('The backend cannot change while a run is going. Stop it first.');
      if (desk.busy && opened?.backend !== command.backend)
        throw new UserError('The backend cannot change while a question is being answered. Stop it first.');
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
      desk.stop();
      stopAsked = true;
      look();
      break;
    case 'save':
      saveAsked = true;
      look();
      break;
    case 'list-runs':
      await listRuns();
      break;
    case 'open-run':
      await (await keptRuns()).open(command.id);
      break;
    case 'resume-run':
      await resumeRun(command.id);
      break;
    case 'delete-run':
      await (await keptRuns()).delete(command.id);
      await listRuns();
      break;
    case 'describe-run':
      await (await keptRuns()).describe(command.id, { name: command.name, notes: command.notes });
      await listRuns();
      break;
    case 'read-log':
      await (await keptRuns()).readLog(command.id);
      break;
    case 'bundle-run':
      await (await keptRuns()).bundle(command.id, command.rollouts);
      break;
    case 'unbundle-run':
      await (await keptRuns()).unbundle(command.file);
      await listRuns();
      break;
    case 'open-checkpoint':
      await models.drop(await checkpointOf(command.id, command.stage));
      break;
    case 'export-checkpoint':
      post({ type: 'exported', files: await (await keptRuns()).checkpoint(command.id, command.stage) });
      break;
    case 'read-rollouts':
      await (await keptRuns()).rollouts(command.id, command.stage, command.step);
      break;
    case 'export':
      exportModel();
      break;
    case 'drop':
      await models.drop(command.files);
      break;
    case 'put-data':
      data.put(command.name, command.bytes);
      break;
    case 'forget-data':
      data.delete(command.name);
      break;
    case 'models':
      await models.list();
      break;
    case 'hub-model':
      await models.hub(command.name, command.revision, command.token);
      break;
    case 'open-model':
      await models.open(command.id);
      break;
    case 'delete-model':
      await models.delete(command.id);
      break;
    case 'cancel-model':
      models.cancel();
      break;
    case 'ask':
      await meanwhile(() => desk.ask(command)).catch((error) =>
        post({ type: 'ask-done', id: command.id, stopped: false, failure: messageOf(error) }),
      );
      break;
    case 'stop-asking':
      desk.stop();
      break;
    case 'draw-question':
      await desk.draw(command.id, command.model, command.seed);
      break;
    default:
      unreachable(command);
  }
}

scope.onmessage = (message: MessageEvent<EngineCommand>) => {
  handleCommand(message.data).catch((error) => fail(error, false));
};
