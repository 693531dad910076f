import { beforeAll, test } from 'vitest';
import { requireWebGpu } from '../../tensor/testing.ts';
import committed from './committed.json' with { type: 'json' };
import { expectTrajectory, sftRecipe, trajectory } from './trajectory.ts';

beforeAll(async () => {
  await requireWebGpu();
});

test('the first steps of SFT on WebGPU are those committed from wasm', async () => {
  // The schedule knows the number of steps: the whole run is asked for and left after eight.
  const points = await trajectory(sftRecipe(30), 8);
  // Adam divides by gradients near zero, so float noise grows from step to step
  expectTrajectory(points, committed.sft.slice(0, 8), 2e-3);
});
