import { beforeAll, expect, test } from 'vitest';
import tinyRecipe from '../../../models/tiny-recipe.json';
import { openBackend } from '../tensor/device.ts';
import { memory } from '../tensor/tfjs.ts';
import type { SavedRun, TrainEvent } from './events.ts';
import { parseRecipe, type Recipe } from './recipe.ts';
import { type RunContext, runRecipe } from './run.ts';
import { stageBehaviour } from './stage-behaviour.ts';

const recipe = parseRecipe(tinyRecipe);

function context(over: Partial<RunContext> = {}): RunContext {
  return {
    recipe,
    scale: 1,
    resume: null,
    dropped: new Map(),
    droppedModel: null,
    loadShipped: () => Promise.reject(new Error('not asked for')),
    ...over,
  };
}

/** Every event of a run but ticks and pictures; `until` ends it early, as a person who presses Stop. */
async function events(over: Partial<RunContext>, until: (event: TrainEvent) => boolean = () => false) {
  const all: TrainEvent[] = [];
  for await (const event of runRecipe(context(over)).events) {
    if (event.type === 'tick' || event.type === 'rollout-progress') continue;
    all.push(event);
    if (until(event)) break;
  }
  return all;
}

/** Metrics of each step, timings left out. */
function curve(all: readonly TrainEvent[]) {
  return all.flatMap((event) => {
    if (event.type !== 'step') return [];
    const metrics = Object.entries(event.metrics).filter(
      ([name]) => !name.startsWith('perf/') && name !== 'step_time',
    );
    return [{ stage: event.stage, step: event.step, metrics: Object.fromEntries(metrics) }];
  });
}

const weightsOf = (all: readonly TrainEvent[]) => {
  const checkpoint = all.findLast((event) => event.type === 'checkpoint');
  return new Uint8Array(checkpoint!.files.find(({ path }) => path === 'model.safetensors')!.bytes);
};

beforeAll(async () => {
  await openBackend('wasm');
});

test('the tiny recipe goes through every stage, is logged, and leaves no tensor behind', async () => {
  const before = memory().numTensors;
  const all = await events({});
  const steps = curve(all);
  for (const stage of recipe.stages)
    expect(steps.filter((step) => step.stage === stage.name).map((step) => step.step)).toEqual(
      Array.from({ length: stage.steps }, (_, i) => i + 1),
    );
  const evaluated = all.filter((event) => event.type === 'evaluation');
  expect(new Set(evaluated.map((event) => event.stage))).toEqual(
    new Set(recipe.stages.map(({ name }) => name)),
  );
  const records = all.flatMap((event) => (event.type === 'rollouts' ? event.records : []));
  const grpo = recipe.stages.filter((stage) => stage.kind === 'grpo');
  for (const event of all.filter((event) => event.type === 'checkpoint')) {
    const own = steps.flatMap(({ stage, metrics }) => (stage === event.stage ? [metrics] : []));
    expect(event.behaviour).toEqual(stageBehaviour(own));
    expect('tokens/saved' in event.behaviour).toBe(grpo.some((stage) => stage.name === event.stage));
  }
  expect(records).toHaveLength(grpo.reduce((sum, s) => sum + s.steps * s.promptsPerStep * s.groupSize, 0));
  expect(memory().numTensors).toBe(before);
  // The whole run is a function of its recipe.
  expect(curve(await events({}))).toEqual(steps);
});

/** SFT and GRPO are interrupted in the middle of a stage and between two. */
test.each([
  ['sft-1', 3],
  ['rl-hard', 1],
])('N + M steps equal N, save, load, M, bit for bit (stage %s, step %i)', async (stage, step) => {
  // An autosave after every step: zero minutes between two.
  const often: Recipe = { ...recipe, autosave: { minutes: 0 } };
  const whole = await events({ recipe: often });
  const at = (saved: SavedRun) => recipe.stages[saved.stage]?.name === stage && saved.step === step;
  const first = await events({ recipe: often }, (event) => event.type === 'autosave' && at(event.saved));
  const last = first[first.length - 1];
  expect(last.type).toBe('autosave');
  const rest = await events({ recipe: often, resume: (last as { saved: SavedRun }).saved });
  expect([...curve(first), ...curve(rest)]).toEqual(curve(whole));
  expect(weightsOf(rest)).toEqual(weightsOf(whole));
});

test('held-out problems are never trained on', async () => {
  const all = await events({}, (event) => event.type === 'evaluation' && event.stage === 'rl-hard');
  const records = all.flatMap((event) => (event.type === 'rollouts' ? event.records : []));
  const { heldOutProblems } = await import('./stage-data.ts');
  const heldOut = new Set(
    heldOutProblems(recipe, true)
      .flat()
      .map((problem) => problem.prompt),
  );
  expect(heldOut.size).toBeGreaterThan(0);
  for (const { prompt } of records) expect(heldOut.has(prompt)).toBe(false);
});

test('a loss that is not a number stops the run with a sentence that says what to do', async () => {
  const [first] = recipe.stages;
  const wild = { ...first, learningRate: 1e30, warmupSteps: 0, steps: 5, maxGradNorm: 1e30 };
  await expect(events({ recipe: { ...recipe, stages: [wild] as Recipe['stages'] } })).rejects.toThrow(
    /became .* in stage "base-a", step \d+.*lower learning rate/s,
  );
});

test.each(['sft-1', 'rl-hard'])(
  'a run that is stopped in the middle of a step of %s leaves no tensor behind',
  async (name) => {
    const before = memory().numTensors;
    const often = recipe.stages.map((stage) => ({ ...stage, microBatchTokens: 64 })) as Recipe['stages'];
    let stage = '';
    let steps = 0;
    let stopped = 0;
    // Every tick after a few of them is a place to stop; a micro-batch ends there with gradients summed so far.
    for (const after of [2, 3, 5]) {
      let ticks = 0;
      for await (const event of runRecipe(context({ recipe: { ...recipe, stages: often } })).events) {
        if (event.type === 'stage-started') stage = recipe.stages[event.index].name;
        if (event.type === 'step') steps++;
        if (stage === name && event.type === 'tick' && ++ticks === after) {
          stopped++;
          break;
        }
      }
    }
    expect(stopped).toBe(3);
    expect(steps).toBeGreaterThan(0);
    expect(memory().numTensors).toBe(before);
  },
);
