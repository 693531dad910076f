import { describe, test } from 'vitest';
import { requireWebGpu } from '../tensor/testing.ts';
import { checkPolicyLossGolden, checkTokenObjectiveGolden } from './policy-loss.golden.ts';

describe.skipIf(!(await requireWebGpu()))('losses on webgpu equal PyTorch', () => {
  test('through the tape', () => checkPolicyLossGolden(1e-4));
  test('through the ops of captured steps', () => checkTokenObjectiveGolden(1e-4));
});
