import { describe, expect, test } from 'vitest';
import type { Segment } from '../rollout/tree.ts';
import type { BlockBehaviour } from './behaviour.ts';
import { type FormFacts, type FormReward, formReward, overlong } from './form-rewards.ts';

const segment = (kind: Segment['kind'], text: string, block = 0, path = 0): Segment => ({
  kind,
  block,
  path,
  text,
  tokens: text.split(' ').filter((word) => word !== '').length,
  open: false,
});

const blockOf = (of: Partial<BlockBehaviour>): BlockBehaviour => ({
  position: 0,
  verifies: false,
  before: null,
  finalBefore: false,
  rightBefore: false,
  answers: [],
  agrees: false,
  disagrees: false,
  rederived: null,
  selfBleu: null,
  ...of,
});

function facts(of: Partial<FormFacts> = {}, segments: Segment[] = []): FormFacts {
  return {
    correct: true,
    validBlocks: 1,
    formatValid: true,
    tree: { segments, blocks: [] },
    behaviour: { length: 100, selfBleu: null, perBlock: [] },
    critical: 100,
    maxTokens: 100,
    ...of,
  };
}

const gate = { wrongShare: 0 };
const behaviour = (of: Partial<FormFacts['behaviour']>) => ({
  length: 100,
  selfBleu: null,
  perBlock: [],
  ...of,
});

describe('gates', () => {
  const kinds: FormReward[] = [
    { kind: 'block', ...gate },
    { kind: 'diversity', ...gate },
    { kind: 'efficiency', budget: null, cap: 1, ...gate },
    { kind: 'verification', wanted: 1, ...gate },
    { kind: 'clarity', minTokens: 1, maxTokens: 9, ...gate },
  ];
  const good = facts(
    {
      critical: 60,
      behaviour: behaviour({
        selfBleu: 0.2,
        perBlock: [blockOf({ verifies: true, answers: ['3', '3'] })],
      }),
    },
    [segment('path', 'a b', 1, 1), segment('path', 'c d', 1, 2)],
  );
  test.each(kinds.map((kind) => [kind.kind, kind] as const))(
    '%s pays a right answer, a share of it on a wrong one, nothing in a broken format',
    (_, settings) => {
      const whole = formReward(settings, good)!;
      expect(whole).toBeGreaterThan(0);
      expect(formReward(settings, { ...good, correct: false })).toBe(0);
      const lenient = { ...settings, wrongShare: 0.25 } as FormReward;
      expect(formReward(lenient, good)).toBe(whole);
      expect(formReward(lenient, { ...good, correct: false })).toBeCloseTo(whole / 4, 12);
      expect(formReward(lenient, { ...good, formatValid: false })).toBe(0);
    },
  );
});

test('block: whether there is a valid one', () => {
  expect(formReward({ kind: 'block', ...gate }, facts())).toBe(1);
  expect(formReward({ kind: 'block', ...gate }, facts({ validBlocks: 0 }))).toBe(0);
});

test('diversity: 1 − self-BLEU; without paths to compare it does not apply', () => {
  const of = (selfBleu: number | null) =>
    formReward({ kind: 'diversity', ...gate }, facts({ behaviour: behaviour({ selfBleu }) }));
  expect(of(0.25)).toBe(0.75);
  expect(of(1)).toBe(0);
  expect(of(null)).toBeNull();
});

describe('efficiency', () => {
  const of = (budget: number | null, critical: number, cap = 1) =>
    formReward({ kind: 'efficiency', budget, cap, ...gate }, facts({ critical }));
  test('without a budget the share of tokens off the critical path', () => {
    expect(of(null, 60)).toBeCloseTo(0.4, 12);
    expect(of(null, 100)).toBe(0);
    expect(of(null, 60, 0.3)).toBe(0.3);
  });
  test('with one, the share of it that is left', () => {
    expect(of(80, 60)).toBeCloseTo(0.25, 12);
    expect(of(80, 80)).toBe(0);
    expect(of(80, 99)).toBe(0);
  });
});

describe('verification', () => {
  const of = (wanted: number, perBlock: BlockBehaviour[], segments: Segment[]) =>
    formReward(
      { kind: 'verification', wanted, ...gate },
      facts({ behaviour: behaviour({ perBlock }) }, segments),
    );
  test('counts blocks that verify and stretches that say so, up to the number wanted', () => {
    const verifying = blockOf({ verifies: true });
    expect(of(2, [verifying, blockOf({})], [])).toBe(0.5);
    expect(of(2, [verifying], [segment('trunk', 'Let me double-check.')])).toBe(1);
    expect(of(1, [verifying, verifying], [])).toBe(1);
    expect(of(2, [], [])).toBe(0);
  });
  test('the same word many times, or in a path, is no further step', () => {
    expect(of(4, [], [segment('trunk', 'verify verify verify, check that, check that')])).toBe(0.25);
    expect(of(4, [], [segment('path', 'we verify this', 1, 1)])).toBe(0);
    expect(of(4, [], [segment('trunk', 'She pays by check; the checkered flag.')])).toBe(0);
  });
});

describe('clarity', () => {
  const settings = { kind: 'clarity', minTokens: 2, maxTokens: 4, ...gate } as const;
  const of = (texts: string[], answers: (string | null)[]) =>
    formReward(
      settings,
      facts(
        { behaviour: behaviour({ perBlock: [blockOf({ answers })] }) },
        texts.map((text, i) => segment('path', text, 1, i + 1)),
      ),
    );
  test.each<[string, string[], (string | null)[], number]>([
    ['two clear paths', ['a b', 'c d e'], ['1', '1'], 1],
    ['one too short, one too long', ['a', 'a b c d e'], ['1', '1'], 2 / 3],
    ['one without an answer', ['a b', 'a b'], ['1', null], 5 / 6],
    ['one that looks at the other', ['a b', 'as Path 1 says'], ['1', '1'], 5 / 6],
    ['nothing right about it', ['the other path has shown that'], [null], 0],
  ])('%s', (_, texts, answers, value) => {
    expect(of(texts, answers)).toBeCloseTo(value, 12);
  });
  test('does not apply without paths', () => {
    expect(of([], [])).toBeNull();
  });
});

describe('overlong (DAPO, equation 13)', () => {
  test.each([
    [0, 0],
    [80, 0],
    [81, -0.05],
    [90, -0.5],
    [99, -0.95],
    [100, -1],
    [150, -1],
  ])('%i of 100 tokens with a margin of 20: %f', (length, value) => {
    expect(overlong(length, 100, 20)).toBeCloseTo(value, 12);
  });
  test('the numbers of the paper: 16384 free, −1 at 20480', () => {
    expect([16384, 18432, 20480].map((length) => overlong(length, 20480, 4096))).toEqual([0, -0.5, -1]);
  });
  test('the limit is the one of the rollout unless the recipe names its own, and wrong answers pay too', () => {
    const at = (limit: number | null) =>
      formReward(
        { kind: 'overlong', limit, margin: 20 },
        facts({ correct: false, behaviour: behaviour({ length: 90 }) }),
      );
    expect(at(null)).toBeCloseTo(-0.5, 12);
    expect(at(200)).toBe(0);
  });
});

describe('repetition', () => {
  const of = (ngram: number, ...segments: Segment[]) =>
    formReward({ kind: 'repetition', ngram }, facts({}, segments));
  test('minus the share of n-grams that were there before', () => {
    // a b, b a, a b, b a: 2 of 4 are new
    expect(of(2, segment('trunk', 'a b a b a'))).toBe(-0.5);
    expect(of(2, segment('trunk', 'a b c d e'))).toBe(0);
    expect(of(1, segment('trunk', 'a a a a'))).toBe(-0.75);
  });
  test('a path may derive again what the trunk derived', () => {
    expect(of(2, segment('trunk', '+1=1+2=3'), segment('path', '+1=1+2=3', 1, 1))).toBe(0);
  });
  test('does not apply to a text of fewer words', () => {
    expect(of(4, segment('trunk', 'a b c'), segment('path', '', 1, 1))).toBeNull();
  });
});
