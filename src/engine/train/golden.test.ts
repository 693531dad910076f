import { beforeAll, describe, test } from 'vitest';
import { openBackend } from '../tensor/device.ts';
import { checkAccumulationGolden, checkAdamwGolden, checkTrajectoryGolden } from './golden.ts';

describe.each(['cpu', 'wasm'] as const)('training on %s equals PyTorch', (backend) => {
  beforeAll(async () => {
    await openBackend(backend);
  });

  test('AdamW on given gradients', () => checkAdamwGolden());
  test.each(['trajectory', 'trajectory_clip_mid'] as const)('%s: ten steps', (name) =>
    checkTrajectoryGolden(name, true),
  );
  test('accumulation over micro-batches', () => checkAccumulationGolden());
});
