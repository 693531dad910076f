import { afterAll, beforeAll, describe, test } from 'vitest';
import { requireWebGpu } from '../tensor/testing.ts';
import { type KernelStyle, setKernelStyle } from '../tensor/wgsl.ts';
import { type CapturedOptions, captureLearner } from './captured-learner.ts';
import {
  checkAccumulationGolden,
  checkAdamwGolden,
  checkTrajectoryGolden,
  type LearnerMaker,
} from './golden.ts';

const objective = { temperature: 1, clip: null };
const captured =
  (options: CapturedOptions): LearnerMaker =>
  (model, optimizer) =>
    captureLearner(model, optimizer, objective, options);

describe('training on webgpu equals PyTorch', () => {
  beforeAll(async () => {
    await requireWebGpu();
  });

  test('AdamW on given gradients', () => checkAdamwGolden());
  test('ten steps', () => checkTrajectoryGolden('trajectory', false));
  test('accumulation over micro-batches', () => checkAccumulationGolden());

  describe.each<KernelStyle>(['tiled', 'direct'])('captured steps, %s', (style) => {
    beforeAll(() => setKernelStyle(style));
    afterAll(() => setKernelStyle('tiled'));
    test('ten steps', () => checkTrajectoryGolden('trajectory', false, captured({})));
    test('accumulation over micro-batches', () => checkAccumulationGolden(captured({})));
  });
  test('captured, layers computed again on the way back', () =>
    checkAccumulationGolden(captured({ checkpointing: true })));
  test('captured, the vocabulary in pieces', () => checkAccumulationGolden(captured({ chunkLogits: 1 })));
});
