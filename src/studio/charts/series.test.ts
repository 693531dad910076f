import { expect, test } from 'vitest';
import { smooth, thin } from './series.ts';

test('smoothing has no bias at the start, keeps gaps, and begins anew where it is told to', () => {
  expect(Array.from(smooth([3, 3, 3], 0.9))).toEqual([3, 3, 3].map((x) => expect.closeTo(x, 12)));
  const [a, gap, b] = smooth([1, Number.NaN, 2], 0.5);
  expect([a, gap]).toEqual([1, Number.NaN]);
  // (0.5·1 + 1·2)·0.5 / (1 − 0.5²) = 5/3
  expect(b).toBeCloseTo(5 / 3, 12);
  expect(smooth([1, 1, 9], 0.9, [2])[2]).toBeCloseTo(9, 12);
  expect(smooth([1, 1, 9, 1], 0.9, [3, 0])[3]).toBeCloseTo(1, 12);
  expect(smooth([1, 1, 9], 0.9)[2]).toBeLessThan(5);
});

test('thinning keeps the lowest and highest of each bucket, in order, and the gaps', () => {
  const values = Float64Array.from({ length: 10_000 }, (_, i) => Math.sin(i / 50));
  values[4321] = 7;
  values[8000] = -7;
  const { rows, values: kept } = thin(values, 400);
  expect(rows.length).toBeLessThanOrEqual(400);
  expect(kept[rows.indexOf(4321)]).toBe(7);
  expect(kept[rows.indexOf(8000)]).toBe(-7);
  expect(rows).toEqual(rows.toSorted((a, b) => a - b));
  expect(thin([1, Number.NaN, 2], 400)).toEqual({ rows: [0, 1, 2], values: [1, Number.NaN, 2] });
  expect(thin(new Float64Array(1000).fill(Number.NaN), 10).values.every(Number.isNaN)).toBe(true);
});

test('thinning a stretch stays within it', () => {
  const values = Float64Array.from({ length: 1000 }, (_, i) => i);
  expect(thin(values, 10, 200, 204).rows).toEqual([200, 201, 202, 203, 204]);
  const { rows } = thin(values, 10, 100, 899);
  expect([rows[0], rows[rows.length - 1]]).toEqual([100, 899]);
});
