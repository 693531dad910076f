import { describe, expect, test } from 'vitest';
import { type RewardFacts, reward } from './rewards.ts';

const right = { correct: true, blocks: 0, validBlocks: 0, formatValid: true };
const rightParallel = { correct: true, blocks: 1, validBlocks: 1, formatValid: true };
const rightBroken = { correct: true, blocks: 1, validBlocks: 0, formatValid: false };
const wrong = { correct: false, blocks: 0, validBlocks: 0, formatValid: true };
const wrongParallel = { correct: false, blocks: 1, validBlocks: 1, formatValid: true };
const all = [right, rightParallel, rightBroken, wrong, wrongParallel];
const rewards = (settings: Parameters<typeof reward>[0], step: number) =>
  all.map((facts: RewardFacts) => reward(settings, facts, step).reward);

test('accuracy looks at the answer only', () => {
  expect(rewards({ kind: 'accuracy' }, 1)).toEqual([1, 1, 1, -1, -1]);
});

test('easy wants a right answer and a valid block', () => {
  expect(rewards({ kind: 'easy' }, 1)).toEqual([-1, 1, -1, -1, -1]);
});

describe('alternating, 8 : 2 with bonus 1.2', () => {
  const settings = { kind: 'alternating', window: 10, bonusSteps: 2, bonus: 1.2 } as const;
  test.each([1, 2, 7, 8, 11, 18])('step %i pays accuracy', (step) => {
    expect(rewards(settings, step)).toEqual([1, 1, 1, -1, -1]);
  });
  test.each([9, 10, 19, 20])('step %i pays the parallel tier', (step) => {
    expect(rewards(settings, step)).toEqual([1, 1.2, -1, -1, -1]);
  });
});

test('the parts say what the reward is made of', () => {
  expect(reward({ kind: 'easy' }, rightParallel, 1)).toEqual({ reward: 1, parts: { easy: 1 } });
});
