// @vitest-environment jsdom
import { act } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Command, EngineEvent, RolloutTree } from '../../worker/protocol.ts';

/** Stands in for the engine: keeps the commands, and says what a test makes it say. */
class FakeWorker {
  static current: FakeWorker | null = null;
  sent: Command[] = [];
  onmessage: ((message: { data: EngineEvent }) => void) | null = null;
  constructor(url: URL) {
    // The one beside it, which reads data files, is not spoken to here.
    if (/engine/.test(url.href)) FakeWorker.current = this;
  }
  postMessage(command: Command): void {
    this.sent.push(command);
  }
  terminate(): void {}
}

const recipe = { version: 1, name: 'Chain sums' };
const answers: Record<string, unknown> = {
  './models/index.json': [{ file: 'a.json', title: 'Chain sums', description: 'Everything.' }],
  './models/a.json': recipe,
};

let container: HTMLElement;
let root: Root;
let dispose: () => void;
const find = (id: string) => container.querySelector<HTMLElement>(`[data-testid="${id}"]`);
const text = (id: string) => find(id)?.textContent ?? '';
const sent = () => FakeWorker.current?.sent ?? [];

/** Lets promises settle and passes time for what the store gathers. */
const settle = () => act(() => vi.advanceTimersByTimeAsync(200));
async function tell(...events: EngineEvent[]): Promise<void> {
  for (const data of events) FakeWorker.current?.onmessage?.({ data });
  await settle();
}
async function visit(screen: string): Promise<void> {
  await act(async () => {
    window.location.hash = `#/${screen}`;
    window.dispatchEvent(new Event('hashchange'));
  });
  await settle();
}
async function press(id: string): Promise<void> {
  await act(async () => find(id)?.click());
  await settle();
}

beforeEach(async () => {
  window.location.hash = '';
  localStorage.clear();
  vi.useFakeTimers();
  vi.resetModules();
  FakeWorker.current = null;
  const nothing = class {
    observe(): void {}
    unobserve(): void {}
    disconnect(): void {}
  };
  vi.stubGlobal('Worker', FakeWorker);
  vi.stubGlobal('ResizeObserver', nothing);
  vi.stubGlobal('IntersectionObserver', nothing);
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);
  vi.stubGlobal('matchMedia', (media: string) => ({
    media,
    matches: false,
    addEventListener: () => {},
    removeEventListener: () => {},
  }));
  vi.stubGlobal('fetch', async (url: string) => ({ ok: url in answers, json: async () => answers[url] }));
  const { App } = await import('./app.tsx');
  const { client } = await import('../store/studio-store.ts');
  dispose = () => client.dispose();
  container = document.createElement('div');
  document.body.append(container);
  root = createRoot(container);
  await act(async () => root.render(<App />));
  await settle();
});

afterEach(async () => {
  await act(async () => root.unmount());
  dispose();
  container.remove();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const begun: EngineEvent[] = [
  {
    type: 'ready',
    device: {
      backend: 'wasm',
      name: 'WebAssembly',
      notice: 'No WebGPU here.',
      software: false,
      features: [],
    },
  },
  { type: 'state', state: 'running' },
  {
    type: 'run-started',
    recipe: recipe as never,
    stages: [
      { name: 'sft', kind: 'sft', steps: 10 },
      { name: 'rl', kind: 'grpo', steps: 4 },
    ],
    parameters: 235488,
    vocabulary: 48,
  },
  { type: 'stage-started', index: 0 },
];

test('a first visit says what Start does; Start sends the chosen recipe', async () => {
  expect(container.textContent).toMatch(/Press Start.*SFT cold start.*GRPO/s);
  expect(text('state')).toBe('ready');
  await visit('models');
  expect((find('export') as HTMLButtonElement).disabled).toBe(true);
  await press('start');
  expect(window.location.hash).toBe('#/live');
  expect(sent()).toEqual([
    // The Models screen asks for what it lists.
    { type: 'models' },
    { type: 'list-runs' },
    { type: 'init', backend: 'auto' },
    { type: 'start', recipe, options: { scale: 1, resume: undefined, store: true } },
  ]);
});

test('the large button follows the run and keeps the focus', async () => {
  const button = find('start');
  button?.focus();
  await press('start');
  await tell(...begun);
  expect(text('state')).toBe('running');
  expect(text('device')).toBe('wasm · WebAssembly');
  expect(text('device-notice')).toMatch(/No WebGPU/);
  expect(find('pause')).toBe(button);
  expect(document.activeElement).toBe(button);
  await press('pause');
  await tell({ type: 'state', state: 'paused' });
  await press('step');
  await press('resume');
  await press('stop');
  await visit('models');
  await press('export');
  expect(
    sent()
      .slice(2)
      .map(({ type }) => type),
  ).toEqual(['pause', 'step', 'resume', 'stop', 'models', 'list-runs', 'export']);
});

test('stages tell their progress and time, and the group grows as trees', async () => {
  await press('start');
  const step = (n: number): EngineEvent => ({
    type: 'step',
    stage: 'sft',
    stageIndex: 0,
    kind: 'sft',
    step: n,
    timeSeconds: n,
    metrics: { loss: 1, step_time: 2, 'perf/tokens_per_second': 500 },
  });
  await tell(...begun, step(1), step(2));
  expect(text('stage-sft')).toMatch(/2 \/ 10.*16 s left · 2 s a step · 500 tokens\/s/);
  expect(text('stage-rl')).toMatch(/0 \/ 4/);
  expect(container.textContent).toMatch(/more than 16 s left in all/);
  const segment = { block: 1, path: 1, tokens: 1, open: true };
  const tree: RolloutTree = {
    segments: [
      { ...segment, kind: 'path', text: '+1=1' },
      { ...segment, kind: 'path', path: 2, text: '+2' },
    ],
    blocks: [],
  };
  await tell({
    type: 'rollout-progress',
    stage: 'rl',
    step: 1,
    prompt: '+1+2',
    trees: [tree, tree],
    done: false,
  });
  expect(container.querySelectorAll('[data-testid="tree"]')).toHaveLength(2);
  expect(container.querySelectorAll('[data-testid="tree-path"]')).toHaveLength(4);
  expect(find('tree-join')).toBeNull();
});

test('every error stays until it is closed; a data set tells its bad rows', async () => {
  await press('start');
  const report = {
    name: 'apples.jsonl',
    format: 'GSM8K',
    rows: 9,
    kept: 8,
    issueCount: 1,
    issues: [{ line: 3, reason: 'It is not JSON.', snippet: '{"a' }],
    sample: { prompt: 'How many?', completion: '#### 2' },
  };
  await tell(
    { type: 'error', message: 'empty.jsonl has no rows.', fatal: false },
    { type: 'error', message: 'photo.jsonl is a picture.', fatal: false },
    { type: 'dataset', report, choice: { policy: 'skip', mapping: null }, kept: true },
  );
  expect(text('error')).toMatch(/empty\.jsonl has no rows\..*photo\.jsonl is a picture\./);
  await visit('data');
  expect(text('dataset-report')).toMatch(/8 of 9 rows kept, 1 left out.*How many\?.*3It is not JSON\./s);
  // A run on the file is computed where the person chose.
  const { chooseCompute } = await import('../store/studio-store.ts');
  await act(async () => chooseCompute('wasm'));
  await tell({ type: 'state', state: 'stopped' });
  const before = sent().length;
  await act(async () => find('error')?.querySelector('button')?.click());
  await settle();
  expect(find('error')).toBeNull();
  await press('train-on-file');
  expect(sent()[before]).toEqual({ type: 'init', backend: 'wasm' });
});

test('a run that was interrupted is offered, and goes on where it was saved', async () => {
  localStorage.setItem('polypath.kept', '1');
  await act(async () => root.unmount());
  const { App } = await import('./app.tsx');
  root = createRoot(container);
  await act(async () => root.render(<App />));
  expect(sent().at(-1)).toEqual({ type: 'list-runs' });
  const run = {
    id: 'r1',
    name: 'Chain sums',
    recipe: { stages: [{ name: 'sft' }, { name: 'rl-hard' }] } as never,
    scale: 1,
    created: 0,
    updated: 0,
    state: 'unfinished' as const,
    saved: { stage: 1, step: 412, at: Date.now() - 3 * 60_000 },
    parameters: 1,
    device: '',
    scores: {},
    elapsedSeconds: 0,
    tokens: 0,
    notes: '',
    going: null,
    checkpoints: [],
  };
  await tell({ type: 'runs', runs: [{ ...run, id: 'r0', state: 'finished' }, run] });
  expect(text('resume-banner')).toMatch(/Chain sums was interrupted.*step 412 of rl-hard, 3 minutes ago/);
  await press('resume-run');
  expect(sent().slice(-2)).toEqual([
    { type: 'init', backend: 'auto' },
    { type: 'resume-run', id: 'r1' },
  ]);
  // Its history fills the page: the stages as they were, and what was told then is not told again.
  await tell({
    type: 'history',
    record: run,
    rolloutSteps: [],
    events: [
      begun[2],
      { type: 'stage-started', index: 0 },
      {
        type: 'step',
        stage: 'sft',
        stageIndex: 0,
        kind: 'sft',
        step: 10,
        timeSeconds: 9,
        metrics: { loss: 1 },
      },
      { type: 'notice', message: 'An old notice' },
      { type: 'stage-started', index: 1 },
    ] as never,
  });
  expect(text('stage-sft')).toMatch(/10 \/ 10/);
  expect(document.body.textContent).not.toMatch(/An old notice/);
  await tell({ type: 'runs', runs: [{ ...run, going: 'elsewhere' }] });
  expect(text('resume-banner')).toMatch(/goes in another tab/);
});
