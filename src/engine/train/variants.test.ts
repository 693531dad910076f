import { beforeAll, describe, expect, test } from 'vitest';
import tinyRecipe from '../../../models/tiny-recipe.json' with { type: 'json' };
import { openBackend } from '../tensor/device.ts';
import type { Metrics } from './events.ts';
import { parseRecipe } from './recipe.ts';
import { runRecipe } from './run.ts';
import { heldOutProblems, problemSource } from './stage-data.ts';

beforeAll(async () => {
  await openBackend('wasm');
});

/** The tiny recipe with forks that are likely, laid out as `structure` says; metrics of its RL steps. */
async function metricsOf(structure: object, rollout: object = {}): Promise<Metrics[]> {
  const recipe = parseRecipe({ ...tinyRecipe, structure });
  const stages = recipe.stages
    .filter(({ name }) => name === 'sft-1' || name === 'rl-hard')
    .map((stage) =>
      stage.kind === 'sft'
        ? { ...stage, steps: 12, warmupSteps: 2 }
        : // A model of 12 steps is always wrong; its groups are to be read all the same.
          { ...stage, steps: 1, keepEqualGroups: true, rollout: { ...stage.rollout, ...rollout } },
    );
  const metrics: Metrics[] = [];
  const { events } = runRecipe({
    recipe: { ...recipe, stages, evaluation: { ...recipe.evaluation, sets: [] } },
    scale: 1,
    resume: null,
    dropped: new Map(),
    droppedModel: null,
    loadShipped: () => Promise.reject(new Error('not asked for')),
  });
  for await (const event of events)
    if (event.type === 'step' && event.kind === 'grpo') metrics.push(event.metrics);
  return metrics;
}

const gap = 'sampling/logp_difference/max';

describe('variants of Parallel-R1', () => {
  test.each([
    ['shared', {}],
    ['disjoint', { positions: 'disjoint', pathStride: 48 }],
  ])('unseen, positions %s: training sees what was written', async (_, structure) => {
    const [metrics] = await metricsOf(structure);
    expect(metrics['parallel/blocks']).toBeGreaterThan(0);
    expect(metrics[gap]).toBeLessThan(1e-4);
    expect(Number.isFinite(metrics.grad_norm)).toBe(true);
  });

  test.each([
    ['seen', { variant: 'seen' }],
    ['unseen with consecutive positions', { positions: 'consecutive' }],
  ])('%s: the gap between rollout and training is there, and is told', async (_, structure) => {
    const [metrics] = await metricsOf(structure);
    expect(metrics['parallel/blocks']).toBeGreaterThan(0);
    expect(metrics[gap]).toBeGreaterThan(1e-3);
    // The update itself starts from ratio 1: nothing is clipped before the first step.
    expect(metrics['clip_ratio/region_mean']).toBe(0);
    expect(Number.isFinite(metrics.grad_norm)).toBe(true);
  });

  test('without forks the variants are the same', async () => {
    const [seen] = await metricsOf({ variant: 'seen' }, { mode: 'sequential' });
    expect(seen[gap]).toBeLessThan(1e-4);
  });
});

test('a text that reaches beyond the positions of the model is refused with a sentence', async () => {
  await expect(metricsOf({ positions: 'disjoint', pathStride: 4096 })).rejects.toThrow(
    /stage "sft-1" reaches position \d+, but the model has \d+.*pathStride/,
  );
});

test('the parallel prompt can be left out while forks stay allowed', () => {
  const recipe = parseRecipe(tinyRecipe);
  const index = recipe.stages.findIndex(({ name }) => name === 'rl-hard');
  const stage = recipe.stages[index];
  if (stage.kind !== 'grpo') throw new Error('rl-hard is a GRPO stage');
  const prompts = [true, false].map((parallelPrompt) => {
    const changed = { ...stage, rollout: { ...stage.rollout, parallelPrompt } };
    return problemSource(recipe, index, changed, new Set())(1, 0).prompt;
  });
  expect(prompts[0]).not.toBe(prompts[1]);
  const [plain] = heldOutProblems(recipe, false)[0];
  expect(prompts[1].at(-1)).toBe(plain.prompt.at(-1));
});
