import fc from 'fast-check';
import { expect, test } from 'vitest';
import golden from './fixtures/self-bleu.json' with { type: 'json' };
import { bleu, selfBleu, wordsOf } from './self-bleu.ts';

/** The golden values split at blanks; ours are from `../shared/golden/dev/07_metrics` (self-BLEU, float64). */
const split = (text: string) => text.split(/\s+/);

test.each(golden)('golden: $strings', ({ strings, bleu_hyp_row_ref_col, self_bleu }) => {
  const texts = strings.map(split);
  bleu_hyp_row_ref_col.forEach((row, i) => {
    row.forEach((value, j) => {
      expect(bleu(texts[i], texts[j])).toBeCloseTo(value, 12);
    });
  });
  expect(selfBleu(texts)).toBeCloseTo(self_bleu, 12);
});

test('words: runs of letters or digits, and each mark by itself', () => {
  expect(wordsOf('+20=20-11=9')).toEqual(['+', '20', '=', '20', '-', '11', '=', '9']);
  expect(wordsOf('  Größe x2, ok!\n')).toEqual(['Größe', 'x', '2', ',', 'ok', '!']);
  expect(wordsOf(' \n')).toEqual([]);
});

test('identical texts are 1, empty ones too; an empty one against words is 0', () => {
  expect(selfBleu([['a'], ['a'], ['a']])).toBe(1);
  expect(selfBleu([[], []])).toBe(1);
  expect(selfBleu([[], ['a']])).toBe(0);
  expect(selfBleu([['a'], []])).toBe(0);
  expect(selfBleu([])).toBe(1);
});

test('always within 0 and 1, and 1 for a text against itself', () => {
  const words = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 8 });
  fc.assert(
    fc.property(fc.array(words, { minLength: 2, maxLength: 5 }), (texts) => {
      const value = selfBleu(texts);
      expect(value).toBeGreaterThanOrEqual(0);
      expect(value).toBeLessThanOrEqual(1 + 1e-12);
      expect(bleu(texts[0], texts[0])).toBeCloseTo(1, 12);
    }),
  );
});
