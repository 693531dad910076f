import fc from 'fast-check';
import { expect, test } from 'vitest';
import { packPadded } from '../data/packing.ts';
import { bucketOf, padTo } from './buckets.ts';

test('a bucket holds the batch, and at most a third of its rows is padding', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 500 }), fc.integer({ min: 1, max: 700 }), (B, T) => {
      const bucket = bucketOf({ B, T });
      expect(bucket.B).toBeGreaterThanOrEqual(B);
      expect(bucket.B).toBeLessThanOrEqual(1.5 * B);
      expect(bucket.T).toBeGreaterThanOrEqual(T);
      expect(bucket.T - T).toBeLessThan(32);
      expect(bucketOf(bucket)).toEqual(bucket);
    }),
  );
});

test('padding counts for nothing and sees nothing', () => {
  const example = (tokens: number[]) => ({
    tokens: Int32Array.from(tokens),
    positions: Int32Array.from(tokens, (_, t) => t),
    branches: new Int32Array(tokens.length),
    targets: new Uint8Array(tokens.length).fill(1),
    promptLength: 1,
  });
  const batch = packPadded([example([5, 6, 7]), example([8, 9])]);
  const padded = padTo(batch, 3, 4);
  expect([...padded.tokens]).toEqual([5, 6, 7, 0, 8, 9, 0, 0, 0, 0, 0, 0]);
  expect([...padded.targets]).toEqual([6, 7, -1, -1, 9, -1, -1, -1, -1, -1, -1, -1]);
  expect([...padded.branches].map((code) => code >> 16 === 0x7fff)).toEqual(
    [0, 0, 0, 1, 0, 0, 1, 1, 1, 1, 1, 1].map(Boolean),
  );
});
