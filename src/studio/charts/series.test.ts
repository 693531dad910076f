import { expect, test } from 'vitest';
import { smooth, thin } from './series.ts';

test('smoothing has no bias at the start, keeps gaps, and begins anew where it is told to', () => {
  expect(Array.from(smooth([3, 3, 3], 0.9))).toEqual([3, 3, 3].map((x) => expect.closeTo(x, 12)));
  const [a, gap, b] = smooth([1, Number.NaN, 2], 0.5);
  expect([a, gap]).toEqual([1, Number.NaN]);
  // (0.5·1 + 1·2)·0.5 / (1 − 0.5²) = 5/3
  expect(b).toBeCloseTo(5 / 3, 12);
  expect(smooth([1, 1, 9], 0.9, [2])[2]).toBeCloseTo(9, 12);
  expect(smooth([1, 1, 9], 0.9)[2]).toBeLessThan(5);
});

test('thinning keeps the lowest and highest of each bucket, in order, and the gaps', () => {
  const values = Float64Array.from({ length: 10_000 }, (_, i) => Math.sin(i / 50));
  values[4321] = 7;
  values[8000] = -7;
  const points = thin(values, 400);
  expect(points.length).toBeLessThanOrEqual(400);
  expect(points.find(({ x }) => x === 4321)?.y).toBe(7);
  expect(points.find(({ x }) => x === 8000)?.y).toBe(-7);
  expect(points.map(({ x }) => x)).toEqual(points.map(({ x }) => x).sort((a, b) => a - b));
  expect(thin([1, Number.NaN, 2], 400)).toEqual([
    { x: 0, y: 1 },
    { x: 1, y: null },
    { x: 2, y: 2 },
  ]);
  expect(thin(new Float64Array(1000).fill(Number.NaN), 10).every(({ y }) => y === null)).toBe(true);
});
