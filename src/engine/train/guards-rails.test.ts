import { beforeAll, describe, expect, test } from 'vitest';
import tinyRecipe from '../../../models/tiny-recipe.json' with { type: 'json' };
import { readModelFolder } from '../model/checkpoint.ts';
import { openBackend } from '../tensor/device.ts';
import { fixtureBytes } from '../tensor/fixture.ts';
import { memory } from '../tensor/tfjs.ts';
import { loadTokenizer } from '../tokenizer/hf-tokenizer.ts';
import type { Metrics, SavedRun, TrainEvent } from './events.ts';
import { goingBackIsExact } from './guards-rails.cases.ts';
import { type GrpoStage, parseRecipe, type Recipe, type SftStage, type Stage } from './recipe.ts';
import { runRecipe } from './run.ts';

const tiny = parseRecipe(tinyRecipe);
const supervised = tiny.stages.find(({ name }) => name === 'sft-1') as SftStage;
const easy = tiny.stages.find(({ name }) => name === 'rl-easy') as GrpoStage;

beforeAll(async () => {
  await openBackend('wasm');
});

const urls = import.meta.glob<string>('../../../models/base/*.{json,safetensors}', {
  query: '?url',
  import: 'default',
  eager: true,
});

/** The base model, which is right often enough to have something to lose. */
async function loadShipped() {
  const files = new Map<string, ArrayBuffer>();
  for (const [path, url] of Object.entries(urls)) files.set(path.split('/').pop()!, await fixtureBytes(url));
  const folder = readModelFolder(files);
  return { ...folder, tokenizer: loadTokenizer(folder.tokenizerJson, folder.tokenizerConfigJson) };
}

/** Every event of a run but ticks and pictures, and the sentence with which it failed. */
async function events(recipe: Recipe, resume: SavedRun | null = null) {
  const all: TrainEvent[] = [];
  let failure = '';
  const context = { recipe, scale: 1, resume, dropped: new Map(), droppedModel: null, loadShipped };
  try {
    for await (const event of runRecipe(context).events)
      if (event.type !== 'tick' && event.type !== 'rollout-progress') all.push(event);
  } catch (error) {
    failure = String((error as Error).message);
  }
  return { all, failure };
}

const recipeOf = (model: Recipe['model'], ...stages: Stage[]): Recipe => ({
  ...tiny,
  model,
  evaluation: { ...tiny.evaluation, sets: [] },
  stages,
});
const notices = (all: readonly TrainEvent[]) =>
  all.flatMap((event) => (event.type === 'notice' ? [event.message] : []));
/** Metrics of each step, timings and the count of tokens left out. */
const curve = (all: readonly TrainEvent[]) =>
  all.flatMap((event) => {
    if (event.type !== 'step') return [];
    const { step_time: _, num_tokens: __, ...metrics } = event.metrics;
    const kept = Object.entries(metrics).filter(([name]) => !name.startsWith('perf/'));
    return [{ step: event.step, metrics: Object.fromEntries(kept) as Metrics }];
  });

test('going back restores weights, moments and step counts exactly, and training goes on as it had', () =>
  goingBackIsExact(0));

describe('a run whose loss is not a number', () => {
  // The weights overflow in the first steps, whatever the seed.
  const wild: SftStage = { ...supervised, learningRate: 1e30, warmupSteps: 0, maxGradNorm: 1e6, steps: 5 };

  test('goes back with half the learning rate, at most so often, and then stops', async () => {
    const before = memory().numTensors;
    const guards = { ...wild.guards, nan: 'rollback' as const, maxRollbacks: 2 };
    const { all, failure } = await events(recipeOf(tiny.model, { ...wild, guards }));
    const back = all.filter(({ type }) => type === 'rollback');
    expect(back).toEqual(Array(2).fill({ type: 'rollback', stage: 'sft-1', stageIndex: 0, step: 0 }));
    expect(notices(all)).toEqual([
      expect.stringMatching(
        /(loss|grad_norm) became .* step \d+\. .*went back to step 0 .*5e\+29 \(rollback 1/,
      ),
      expect.stringMatching(/went back to step 0 .*2.5e\+29 \(rollback 2 of at most 2\)\. Try a lower/),
    ]);
    expect(failure).toMatch(
      /has used its rollbacks \(2 of at most 2\), so the run stopped; it left a save of step 0/,
    );
    for (const { metrics } of curve(all)) expect(Number.isFinite(metrics.loss)).toBe(true);
    expect(all[all.length - 1]).toMatchObject({ type: 'autosave', saved: { stage: 0, step: 0 } });
    expect(memory().numTensors).toBe(before);
  });
});

describe('a run whose reward collapses', () => {
  /** A learning rate that wrecks the base model in one step of plain sums. */
  const wild: GrpoStage = {
    ...easy,
    data: { ...easy.data, terms: [1, 2] },
    steps: 3,
    promptsPerStep: 3,
    groupSize: 4,
    miniBatches: 1,
    learningRate: 0.1,
    reward: { kind: 'accuracy' },
    rollout: { ...easy.rollout, mode: 'sequential', maxTokens: 24 },
    guards: { ...easy.guards, window: 1, copyEvery: 1, maxRollbacks: 1, format: 'off' },
  };
  const guarded = (reward: 'off' | 'warn' | 'rollback', over: Partial<GrpoStage> = {}): Recipe =>
    recipeOf({ source: 'shipped', name: 'base' }, {
      ...wild,
      ...over,
      guards: { ...wild.guards, reward },
    } as Stage);

  test('is warned of within ten steps and goes on just the same', async () => {
    const [off, warned] = [await events(guarded('off')), await events(guarded('warn'))];
    expect(notices(off.all)).toEqual([]);
    expect(notices(warned.all)).toEqual([
      expect.stringMatching(
        /^Reward collapse: the mean reward fell .* since step 2\. The run goes on\. Try a lower/,
      ),
    ]);
    const notice = warned.all.find(({ type }) => type === 'notice') as { step: number };
    const rewards = curve(warned.all).map(({ metrics }) => metrics.reward!);
    const onset = 1 + rewards.findIndex((reward) => reward < rewards[0] - 0.5);
    expect(onset).toBeGreaterThan(1);
    expect(notice.step).toBeGreaterThanOrEqual(onset);
    expect(notice.step - onset).toBeLessThan(10);
    expect(warned.failure).toBe('');
    expect(curve(warned.all)).toEqual(curve(off.all));
  });

  test('goes back to before the fatal update and runs as one that had the lower rate from there', async () => {
    const before = memory().numTensors;
    const { all, failure } = await events(guarded('rollback'));
    expect(memory().numTensors).toBe(before);
    const at = all.findIndex(({ type }) => type === 'rollback');
    // Step 2 samples with the weights that step 1 broke, so the copy of step 1 is no good.
    expect(all[at]).toEqual({ type: 'rollback', stage: 'rl-easy', stageIndex: 0, step: 0 });
    expect(curve(all.slice(0, at)).map(({ step }) => step)).toEqual([1, 2]);
    expect(notices(all)).toEqual([
      expect.stringMatching(/went back to step 0 of the stage .* 0\.05 \(rollback 1 of at most 1\)/),
    ]);
    const slower = await events(guarded('off', { learningRate: 0.05, steps: 2 }));
    expect(curve(all.slice(at))).toEqual(curve(slower.all));
    expect(failure).toMatch(/^Reward collapse: .*used its rollbacks \(1 of at most 1\), so the run stopped/);
  });
});

test('stages end when they are promoted, each with its checkpoint, also across a save', async () => {
  const plateau = { kind: 'plateau', window: 1, minGain: 10, minSteps: 3 } as const;
  const solved = { kind: 'solve-rate', window: 1, threshold: 0, minSteps: 1 } as const;
  const recipe = {
    ...recipeOf(tiny.model, { ...supervised, promotion: plateau }, { ...easy, promotion: solved }),
    autosave: { minutes: 0 },
  };
  const { all, failure } = await events(recipe);
  expect(failure).toBe('');
  expect(curve(all).map(({ step }) => step)).toEqual([1, 2, 3, 1]);
  expect(curve(all)[3].metrics).toMatchObject({ 'curriculum/solve_rate': expect.any(Number) });
  expect(notices(all)).toEqual([
    expect.stringMatching(/^Stage "sft-1" ended at step 3 of 6: its loss went from/),
    expect.stringMatching(/^Stage "rl-easy" ended at step 1 of 2: its solve rate was/),
  ]);
  expect(all.flatMap((event) => (event.type === 'checkpoint' ? [event.stage] : []))).toEqual([
    'sft-1',
    'rl-easy',
  ]);
  const saved = all.flatMap((event) => (event.type === 'autosave' ? [event.saved] : []));
  const second = saved.find(({ stage, step }) => stage === 0 && step === 2)!;
  const rest = await events(recipe, { ...second, rails: JSON.parse(JSON.stringify(second.rails)) });
  expect(curve(rest.all)).toEqual(curve(all).slice(2));
});
