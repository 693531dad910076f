import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { equivalent, sameness } from './answer-value.ts';
import { verify } from './verifier.ts';

describe('the same expression', () => {
  test.each([
    ['2x-1', '-1+2x'],
    ['(a+5)(b+2)', 'ab+2a+5b+10'],
    ['\\frac{\\sqrt{3}}{3}', '\\frac{1}{\\sqrt{3}}'],
    ['\\frac{\\sqrt3}3', '1/\\sqrt3'],
    ['3\\sqrt{13}', '\\sqrt{117}'],
    ['11\\sqrt5+11', '11(1+\\sqrt{5})'],
    ['\\frac12\\pi', '\\frac{\\pi}{2}'],
    ['2\\frac{2}{3}\\pi', '\\frac{8\\pi}{3}'],
    ['0.5x', '\\frac{x}{2}'],
    ['6-5i', '-5i+6'],
    ['(1+i)^2', '2i'],
    ['\\sqrt{-4}', '2i'],
    ['x^{1/2}', '\\sqrt{x}'],
    ['x^{-1}', '1/x'],
    ['\\frac{x^2-1}{x-1}', 'x+1'],
    ['\\frac{11+9a}{20}', '\\frac{11}{20}+\\frac{9}{20}a'],
    ['x^5 - x^4 + x^3 - x^2 + x - 1', '(x-1)(x^4+x^2+1)'],
    ['\\cot x', '\\cot{x}'],
    ['\\sin^2 x + 1', '1 + (\\sin x)(\\sin x)'],
    ['x_{1}+x_2', 'x_2+x_1'],
    ['2^n + 1', '1 + 2^{n}'],
    ['7\\pi', '7\\pi \\text{ inches}'],
    ['y=2x+1', 'y=1+2x'],
    ['5x - 7y + 11z + 4 = 0', '-10x+14y-22z=8'],
  ])('%s = %s', (a, b) => {
    expect(equivalent(a, b)).toBe(true);
    expect(equivalent(b, a)).toBe(true);
  });

  test.each([
    // What isn't read cleanly, or only nearly the same
    ['\\pi', '3.14159265'],
    ['\\sqrt2', '1.41421356'],
    ['\\sqrt{2}', '\\frac{47321}{33461}'],
    ['\\sqrt{2}x', '\\frac{47321}{33461}x'],
    ['1/2x', 'x/2'],
    ['x^23', '3x^2'],
    ['x2', '2x'],
    ['2 3x', '6x'],
    ['\\sin 2x', '2\\sin x'],
    ['\\sin^{-1} x', '1/\\sin x'],
    ['\\log_2 x', '\\log_3 x'],
    ['even', 'veen'],
    ['cat', 'act'],
    ['i', 'j'],
    ['x', 'X'],
    ['\\infty', '-\\infty'],
    ['x+1', 'x-1'],
    ['(x+1)^2', 'x^2+1'],
    ['2\\sqrt3', '3\\sqrt2'],
    ['x/0', 'y/0'],
    ['\\frac{x}{y-y}', '\\frac{2x}{y-y}'],
    ['x_1', 'x_2'],
    // Arithmetic that is left to the reader
    ['2+3', '5'],
    ['\\sqrt{16}', '4'],
    ['x-x+5', '5'],
    // The question again
    ['x=5', '2x=10'],
    ['y=2x+1', 'y=2x-1'],
    ['x < 5', '5 > x'],
  ])('%s ≠ %s', (a, b) => {
    expect(equivalent(a, b)).toBe(false);
    expect(equivalent(b, a)).toBe(false);
  });
});

describe('lists', () => {
  test.each([
    ['1,-2', '-2, 1'],
    ['3 and 5', '5,3'],
    ['1\\pm\\sqrt{19}', '1-\\sqrt{19},1+\\sqrt{19}'],
    ['\\{1\\pm\\sqrt{5},-2\\}', '-2, 1+\\sqrt5, 1-\\sqrt5'],
    ['\\left(3,\\frac{\\pi}{2}\\right)', '(3, \\pi/2)'],
    ['(\\frac{3}{5},\\frac{8}{3}]', '(0.6,8/3]'],
    ['(0,9)\\cup(9,36)', '(9,36) \\cup (0, 9)'],
    ['x \\in [-2,7]', '[-2, 7.0]'],
    ['\\begin{pmatrix} 1/5 \\\\ -18/5 \\end{pmatrix}', '\\begin{bmatrix}0.2\\\\-3.6\\end{bmatrix}'],
    ['\\text{(C)}', 'C'],
  ])('%s = %s', (a, b) => {
    expect(equivalent(a, b)).toBe(true);
    expect(equivalent(b, a)).toBe(true);
  });

  test.each([
    ['(1,2)', '(2,1)'],
    ['(1,2)', '[1,2]'],
    ['(1,2]', '(1,2)'],
    ['(1,2)', '1,2'],
    ['1,2', '1,2,2'],
    ['1,1,2', '1,2,2'],
    ['1,2', '12'],
    ['1,2', '1'],
    ['0,1', '01'],
    ['\\{1,2\\}', '1'],
    ['1 \\pm 2', '3'],
    ['\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}', '\\begin{pmatrix} 1 & 2 \\end{pmatrix}'],
    ['(0,9)\\cup(9,36)', '(0,36)'],
    ['1,,2', '1,2'],
  ])('%s ≠ %s', (a, b) => {
    expect(equivalent(a, b)).toBe(false);
    expect(equivalent(b, a)).toBe(false);
  });
});

test('an expression that stands in the question is no answer, unless it is the gold as written', () => {
  const question = 'Factor $x^2 + 3x + 2$.';
  expect(verify('Answer: x^2+3x+2', '(x+1)(x+2)', question)).toMatchObject({
    correct: false,
    reason: 'restated',
  });
  expect(verify('Answer: (x+2)(x+1)', '(x+1)(x+2)', question).correct).toBe(true);
  expect(verify('Answer: x^2+3x+2', '(x+1)(x+2)').correct).toBe(true);
  const larger = 'Which is larger, $3\\sqrt2$ or $2\\sqrt3$?';
  expect(verify('Answer: 3\\sqrt{2}', '3\\sqrt{2}', larger).correct).toBe(true);
});

/** An expression as a tree, written in one of several ways, with its value at x = 3, y = 5 modulo a prime. */
const PRIME = 1_000_003n;
interface Written {
  text: string;
  value: bigint;
}
const mod = (n: bigint) => ((n % PRIME) + PRIME) % PRIME;
const leaf: fc.Arbitrary<Written> = fc.oneof(
  fc.integer({ min: 1, max: 9 }).map((n) => ({ text: `${n}`, value: BigInt(n) })),
  fc.constantFrom({ text: 'x', value: 777_001n }, { text: 'y', value: 31_337n }),
);
const { expression } = fc.letrec<{ expression: Written }>((tie) => ({
  expression: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.tuple(tie('expression'), tie('expression'), fc.constantFrom('+', '-', '*')).map(([a, b, op]) => ({
      text: `(${a.text}${op === '*' ? ')(' : `)${op}(`}${b.text})`,
      value: mod(op === '+' ? a.value + b.value : op === '-' ? a.value - b.value : a.value * b.value),
    })),
  ),
}));

test('polynomials against an oracle: equal texts have equal values at a random point', () => {
  let equal = 0;
  fc.assert(
    fc.property(expression, expression, (a, b) => {
      const same = sameness(`x + ${a.text}`, `x + ${b.text}`) !== null;
      // One prime and one point can agree by chance (about degree / 1e6), never differ by chance.
      if (same) expect(a.value).toBe(b.value);
      // Multiplied out by the distributive law it is the same; one more is another.
      expect(sameness(`y(${a.text}) + x`, `x + (${a.text})y`), a.text).not.toBeNull();
      expect(sameness(`xy + (${a.text})`, `(${a.text}) + xy + 1`), a.text).toBeNull();
      equal += Number(same);
    }),
    { numRuns: 400, seed: 5 },
  );
  expect(equal).toBeGreaterThan(0);
});

test('hostile expressions are given up in a few milliseconds', () => {
  const hostile = [
    '(a+b+c+d+f+g)^20',
    '(a+b)^{20}(c+d)^{20}(f+g)^{20}',
    `${'('.repeat(240)}x${')'.repeat(240)}`,
    `x${'^{x'.repeat(120)}${'}'.repeat(120)}`,
    `${'\\sqrt{'.repeat(80)}x${'}'.repeat(80)}`,
    `x${'^-'.repeat(240)}1`,
    '\\sqrt{99999999999999999999}+x',
    '9999999^{20}9999999^{20}9999999^{20}x',
    'x^{99999999999999999999}',
    '5^(5^(5^5))x',
    `x${'+x'.repeat(240)}`,
    `1${'/x'.repeat(240)}`,
    `${'\\frac'.repeat(90)}x`,
    `${'-'.repeat(490)}x`,
    '\\{'.repeat(120),
    'x,'.repeat(240),
    '\\begin{pmatrix}'.repeat(30),
  ];
  for (const text of hostile) {
    const begin = performance.now();
    sameness(text, `${text.slice(0, 480)} y`);
    sameness(text, text.split('').reverse().join(''));
    // The budget is a few milliseconds; the bound allows for a busy machine.
    expect(performance.now() - begin, text.slice(0, 40)).toBeLessThan(500);
  }
});
