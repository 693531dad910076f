import { expect, test } from 'vitest';
import { majAtK, majorityAnswer, meanAtK, passAtK } from './evaluation-metrics.ts';
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
