import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Example } from './example.ts';
import { type Batch, packPadded, packRagged, splitByTokens } from './packing.ts';

function example(tokens: number[], targets: number[], branches = tokens.map(() => 0), gap = 0): Example {
  return {
    tokens: Int32Array.from(tokens),
    positions: Int32Array.from(tokens, (_, t) => t + gap),
    branches: Int32Array.from(branches),
    targets: Uint8Array.from(targets),
    promptLength: 1,
  };
}
const ofLength = (length: number) => example(Array(length).fill(7), Array(length).fill(1));
const a = example([5, 6, 7], [0, 1, 1]);
const b = example([8, 9, 10, 11, 12], [0, 0, 1, 0, 1], [0, 17, 17, 18, 0], 3);

/** The law of visibility, written out. */
function sees(batch: Batch, row: number, i: number, j: number): boolean {
  const [p, q] = [batch.branches[row * batch.T + i], batch.branches[row * batch.T + j]];
  if (j > i || p >> 16 !== q >> 16) return false;
  const [m, n] = [p & 0xffff, q & 0xffff];
  return !(m > 0 && n > 0 && m >> 4 === n >> 4 && m !== n);
}

describe('packRagged', () => {
  test('one row without padding, targets one slot before their token', () => {
    const batch = packRagged([a, b]);
    expect([batch.B, batch.T]).toEqual([1, 8]);
    expect([...batch.tokens]).toEqual([5, 6, 7, 8, 9, 10, 11, 12]);
    expect([...batch.positions]).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    // The last slot of an example never predicts the first token of the next one.
    expect([...batch.targets]).toEqual([6, 7, -1, -1, 10, -1, 12, -1]);
    expect([...batch.rows]).toEqual([0, 0, 0, 1, 1, 1, 1, 1]);
    expect([...batch.slots]).toEqual([0, 1, 2, 0, 1, 2, 3, 4]);
    expect([...batch.branches]).toEqual([0, 0, 0, 65536, 65553, 65553, 65554, 65536]);
  });

  test('an example sees itself only', () => {
    const batch = packRagged([a, b]);
    const visible = Array.from({ length: 8 }, (_, i) =>
      Array.from({ length: 8 }, (_, j) => Number(sees(batch, 0, i, j))).join(''),
    );
    expect(visible).toEqual([
      '10000000',
      '11000000',
      '11100000',
      '00010000',
      '00011000',
      '00011100',
      '00010010',
      '00011111',
    ]);
  });
});

test('packPadded: one example a row, padding is seen by none and predicts nothing', () => {
  const batch = packPadded([a, b], 4);
  expect([batch.B, batch.T]).toEqual([2, 8]);
  expect([...batch.tokens]).toEqual([5, 6, 7, 0, 0, 0, 0, 0, 8, 9, 10, 11, 12, 0, 0, 0]);
  expect([...batch.targets]).toEqual([6, 7, -1, -1, -1, -1, -1, -1, -1, 10, -1, 12, -1, -1, -1, -1]);
  expect([...batch.rows]).toEqual([0, 0, 0, -1, -1, -1, -1, -1, 1, 1, 1, 1, 1, -1, -1, -1]);
  expect([...batch.branches.slice(3, 8)]).toEqual(Array(5).fill(0x7fff0000));
  for (let i = 0; i < 8; i++)
    for (let j = 0; j <= i; j++) if (i >= 3 !== j >= 3) expect(sees(batch, 0, i, j), `${i} ${j}`).toBe(false);
  expect(packPadded([a]).T).toBe(3);
});

test('both packings hold the same examples', () => {
  const tokens = (batch: Batch, e: number) => [...batch.tokens].filter((_, n) => batch.rows[n] === e);
  for (const e of [0, 1]) expect(tokens(packRagged([a, b]), e)).toEqual(tokens(packPadded([a, b], 32), e));
});

describe('splitByTokens', () => {
  test('micro-batches within the budget, every example once, shortest first', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 40 }),
        fc.integer({ min: 1, max: 200 }),
        fc.constantFrom(1, 8, 32),
        (lengths, budget, multiple) => {
          const examples = lengths.map(ofLength);
          const parts = splitByTokens(examples, budget, multiple);
          for (const part of parts) {
            const { B, T } = packPadded(part, multiple);
            expect(part.length === 1 || B * T <= budget).toBe(true);
          }
          expect(new Set(parts.flat())).toEqual(new Set(examples));
          expect(parts.flat().map((e) => e.tokens.length)).toEqual([...lengths].sort((x, y) => x - y));
        },
      ),
      { numRuns: 60 },
    );
  });

  test('fills a micro-batch before it opens the next', () => {
    expect(splitByTokens([3, 3, 3, 3, 3].map(ofLength), 6).map((part) => part.length)).toEqual([2, 2, 1]);
    expect(splitByTokens([], 6)).toEqual([]);
  });
});
