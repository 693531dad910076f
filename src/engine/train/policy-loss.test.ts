import { beforeAll, describe, expect, test } from 'vitest';
import { openBackend } from '../tensor/device.ts';
import { groupsToTrain } from './choose-groups.ts';
import {
  checkAdvantageGolden,
  checkPolicyLossGolden,
  checkTokenObjectiveGolden,
} from './policy-loss.golden.ts';
import { tokenWeights } from './token-weights.ts';

describe.each(['cpu', 'wasm'] as const)('losses on %s equal PyTorch', (backend) => {
  beforeAll(async () => {
    await openBackend(backend);
  });
  test('through the tape', () => checkPolicyLossGolden(1e-5));
  test('through the ops of captured steps', () => checkTokenObjectiveGolden(1e-5));
});

test('group advantages equal PyTorch', () => checkAdvantageGolden());

test('how tokens add up', () => {
  // Three responses of 2, 6 and 0 tokens, the first two in different passes.
  const batch = { counts: [2, 6, 0], passes: [0, 1, -1], maxTokens: 10 };
  const tokens = { weights: [1, 1, 1], total: 8 };
  expect(tokenWeights('dapo', batch)).toEqual(tokens);
  expect(tokenWeights('cispo', batch)).toEqual(tokens);
  expect(tokenWeights('dr_grpo', batch)).toEqual({ weights: [1, 1, 1], total: 30 });
  for (const loss of ['grpo', 'gspo'] as const)
    expect(tokenWeights(loss, batch)).toEqual({ weights: [1 / 2, 1 / 6, 1], total: 3 });
  // The mean of two passes is not the mean over their tokens…
  expect(tokenWeights('bnpo', batch)).toEqual({ weights: [1 / 2, 1 / 6, 1], total: 2 });
  // …but in one pass it is.
  expect(tokenWeights('bnpo', { ...batch, passes: [0, 0, -1] })).toEqual({
    weights: [1 / 8, 1 / 8, 1],
    total: 1,
  });
});

test('which groups are trained on', () => {
  const spread = [false, true, false, true, true];
  expect(groupsToTrain(spread, 2, false)).toEqual([1, 3]);
  expect(groupsToTrain(spread, 4, false)).toEqual([1, 3, 4]);
  expect(groupsToTrain(spread, 4, true)).toEqual([0, 1, 3, 4]);
  expect(groupsToTrain([false, false], 2, false)).toEqual([]);
});
