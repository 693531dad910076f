import { beforeAll, describe, test } from 'vitest';
import { requireWebGpu } from '../tensor/testing.ts';
import {
  checkAccumulationGolden,
  checkAdamwGolden,
  checkPolicyLossGolden,
  checkTrajectoryGolden,
} from './golden.ts';

describe('training on webgpu equals PyTorch', () => {
  beforeAll(async () => {
    await requireWebGpu();
  });

  test('AdamW on given gradients', () => checkAdamwGolden());
  test('ten steps', () => checkTrajectoryGolden('trajectory', false));
  test('accumulation over micro-batches', () => checkAccumulationGolden());
  test('clipped policy loss', () => checkPolicyLossGolden(1e-4));
});
