import { writeFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { openBackend } from '../../tensor/device.ts';
import committed from './committed.json' with { type: 'json' };
import { expectTrajectory, grpoRecipe, sftRecipe, trajectory } from './trajectory.ts';

const SFT_STEPS = 30;
const GRPO_STEPS = 20;

beforeAll(async () => {
  await openBackend('wasm');
});

// POLYPATH_UPDATE_TRAJECTORIES=1 writes new ones, for a change that is meant to change training.
if (process.env.POLYPATH_UPDATE_TRAJECTORIES)
  test('write new trajectories', async () => {
    const fresh = {
      sft: await trajectory(sftRecipe(SFT_STEPS)),
      grpo: await trajectory(grpoRecipe(GRPO_STEPS)),
    };
    writeFileSync(new URL('./committed.json', import.meta.url), `${JSON.stringify(fresh, null, 1)}\n`);
  });

test('30 steps of SFT are as committed, and learn', async () => {
  const points = await trajectory(sftRecipe(SFT_STEPS));
  expectTrajectory(points, committed.sft, 1e-4);
  expect(points[SFT_STEPS - 1].loss).toBeLessThan(0.85 * points[0].loss);
});

test('20 steps of GRPO from the base model are as committed', async () => {
  const points = await trajectory(grpoRecipe(GRPO_STEPS));
  expectTrajectory(points, committed.grpo, 1e-4);
  // It learns from some groups in most steps: a committed curve of zeros would prove nothing.
  expect(points.filter(({ grad_norm }) => grad_norm > 0).length).toBeGreaterThan(15);
});

test('micro-batches add up to one batch', async () => {
  const whole = await trajectory(sftRecipe(8, { microBatchTokens: 100_000 }));
  const parts = await trajectory(sftRecipe(8, { microBatchTokens: 120 }));
  expectTrajectory(parts, whole, 1e-4);
});
