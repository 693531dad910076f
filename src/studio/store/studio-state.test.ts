import { expect, test } from 'vitest';
import { type EngineEvent, parseRecipe } from '../../worker/protocol.ts';
import { formatDuration, formatNumber, formatTick } from './format.ts';
import { MetricLog } from './metric-log.ts';
import { fileRecipe } from './recipes.ts';
import { initialState, reduce, runEta, stageEta } from './studio-state.ts';

const started: EngineEvent = {
  type: 'run-started',
  recipe: {} as never,
  stages: [
    { name: 'a', kind: 'sft', steps: 4 },
    { name: 'b', kind: 'sft', steps: 10 },
    { name: 'c', kind: 'grpo', steps: 2 },
  ],
  parameters: 7,
  vocabulary: 3,
};

const step = (stageIndex: number, n: number, seconds: number): EngineEvent => ({
  type: 'step',
  stage: 'abc'[stageIndex],
  stageIndex,
  kind: stageIndex < 2 ? 'sft' : 'grpo',
  step: n,
  timeSeconds: n,
  metrics: { loss: 1 / n, step_time: seconds, ...(stageIndex === 2 && { reward: 0.5 }) },
});

const after = (events: EngineEvent[]) => events.reduce(reduce, initialState());

test('steps fill the log; a metric that only some steps have leaves gaps', () => {
  const state = after([
    started,
    { type: 'stage-started', index: 0 },
    step(0, 1, 2),
    step(0, 2, 4),
    { type: 'stage-started', index: 2 },
    step(2, 1, 8),
  ]);
  expect(Array.from(state.log.column('loss'))).toEqual([1, 0.5, 1]);
  expect(Array.from(state.log.column('reward'))).toEqual([Number.NaN, Number.NaN, 0.5]);
  expect(state.stages.map(({ done, firstRow }) => [done, firstRow])).toEqual([
    [4, 0],
    [10, -1],
    [1, 2],
  ]);
});

test('a rollback takes back what its stage logged after that step, and nothing else', () => {
  const evaluation = (stage: string): EngineEvent => ({
    type: 'evaluation',
    stage,
    stageIndex: 0,
    step: 0,
    set: 'easy',
    difficulty: 'easy',
    metrics: {},
    report: {} as never,
  });
  const before = [started, { type: 'stage-started', index: 0 } as const, step(0, 3, 1), evaluation('a')];
  const wrong = [step(2, 1, 1), step(2, 2, 1), evaluation('c'), step(2, 3, 1)];
  const back: EngineEvent = { type: 'rollback', stage: 'c', stageIndex: 2, step: 1 };
  const state = after([...before, { type: 'stage-started', index: 2 }, ...wrong, back, step(2, 2, 5)]);
  expect(Array.from(state.log.column('step'))).toEqual([3, 1, 2]);
  expect(Array.from(state.log.column('step_time'))).toEqual([1, 1, 5]);
  expect(state.evaluations.map(({ stage }) => stage)).toEqual(['a']);
  expect(after([...before, ...wrong, back]).stages[2].done).toBe(1);
  // To its start: the row of the stage before has a higher step number and stays.
  const start = after([...before, ...wrong, { ...back, step: 0 } as EngineEvent]);
  expect(Array.from(start.log.column('stage'))).toEqual([0]);
  expect(start.log.length).toBe(1);
});

test('remaining time comes from the last steps, and from stages of the same kind', () => {
  const state = after([started, { type: 'stage-started', index: 0 }, step(0, 1, 2), step(0, 2, 4)]);
  expect(stageEta(state.stages[0], state.stages)).toBe(6);
  expect(stageEta(state.stages[2], state.stages)).toBeNull(); // nobody knows yet how long a GRPO step takes
  expect(runEta(state.stages)).toEqual({ seconds: 36, whole: false });
  expect(runEta(after([started]).stages)).toBeNull();
  expect(runEta(state.stages.slice(0, 2))).toEqual({ seconds: 6 + 30, whole: true });
});

test('a new run begins with an empty log; an error stays until it is closed or a run starts', () => {
  const state = after([
    started,
    { type: 'stage-started', index: 0 },
    step(0, 1, 2),
    { type: 'error', message: 'x', fatal: false },
  ]);
  expect(state.errors).toEqual(['x']);
  const next = reduce(state, started);
  expect(next.log.length).toBe(0);
  expect(next.errors).toEqual([]);
});

const dataset = (name: string, kept = true): EngineEvent => ({
  type: 'dataset',
  report: { name } as never,
  choice: { policy: 'skip', mapping: null },
  kept,
});

test('data sets: the newest first, one a name; those on disk come and go with other tabs and visits', () => {
  const names = (events: EngineEvent[]) =>
    after(events).datasets.map(({ report, choice }) => `${report.name}${choice ? '' : ' (earlier)'}`);
  const onDisk = (...sets: string[]): EngineEvent => ({
    type: 'data-sets',
    sets: sets.map((name) => ({ name, report: { name } }) as never),
  });
  const loaded = [dataset('a'), dataset('b'), dataset('a')];
  expect(names(loaded)).toEqual(['a', 'b']);
  expect(names([...loaded, onDisk('old', 'older tab', 'a', 'b')])).toEqual([
    'a',
    'b',
    'older tab (earlier)',
    'old (earlier)',
  ]);
  // Deleted in another tab; what is in memory only stays.
  expect(names([...loaded, dataset('c', false), onDisk('b')])).toEqual(['c', 'b']);
  expect(names([...loaded, { type: 'data-deleted', name: 'a' }])).toEqual(['b']);
});

test('a file that is read moves on, and is done; a refused one is taken once it is read in another way', () => {
  const progress = (job: string, rows: number): EngineEvent => ({
    type: 'data-progress',
    job,
    name: 'x',
    read: 10 * rows,
    size: 100,
    rows,
  });
  const going = [progress('1', 1), progress('2', 1), progress('1', 5)];
  expect(after(going).loading.map(({ job, rows }) => [job, rows])).toEqual([
    ['2', 1],
    ['1', 5],
  ]);
  expect(after([...going, { type: 'data-done', job: '1' }]).loading).toHaveLength(1);
  const refused = {
    type: 'data-refused',
    name: 'x',
    message: 'no row',
    choice: { policy: 'skip', mapping: null },
    report: null,
  } as const;
  expect(after([refused, refused]).refused).toEqual([refused]);
  expect(after([refused, dataset('x')]).refused).toEqual([]);
});

test('of several errors and notices none is lost: two bad files, then a good one', () => {
  const state = after([
    { type: 'error', message: 'a.jsonl is empty.', fatal: false },
    { type: 'error', message: 'b.jsonl is a picture.', fatal: false },
    { type: 'error', message: 'b.jsonl is a picture.', fatal: false },
    dataset('c.jsonl'),
    { type: 'notice', message: 'one' },
    { type: 'notice', message: 'two' },
  ]);
  expect(state.errors).toEqual(['a.jsonl is empty.', 'b.jsonl is a picture.']);
  expect(state.notices).toEqual(['one', 'two']);
});

test('a group gets its rewards when it is judged; its trees stay in place', () => {
  const tree = (text: string) => ({ segments: [{ text }], blocks: [] }) as never;
  const record = (group: number, text: string) => ({ group, sample: 0, tree: tree(text) }) as never;
  const growing = after([
    { type: 'rollout-progress', stage: 'c', step: 1, prompt: '+1+2', trees: [tree('1')], done: false },
  ]);
  expect(growing.group?.records).toEqual([]);
  const judged = reduce(growing, { type: 'rollouts', records: [record(0, '1+2=3'), record(1, 'other')] });
  expect(judged.group).toMatchObject({ prompt: '+1+2', trees: [{ segments: [{ text: '1+2=3' }] }] });
  expect(judged.records).toHaveLength(2);
});

test('the log grows past its first capacity', () => {
  const log = new MetricLog();
  for (let i = 0; i < 1000; i++) log.append({ a: i, ...(i >= 600 && { b: -i }) });
  expect(log.column('a')[999]).toBe(999);
  expect(log.column('b')[599]).toBeNaN();
  expect(log.column('b')[600]).toBe(-600);
  expect(log.last('b')).toBe(-999);
});

test('numbers and times are written for people', () => {
  expect([0, 0.12345, 12345, 1e-5, Number.NaN].map(formatNumber)).toEqual([
    '0',
    '0.123',
    '12,345',
    '1.0e-5',
    '–',
  ]);
  expect([0.5, 50000, 2.5e6].map(formatTick)).toEqual(['0.5', '50k', '2.5M']);
  expect([0, 0.2, 5, 65, 3700, null].map(formatDuration)).toEqual([
    '0 s',
    'under 1 s',
    '5 s',
    '1 min 5 s',
    '1 h 1 min',
    '–',
  ]);
});

test('the recipe for a dropped file is a valid recipe', () => {
  const recipe = parseRecipe(fileRecipe('x.jsonl'));
  expect(recipe.stages[0].data).toEqual({ source: 'dropped', name: 'x.jsonl' });
});
