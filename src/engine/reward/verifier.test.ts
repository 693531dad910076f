import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { equivalent } from './answer-value.ts';
import { verify } from './verifier.ts';

describe('the table of trainers.md', () => {
  test.each([
    ['#### 1,000', '1000'],
    ['#### 1000.', '1000'],
    ['#### $1000', '1000'],
    ['#### 18.0', '18'],
    ['#### −5', '-5'],
    ['Answer: 42.', '42'],
    ['**Answer:** **42**', '42'],
    ['Final Answer: \\frac{1}{2}', '0.5'],
    ['Final Answer: $\\dfrac12$', '0.5'],
    ['Answer: x=5', '5'],
    ['so it is $\\boxed{1,000}$.', '1000'],
    [`#### 42\n${'and so on '.repeat(40)}`, '42'],
    [`Answer: 42. ${'And so on, '.repeat(40)}`, '42'],
  ])('%j is %j', (response, gold) => {
    expect(verify(response, gold)).toMatchObject({ correct: true, reason: 'equal' });
  });

  test.each([
    ['#### 7 #### 42', '42', 'several_answers'],
    ['#### 0,1', '01', 'different'],
    ['#### 2 2/3', '2', 'different'],
    ['#### {1,2}', '1', 'different'],
    ['\\boxed{\\{1,2\\}}', '1', 'different'],
  ])('%j is not %j', (response, gold, reason) => {
    expect(verify(response, gold)).toMatchObject({ correct: false, reason });
  });
});

describe('finding the final answer', () => {
  test.each([
    ['first, 3+4=7. \\boxed{7}', '7'],
    ['\\boxed{\\frac{1}{2}}', '\\frac{1}{2}'],
    ['\\boxed{\\left\\{1\\right\\}}', '\\left\\{1\\right\\}'],
    ['\\boxed 5', '5'],
    ['**Final Answer:**\n\n42', '42'],
    ['Final Answer: The final answer is $26$. I hope it is correct.', '$26$'],
    ['Final Answer: $\\boxed{\\frac{3}{4}}$', '\\frac{3}{4}'],
    ['Answer: 7\nFinal Answer: 7.0', '7.0'],
    ['#### Step 1: add\n#### Step 2: check\n#### 42', '42'],
    ['##### 7\n#### 42', '42'],
    ['#### yes', 'yes'],
    ['4 = \\boxed{\\phantom{2}}, so \\boxed{4}', '4'],
    ['We check our answer: 17 · 44 = 748.\nAnswer: 44', '44'],
    ['FINAL ANSWER: 9', '9'],
    ['+20=20+30=19Final Answer:19', '19'],
    // A sentence ends with a point and a blank, a decimal has a digit there
    ['Answer: 3.5', '3.5'],
    ['Answer: 3\u2028and 5', '3'],
    ['Answer: 3\rAnd so on', '3'],
  ])('%j: %j', (response, extracted) => {
    expect(verify(response, '0').extracted).toBe(extracted);
  });

  test.each([
    ['the answer is 42', 'no_answer'],
    ['', 'no_answer'],
    ['Answer:', 'no_answer'],
    ['\\boxed{42', 'no_answer'],
    ['Answer: 42\nWait. Answer: 41', 'several_answers'],
    ['\\boxed{41} or \\boxed{42}', 'several_answers'],
    ['Answer: 41 or 42', 'different'],
    ['Answer: 42 and 41', 'different'],
    [`Answer: ${'4'.repeat(501)}`, 'too_long'],
    [`\\boxed{${'4'.repeat(2000)}`, 'too_long'],
    [`Answer: 42${' '.repeat(2000)}43`, 'too_long'],
  ])('%j: %s', (response, reason) => {
    expect(verify(response, '42')).toMatchObject({ correct: false, reason });
  });

  test('paths are no final answers, and may disagree', () => {
    const block = '<Parallel><Path>\\boxed{3}</Path><Path>\\boxed{5}</Path></Parallel>';
    expect(verify(`${block}<Summary>5</Summary>Answer: 5`, '5').correct).toBe(true);
    expect(verify(block, '5').reason).toBe('no_answer');
    expect(verify('<Parallel><Path>Answer: 5', '5').reason).toBe('no_answer');
  });

  test('a summary counts only where the trunk has no answer', () => {
    const summary = '<Summary>\\boxed{3} or \\boxed{5}?</Summary>';
    expect(verify(`${summary}Answer: 5`, '5').correct).toBe(true);
    expect(verify(summary, '5').reason).toBe('several_answers');
    expect(verify('<Summary>Answer: 5</Summary>', '5').correct).toBe(true);
  });

  test('the gold may be a whole solution; without a value the row says so', () => {
    expect(verify('Answer: 18', 'She has 9 * 2 = <<9*2=18>>18.\n#### 18').correct).toBe(true);
    for (const gold of ['', ' ', 'None', 'null', '#### None'])
      expect(verify('Answer: None', gold)).toEqual({ correct: false, extracted: null, reason: 'no_gold' });
  });
});

describe('the same value', () => {
  test.each([
    ['1/2', '0.5'],
    ['-\\frac{1}{2}', '\\frac{-1}{2}'],
    ['-\\frac{1}{2}', '\\frac{1}{-2}'],
    ['\\frac1{72}', '1/72'],
    ['2\\frac{2}{3}', '8/3'],
    ['2 2/3', '8/3'],
    ['-2 1/2', '-2.5'],
    ['5½', '5.5'],
    ['10,\\!000', '10000'],
    ['1{,}000', '1000'],
    ['1\\,000', '1000'],
    ['-$5', '-5'],
    ['**x = 5**', '5'],
    ['$\\mathbf{7}$.', '7'],
    ['1,234.50', '1234.5'],
    ['0.333333333', '1/3'],
    ['1.5e3', '1500'],
    ['3 \\times 10^{5}', '300000'],
    ['45^\\circ', '45'],
    ['50\\%', '50'],
    ['18 dollars', '18'],
    ['12\\text{ square feet}', '12'],
    ['3\\text{ apples}', '3'],
    ['+7', '7'],
    ['９', '9'],
    ['𝟗', '9'],
    ['٤٢', '42'],
    ['५०', '50'],
    ['\\text{Evelyn}', 'evelyn'],
    ['\\sqrt2', '\\sqrt{2}'],
    ['\\left( 3, \\frac{\\pi}{2} \\right)', '(3,\\frac{\\pi}{2})'],
    ['y=2x+1', '2x + 1'],
  ])('%j = %j', (a, b) => {
    expect(equivalent(a, b)).toBe(true);
    expect(equivalent(b, a)).toBe(true);
  });

  test.each([
    // What a careless normaliser takes for the same
    ['5²', '52'],
    ['101₂', '1012'],
    ['5½', '51/2'],
    ['2 2/3', '22/3'],
    ['2 2', '22'],
    ['1,2', '12'],
    ['4**2', '42'],
    ['5$7', '57'],
    ['4\\%2', '42'],
    ['4\\,2', '42'],
    ['4\\text{}2', '42'],
    ['1,00', '100'],
    ['3 million', '3'],
    ['2 dozen', '2'],
    ['3\\text{ million}', '3'],
    ['5 x', '5'],
    ['5\\pi', '5'],
    ['x=5', 'y=5'],
    ['2+3', '5'],
    ['1/0', '0'],
    ['1.2.3', '1.23'],
    ['1000000', '1000001'],
    ['12345678901234567890', '12345678901234567891'],
    ['0.33', '1/3'],
    ['0.0000001', '0'],
    ['1000000.5', '1000000'],
    ['(1,2)', '(2,1)'],
    ['A', 'a'],
    ['', ''],
    ['$$', '$$'],
  ])('%j ≠ %j', (a, b) => {
    expect(equivalent(a, b)).toBe(false);
    expect(equivalent(b, a)).toBe(false);
  });

  test('fractions against an oracle on integers', () => {
    const int = fc.integer({ min: -99, max: 99 });
    const down = fc.integer({ min: 1, max: 99 });
    fc.assert(
      fc.property(int, down, int, down, (a, b, c, d) => {
        expect(equivalent(`\\frac{${a}}{${b}}`, `${c}/${d}`)).toBe(a * d === c * b);
      }),
    );
  });
});

describe('bounded', () => {
  test.each([
    ['Answer: 5^(5^(5^5))'],
    ['Answer: 1e999'],
    [`Answer: 10^{${'9'.repeat(400)}}`],
    ['####'.repeat(250_000)],
    ['\\boxed{'.repeat(140_000)],
    ['Answer: '.repeat(120_000)],
    ['<Parallel>'.repeat(100_000)],
    ['<Summary>'.repeat(100_000)],
    [`Answer: ${' '.repeat(1_000_000)}`],
    [`final${' '.repeat(1_000_000)}answer`],
    [`Answer: ${'\\frac{'.repeat(80)}`],
    ['Answer: 1\n'.repeat(100_000)],
    [Array.from({ length: 60_000 }, (_, i) => `Answer: ${'0'.repeat(i % 200)}7/1`).join('\n')],
    [Array.from({ length: 30_000 }, (_, i) => `Answer: (a+b)^{20}(c+d)^{${i}}`).join('\n')],
    [`Answer: 5${'\u0301'.repeat(1_000_000)}`],
    [`Answer: ${'\u{1F3F4}\u200D'.repeat(160_000)}`],
    [`Answer: ${'ﷺ'.repeat(490)}`],
    [`Answer: 5${' '.repeat(1_000_000)}6`],
    [`Answer: ${' '.repeat(995)}5 6`],
    [`#### ${'9'.repeat(490)}e999`],
    [`Answer: ${'(('.repeat(120)}5${'))'.repeat(120)}, 6`],
    [`Answer: ${'\\pm'.repeat(160)}`],
    [`Answer: ${'\\begin{pmatrix}'.repeat(32)}`],
    [`Answer: ${'a and '.repeat(80)}`],
    [`Answer: ${'5 cm '.repeat(95)}x`],
  ])('%#: a verdict within two seconds', (response) => {
    const begin = performance.now();
    expect(verify(response, '5').correct).toBe(false);
    expect(performance.now() - begin).toBeLessThan(2000);
  });

  test('any text against any gold, unicode and control characters too: a verdict at once, right only if both hold something', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.string({ unit: 'grapheme', maxLength: 40 }),
      fc.constantFrom(
        '\\frac',
        '\\sqrt{',
        '{',
        '}',
        '^{',
        '(',
        ')',
        ',',
        '\\pm',
        '\\cup',
        '=',
        '9'.repeat(60),
        'x',
        '\\boxed{',
      ),
    );
    const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));
    let slowest = 0;
    fc.assert(
      fc.property(text, text, (response, gold) => {
        const begin = performance.now();
        const { correct, extracted } = verify(`Answer: ${response}`, gold);
        slowest = Math.max(slowest, performance.now() - begin);
        if (correct) expect(`${extracted}`.trim()).not.toBe('');
      }),
      { numRuns: 1000 },
    );
    expect(slowest).toBeLessThan(500);
  });

  test('any text has a verdict, and never is right against an answer it does not contain', () => {
    const piece = fc.constantFrom(
      'Answer:',
      '####',
      '\\boxed{',
      '}',
      '\\frac',
      '{',
      '1',
      '2',
      ',',
      '.',
      ' ',
      '\n',
      '/',
      '-',
      '^',
      '<Path>',
      '<Parallel>',
      '</Parallel>',
      'x=',
      '½',
      '%',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 25 }), (pieces) => {
        expect(verify(pieces.join(''), '7777').correct).toBe(false);
      }),
      { numRuns: 500 },
    );
  });
});
