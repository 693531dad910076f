import { describe, expect, test } from 'vitest';
import {
  addPart,
  customPart,
  partNames,
  type RewardFacts,
  type RewardPart,
  type RewardSettings,
  reward,
  rewardFaults,
  scaleReward,
} from './rewards.ts';

const facts = (of: Partial<RewardFacts>): RewardFacts => ({
  correct: true,
  blocks: 0,
  validBlocks: 0,
  formatValid: true,
  tree: { segments: [], blocks: [] },
  behaviour: { length: 20, selfBleu: null, perBlock: [] },
  critical: 20,
  maxTokens: 100,
  ...of,
});
const right = facts({});
const rightParallel = facts({ blocks: 1, validBlocks: 1 });
const rightBroken = facts({ blocks: 1, validBlocks: 0, formatValid: false });
const wrong = facts({ correct: false });
const wrongParallel = facts({ correct: false, blocks: 1, validBlocks: 1 });
const all = [right, rightParallel, rightBroken, wrong, wrongParallel];
const rewards = (settings: Parameters<typeof reward>[0], step: number) =>
  all.map((one) => reward(settings, one, step).reward);

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
  const table = (of: RewardFacts) => Array.from({ length: 20 }, (_, i) => reward(settings, of, i + 1).reward);
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
  const stray = facts({ formatValid: false });
  expect(reward({ kind: 'alternating', window: 10, bonusSteps: 2, bonus: 1.2 }, stray, 9).reward).toBe(-1);
  expect(reward({ kind: 'accuracy' }, stray, 9).reward).toBe(1);
});

test('one whole block does not pay where another is broken', () => {
  const mixed = facts({ blocks: 2, validBlocks: 1, formatValid: false });
  expect(reward({ kind: 'easy' }, mixed, 1).reward).toBe(-1);
});

test('the parts say what the reward is made of', () => {
  expect(reward({ kind: 'easy' }, rightParallel, 1)).toEqual({
    reward: 1,
    main: 1,
    auxiliary: 0,
    parts: { easy: 1 },
  });
});

test('parallel-only is the easy rule on every step', () => {
  for (const step of [1, 9, 300]) expect(rewards({ kind: 'parallel' }, step)).toEqual([-1, 1, -1, -1, -1]);
});

describe('scaffold', () => {
  const window = { window: 10, bonusSteps: 2, bonus: 1.2 };
  test('alternating up to the switch, accuracy from the next step on', () => {
    const settings = { kind: 'scaffold', until: 20, before: 'alternating', ...window } as const;
    expect(rewards(settings, 8)).toEqual([1, 1, 1, -1, -1]);
    expect(rewards(settings, 20)).toEqual([1, 1.2, -1, -1, -1]);
    expect(rewards(settings, 21)).toEqual([1, 1, 1, -1, -1]);
    expect(rewards(settings, 29)).toEqual([1, 1, 1, -1, -1]);
  });
  test('parallel before the switch', () => {
    const settings = { kind: 'scaffold', until: 5, before: 'parallel', ...window } as const;
    expect(rewards(settings, 5)).toEqual([-1, 1, -1, -1, -1]);
    expect(rewards(settings, 6)).toEqual([1, 1, 1, -1, -1]);
  });
  test('until 0 is accuracy throughout', () => {
    expect(rewards({ kind: 'scaffold', until: 0, before: 'parallel', ...window }, 1)).toEqual([
      1, 1, 1, -1, -1,
    ]);
  });
});

const own = { weight: 1, auxiliary: false, decaySteps: null };
const aux = { weight: 0.2, auxiliary: true, decaySteps: null };
const gate = { wrongShare: 0 };
const sumOf = (...parts: RewardPart[]): RewardSettings => ({ kind: 'sum', parts });

describe('sums', () => {
  const diverse = { ...rightParallel, behaviour: { length: 20, selfBleu: 0.25, perBlock: [] } };

  test('parts keep their own value; main and auxiliary are summed apart', () => {
    const settings = sumOf({ kind: 'accuracy', ...own, weight: 2 }, { kind: 'diversity', ...gate, ...aux });
    const paid = reward(settings, diverse, 1);
    expect(paid.parts).toEqual({ accuracy: 1, diversity: 0.75 });
    expect(paid.main).toBe(2);
    expect(paid.auxiliary).toBeCloseTo(0.15, 12);
    expect(paid.reward).toBeCloseTo(2.15, 12);
  });

  test('the paper’s 1.2 − 0.2 · self-BLEU', () => {
    const settings = sumOf({ kind: 'easy', ...own }, { kind: 'diversity', ...gate, ...aux });
    expect(reward(settings, diverse, 1).reward).toBeCloseTo(1.2 - 0.2 * 0.25, 12);
    expect(reward(settings, { ...diverse, correct: false }, 1).reward).toBe(-1);
  });

  test('a part that does not apply is left out and pays nothing', () => {
    const settings = sumOf({ kind: 'accuracy', ...own }, { kind: 'diversity', ...gate, ...aux });
    expect(reward(settings, right, 1)).toEqual({ reward: 1, main: 1, auxiliary: 0, parts: { accuracy: 1 } });
  });

  test('a weight decays as exp(−step / decay), its value does not', () => {
    const settings = sumOf({ kind: 'accuracy', ...own }, { kind: 'block', ...gate, ...aux, decaySteps: 50 });
    for (const step of [1, 50, 200]) {
      const paid = reward(settings, rightParallel, step);
      expect(paid.parts.block).toBe(1);
      expect(paid.auxiliary).toBeCloseTo(0.2 * Math.exp(-step / 50), 12);
    }
  });

  test('a main sum stays exact whatever the auxiliary parts are: equal answers are equal groups', () => {
    const settings = sumOf({ kind: 'accuracy', ...own }, { kind: 'diversity', ...gate, ...aux, weight: 0.3 });
    for (const selfBleu of [0.1, 0.7, 0.3333])
      expect(
        reward(settings, { ...diverse, behaviour: { length: 20, selfBleu, perBlock: [] } }, 1).main,
      ).toBe(1);
  });

  test('a custom part waits for its value', () => {
    const custom: RewardPart = { kind: 'custom', code: 'return 1', timeLimitMs: 100, ...own, weight: 3 };
    const settings = sumOf({ kind: 'accuracy', ...own }, custom);
    const paid = reward(settings, right, 1);
    expect(paid.parts).toEqual({ accuracy: 1 });
    expect(customPart(settings)).toBe(custom);
    expect(partNames(settings)).toEqual(['accuracy', 'custom']);
    expect(addPart(paid, custom, 0.5, 1)).toEqual({
      reward: 2.5,
      main: 2.5,
      auxiliary: 0,
      parts: { accuracy: 1, custom: 0.5 },
    });
    expect(addPart(paid, custom, null, 1)).toEqual(paid);
    expect(customPart({ kind: 'accuracy' })).toBeNull();
  });
});

describe('faults of a reward', () => {
  const custom = (code: string): RewardPart => ({ kind: 'custom', code, timeLimitMs: 100, ...own });
  test.each<[string, RewardSettings, RegExp]>([
    [
      'a window',
      { kind: 'alternating', window: 2, bonusSteps: 3, bonus: 1 },
      /"r.bonusSteps" must not exceed "r.window"/,
    ],
    [
      'a part twice',
      sumOf({ kind: 'accuracy', ...own }, { kind: 'accuracy', ...own }),
      /"r.parts\[1\].kind": "accuracy" already stands in parts\[0\]/,
    ],
    ['no main part', sumOf({ kind: 'block', ...gate, ...aux }), /only auxiliary parts/],
    ['a main part without weight', sumOf({ kind: 'accuracy', ...own, weight: 0 }), /only auxiliary parts/],
    [
      'lengths the wrong way round',
      sumOf({ kind: 'accuracy', ...own }, { kind: 'clarity', minTokens: 9, maxTokens: 8, ...gate, ...aux }),
      /"r.parts\[1\].minTokens" must not exceed/,
    ],
    [
      'broken code',
      sumOf(custom('return (')),
      /"r.parts\[0\].code" is not the body of a JavaScript function: .+return <number>/,
    ],
    ['code that imports', sumOf(custom("return import('https://x.test/')")), /holds the word "import"/],
    ['code that leaves its function', sumOf(custom('return 1 } ; function x() {')), /is not the body/],
  ])('%s', (_, settings, sentence) => {
    const faults = rewardFaults(settings, 'r');
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(sentence);
  });

  test('none', () => {
    expect(rewardFaults(sumOf(custom('return correct ? 1 : 0')), 'r')).toEqual([]);
    expect(
      rewardFaults(
        { kind: 'scaffold', until: 3, before: 'parallel', window: 5, bonusSteps: 5, bonus: 1 },
        'r',
      ),
    ).toEqual([]);
  });
});

test('a shortened run switches and decays sooner', () => {
  const half = (steps: number) => Math.round(steps / 2);
  const scaffold = {
    kind: 'scaffold',
    until: 200,
    before: 'parallel',
    window: 10,
    bonusSteps: 2,
    bonus: 1.2,
  } as const;
  expect(scaleReward(scaffold, half)).toEqual({ ...scaffold, until: 100 });
  const settings = sumOf({ ...scaffold, ...own }, { kind: 'block', ...gate, ...aux, decaySteps: 50 });
  expect(scaleReward(settings, half)).toMatchObject({
    parts: [{ until: 100, decaySteps: null }, { decaySteps: 25 }],
  });
  expect(scaleReward({ kind: 'accuracy' }, half)).toEqual({ kind: 'accuracy' });
});
