/** The store: thin actions around `reduce`, and events gathered so that the page draws a few times a second. */
import { create } from 'zustand';
import { EngineClient } from '../../worker/engine-client.ts';
import {
  type AskModel,
  type AskRequest,
  type Command,
  type EngineEvent,
  type ExportedFile,
  isModelFile,
  type LoadChoice,
  type NamedBlob,
  type StartOptions,
} from '../../worker/protocol.ts';
import { initialState, reduce, type StudioState, withError } from './studio-state.ts';

/** Events wait this long for others: 50 a second must not mean 50 renders. */
const GATHER_MS = 80;

export const client = new EngineClient();

export const useStudio = create<StudioState>(() => initialState());

let waiting: EngineEvent[] = [];
let timer: ReturnType<typeof setTimeout> | null = null;

function flush(): void {
  timer = null;
  const events = waiting;
  waiting = [];
  useStudio.setState(events.reduce(reduce, useStudio.getState()));
}

client.subscribe((event) => {
  // Only the newest picture of the growing group is worth drawing.
  if (event.type === 'rollout-progress') waiting = waiting.filter(({ type }) => type !== 'rollout-progress');
  waiting.push(event);
  if (timer === null) timer = setTimeout(flush, GATHER_MS);
});

export type BackendChoice = Extract<Command, { type: 'init' }>['backend'];

export interface PublicStartOptions extends Partial<StartOptions> {
  backend?: BackendChoice;
}

/** Set once a run was kept on disk here; a flag that the page can read without loading the engine. */
const KEPT = 'polypath.kept';

export function hasKeptRuns(): boolean {
  try {
    return localStorage.getItem(KEPT) !== null;
  } catch {
    return false; // a page may be denied its storage
  }
}

function noteKeptRuns(): void {
  try {
    localStorage.setItem(KEPT, '1');
  } catch {
    // Then the list is read when someone looks at the Runs screen.
  }
}

/** Sends a command and waits for what answers it; fails with the sentence that the page shows. */
function ask<T>(command: Command, answer: (event: EngineEvent) => T | null): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = client.subscribe((event) => {
      const found = answer(event);
      if (found === null && event.type !== 'error') return;
      end();
      if (found !== null) resolve(found);
      else if (event.type === 'error') reject(new Error(event.message));
    });
    client.send(command);
  });
}

const AS_IT_IS: LoadChoice = { policy: 'skip', mapping: null };

/** Commands of the page, used by its buttons and by headless runners alike (`window.polypath`). */
export const commands = {
  /** `store`: keep the run on disk. The page's own buttons do. */
  start(recipe: unknown, { backend = 'auto', scale = 1, resume, store }: PublicStartOptions = {}): void {
    clearErrors();
    if (store) noteKeptRuns();
    client.send({ type: 'init', backend });
    client.send({ type: 'start', recipe, options: { scale, resume, store } });
  },
  /** Goes on with a run on disk. */
  resumeRun(id: string, backend: BackendChoice = 'auto'): void {
    clearErrors();
    client.send({ type: 'init', backend });
    client.send({ type: 'resume-run', id });
  },
  listRuns: () => client.send({ type: 'list-runs' }),
  openRun: (id: string) => client.send({ type: 'open-run', id }),
  deleteRun: (id: string) => client.send({ type: 'delete-run', id }),
  describeRun: (id: string, change: { name?: string; notes?: string }) =>
    client.send({ type: 'describe-run', id, ...change }),
  /** Asks for a run's log; it comes into `logs`. */
  readLog: (id: string) => client.send({ type: 'read-log', id }),
  /** The run as one file; fails with the sentence that the page shows. */
  async bundleRun(id: string, rollouts: boolean): Promise<{ name: string; zip: Blob }> {
    return ask({ type: 'bundle-run', id, rollouts }, (event) => (event.type === 'bundled' ? event : null));
  },
  unbundleRun(file: File): void {
    clearErrors();
    noteKeptRuns();
    client.send({ type: 'unbundle-run', file: { path: file.name, blob: file } });
  },
  openCheckpoint: (id: string, stage: string) => client.send({ type: 'open-checkpoint', id, stage }),
  exportCheckpoint: (id: string, stage: string): Promise<ExportedFile[]> =>
    ask({ type: 'export-checkpoint', id, stage }, (event) =>
      event.type === 'exported' ? event.files : null,
    ),
  listModels: () => client.send({ type: 'models' }),
  /** @param token of the Hub, for private models; it stays in memory */
  hubModel(name: string, token?: string): void {
    clearErrors();
    client.send({ type: 'hub-model', name, token });
  },
  openModel(id: string): void {
    clearErrors();
    client.send({ type: 'open-model', id });
  },
  deleteModel: (id: string) => client.send({ type: 'delete-model', id }),
  cancelModel: () => client.send({ type: 'cancel-model' }),
  /** Opens the device, so that something can be computed without a run. */
  open: (backend: BackendChoice) => client.send({ type: 'init', backend }),
  /** What is answered comes as `ask-…` events that carry the request's id. */
  ask: (request: AskRequest) => client.send({ type: 'ask', ...request }),
  stopAsking: () => client.send({ type: 'stop-asking' }),
  drawQuestion: (id: string, model: AskModel, seed: number) =>
    client.send({ type: 'draw-question', id, model, seed }),
  save: () => client.send({ type: 'save' }),
  pause: () => client.send({ type: 'pause' }),
  resume: () => client.send({ type: 'resume' }),
  step: () => client.send({ type: 'step' }),
  stop: () => client.send({ type: 'stop' }),
  /** The model folder of the run, when it comes; fails with the sentence that the page shows. */
  export: (): Promise<ExportedFile[]> =>
    ask({ type: 'export' }, (event) => (event.type === 'exported' ? event.files : null)),
  /** Takes files of a model and of data, told apart by their names. */
  drop(files: readonly (File | NamedBlob)[]): void {
    clearErrors();
    const named = files.map((file) =>
      file instanceof File ? { path: file.webkitRelativePath || file.name, blob: file } : file,
    );
    const model = named.filter(({ path }) => isModelFile(path));
    const data = named.filter(({ path }) => !isModelFile(path));
    if (model.length > 0) client.send({ type: 'drop', files: model });
    if (data.length > 0)
      client.send({ type: 'load-data', job: crypto.randomUUID(), files: data, choice: AS_IT_IS });
  },
  loadDataUrl(url: string, choice: LoadChoice = AS_IT_IS): void {
    clearErrors();
    client.send({ type: 'load-data-url', job: crypto.randomUUID(), url, choice });
  },
  /** Reads a file again in another way: with its columns mapped, or its rows mended. */
  reloadData(name: string, choice: LoadChoice): void {
    clearErrors();
    client.send({ type: 'reload-data', job: crypto.randomUUID(), name, choice });
  },
  cancelData: (job: string) => client.send({ type: 'cancel-data', job }),
  listData: () => client.send({ type: 'list-data' }),
  deleteData: (name: string) => client.send({ type: 'delete-data', name }),
  readRows: (name: string, from: number, to: number) => client.send({ type: 'read-rows', name, from, to }),
  onEvent: (listener: (event: EngineEvent) => void) => client.subscribe(listener),
};

export function chooseCompute(compute: BackendChoice): void {
  useStudio.setState({ compute });
}

export function showError(message: string): void {
  useStudio.setState((state) => withError(state, message));
}

export function clearErrors(): void {
  useStudio.setState({ errors: [] });
}

export function clearNotices(): void {
  useStudio.setState({ notices: [] });
}
