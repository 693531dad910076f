import { expect, test } from 'vitest';
import { Rng } from '../../base/rng.ts';
import {
  bootstrap,
  estimate,
  majAtK,
  majOfGroups,
  majorityAnswer,
  meanAtK,
  passAtK,
  wilson,
} from './evaluation-metrics.ts';
import golden from './fixtures/evaluation-metrics.json' with { type: 'json' };

const problems = golden.problems.map(({ answers, correct }) => ({
  answers,
  correct: correct.map((c) => c === 1),
}));

test('pass@k of the golden table', () => {
  for (const { n, c, k, pass_at_k } of golden.pass_at_k_table) {
    const ours = passAtK(n, c, k);
    if (pass_at_k === null) expect(ours).toBeNull();
    else expect(Math.abs(ours! - pass_at_k), `n ${n}, c ${c}, k ${k}`).toBeLessThan(1e-9);
  }
});

test('mean@k, pass@k and maj@k of the golden problems', () => {
  const average = (of: (one: (typeof problems)[number]) => number) =>
    problems.reduce((sum, one) => sum + of(one), 0) / problems.length;
  for (const [key, expected] of Object.entries(golden.by_k)) {
    const k = Number(key);
    const mean = average(({ correct }) => meanAtK(correct, k));
    const pass = average(({ correct }) => passAtK(correct.length, correct.filter(Boolean).length, k)!);
    const maj = average(({ answers, correct }) => majAtK(answers, correct, k));
    expect(Math.abs(mean - expected.mean_at_k), `mean@${k}`).toBeLessThan(1e-9);
    expect(Math.abs(pass - expected.pass_at_k), `pass@${k}`).toBeLessThan(1e-9);
    expect(Math.abs(maj - expected.maj_at_k), `maj@${k}`).toBeLessThan(1e-9);
  }
});

test('majority: null has no vote, the first of a tie wins', () => {
  expect(majorityAnswer([null, null, '3'])).toBe('3');
  expect(majorityAnswer(['2', '1', '1', '2'])).toBe('2');
  expect(majorityAnswer([null, null])).toBeNull();
  expect(majorityAnswer([])).toBeNull();
  expect(majAtK([null], [false], 1)).toBe(0);
});

test('majority over groups: all samples at once is maj@k, one by one is mean@k', () => {
  for (const { answers, correct } of problems) {
    expect(majOfGroups(answers, correct, 8)).toBe(majAtK(answers, correct, 8));
    expect(majOfGroups(answers, correct, 1)).toBe(meanAtK(correct, 8));
  }
  // Votes 3 3 5 | 5 5 3, and a rest of one that is left out
  const answers = ['3', '3', '5', '5', '5', '3', '3'];
  const correct = answers.map((answer) => answer === '3');
  expect(majOfGroups(answers, correct, 3)).toBe(0.5);
});

test.each([
  // Roots p of (p − hits/n)² = z² p (1 − p) / n, worked out with 30 digits
  [8, 10, 0.4901624715, 0.9433178485],
  [10, 10, 0.7224672001, 1],
  [0, 10, 0, 0.2775327999],
  [1, 1, 0.2065493143, 1],
])('Wilson’s interval of %i of %i', (hits, n, low, high) => {
  const ours = wilson(hits, n);
  expect(ours[0]).toBeCloseTo(low, 9);
  expect(ours[1]).toBeCloseTo(high, 9);
});

test('scores of 0 and 1 have Wilson’s interval, others the bootstrap’s', () => {
  expect(estimate([1, 1, 0, 1], 1)).toEqual({
    value: 0.75,
    low: wilson(3, 4)[0],
    high: wilson(3, 4)[1],
    method: 'wilson',
  });
  expect(estimate([1, 0.5, 0], 1)).toMatchObject({ value: 0.5, method: 'bootstrap' });
});

test('the bootstrap repeats from its key, and has the width of the standard error', () => {
  const rng = new Rng(3, 1);
  const values = Array.from({ length: 200 }, () => rng.normal());
  const mean = values.reduce((a, b) => a + b, 0) / 200;
  const variance = values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / 200;
  const own = bootstrap(values, 7);
  expect(bootstrap(values, 7)).toEqual(own);
  expect(bootstrap(values, 8)).not.toEqual(own);
  expect(own.value).toBeCloseTo(mean, 12);
  // Normal theory: ± 1.96 standard errors; the ends of 2,000 resamples are uncertain by about 3 % of the width
  const half = 1.96 * Math.sqrt(variance / 200);
  expect(Math.abs(own.low - (mean - half))).toBeLessThan(0.12 * half);
  expect(Math.abs(own.high - (mean + half))).toBeLessThan(0.12 * half);
  expect(bootstrap([0.25, 0.25], 1)).toEqual({ value: 0.25, low: 0.25, high: 0.25 });
});

test('the bootstrap covers the truth about as often as it says', () => {
  // Sets of 60 problems with 4 samples each; the truth is 0.5. Normal theory says 95 %.
  const sets = 150;
  let covered = 0;
  for (let set = 0; set < sets; set++) {
    const rng = new Rng(9, set);
    const values = Array.from({ length: 60 }, () => {
      const skill = rng.next();
      return [0, 0, 0, 0].reduce((sum) => sum + Number(rng.next() < skill), 0) / 4;
    });
    const { low, high } = bootstrap(values, set);
    covered += Number(low <= 0.5 && 0.5 <= high);
  }
  // 95 % of 150 within four binomial standard deviations
  expect(covered / sets).toBeGreaterThan(0.95 - 4 * Math.sqrt((0.95 * 0.05) / sets));
});
