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

test('the schedule of two windows, step by step', () => {
  const settings = { kind: 'alternating', window: 10, bonusSteps: 2, bonus: 1.2 } as const;
  const table = (facts: RewardFacts) =>
    Array.from({ length: 20 }, (_, i) => reward(settings, facts, i + 1).reward);
  const windows = (accuracy: number, tier: number) => {
    const one = [...Array<number>(8).fill(accuracy), tier, tier];
    return [...one, ...one];
  };
  expect(table(right)).toEqual(windows(1, 1));
  expect(table(rightParallel)).toEqual(windows(1, 1.2));
  expect(table(rightBroken)).toEqual(windows(1, -1));
  expect(table(wrong)).toEqual(windows(-1, -1));
  expect(table(wrongParallel)).toEqual(windows(-1, -1));
});

test('other windows: a bonus of 2 on every third step, and on every step', () => {
  const third = { kind: 'alternating', window: 3, bonusSteps: 1, bonus: 2 } as const;
  expect([1, 2, 3, 4, 5, 6].map((step) => reward(third, rightParallel, step).reward)).toEqual([
    1, 1, 2, 1, 1, 2,
  ]);
  const always = { ...third, bonusSteps: 3 };
  expect([1, 2, 3].map((step) => reward(always, rightParallel, step).reward)).toEqual([2, 2, 2]);
});

test('tags that open no block are a broken format, not a plain answer', () => {
  const stray = { correct: true, blocks: 0, validBlocks: 0, formatValid: false };
  expect(reward({ kind: 'alternating', window: 10, bonusSteps: 2, bonus: 1.2 }, stray, 9).reward).toBe(-1);
  expect(reward({ kind: 'accuracy' }, stray, 9).reward).toBe(1);
});

test('one whole block does not pay where another is broken', () => {
  const mixed = { correct: true, blocks: 2, validBlocks: 1, formatValid: false };
  expect(reward({ kind: 'easy' }, mixed, 1).reward).toBe(-1);
});

test('the parts say what the reward is made of', () => {
  expect(reward({ kind: 'easy' }, rightParallel, 1)).toEqual({ reward: 1, parts: { easy: 1 } });
});
