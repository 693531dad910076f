import { beforeAll, expect, test } from 'vitest';
import type { Rollout } from '../rollout/row.ts';
import { openBackend } from '../tensor/device.ts';
import { TEST_IDS } from '../tokenizer/test-ids.ts';
import { lossMask } from './grpo.ts';
import type { GrpoStage } from './recipe.ts';
import { grpoRecipe, trajectory } from './trajectories/trajectory.ts';

beforeAll(async () => {
  await openBackend('wasm');
});

test('what counts in the loss', () => {
  const { parallel, path, pathEnd, parallelEnd, summary, summaryEnd, eos } = TEST_IDS;
  // prompt, fork, one injected <Path>, a word, a number that noise put in, a forced </Path>, the join, a summary
  const tokens = [1, path, parallel, path, 10, 11, pathEnd, parallelEnd, 9, summary, 12, summaryEnd, eos];
  const sampled = [0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 1, 1];
  const rollout = {
    tokens: Int32Array.from(tokens),
    sampled: Uint8Array.from(sampled),
    promptLength: 2,
  } as unknown as Rollout;
  expect(Array.from(lossMask(rollout, false, TEST_IDS))).toEqual(sampled);
  // The literal tag in the prompt and the noise stay out.
  expect(Array.from(lossMask(rollout, true, TEST_IDS))).toEqual([0, 0, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1]);
});

test('old log-probs that come from a forward pass are those of the rollout', async () => {
  const recipe = grpoRecipe(2);
  const [stage] = recipe.stages as GrpoStage[];
  const changed = { ...stage, miniBatches: 1, trainInjected: true, clipLow: 0, clipHigh: 0 };
  const points = await trajectory({ ...recipe, stages: [changed] });
  // Without a fork there is nothing injected, so both must start from ratio 1; with a clip of 0 any other ratio shows.
  const plain = await trajectory({ ...recipe, stages: [{ ...changed, trainInjected: false }] });
  expect(points[0].loss).toBeCloseTo(plain[0].loss, 4);
});
