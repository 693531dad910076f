import fc from 'fast-check';
import { expect, test } from 'vitest';
import { areaOf, MARGIN, pathOf, plotOf, stableEnd } from './plot.ts';

const size = { width: 100 + MARGIN.left + MARGIN.right, height: 100 + MARGIN.top + MARGIN.bottom };
const base = { ...size, xs: null, from: 0, to: 10, yDomain: [0, 1] as const, log: false, tight: true };

test('corners stand at the corners', () => {
  const { x, y } = plotOf(base);
  expect([x(0), x(10)]).toEqual([MARGIN.left, MARGIN.left + 100]);
  expect([y(1), y(0)]).toEqual([MARGIN.top, MARGIN.top + 100]);
});

test('a log axis is even in factors, and has no place for zero', () => {
  const { y } = plotOf({ ...base, yDomain: [-2, 0], log: true });
  expect(y(0.1)).toBeCloseTo(MARGIN.top + 50, 9);
  expect(Number.isFinite(y(0))).toBe(false);
  expect(y(-1)).toBeNaN();
});

test('the row nearest to a pixel is the nearest, on any rising axis', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 2, maxLength: 60 }),
      fc.integer({ min: 0, max: 100 }),
      (steps, at) => {
        let sum = 0;
        const xs = steps.map((step) => (sum += step));
        const plot = plotOf({ ...base, xs, to: xs.length - 1 });
        const pixel = MARGIN.left + at;
        const distances = xs.map((_, row) => Math.abs(plot.x(row) - pixel));
        expect(distances[plot.rowAt(pixel)]).toBeCloseTo(Math.min(...distances), 6);
      },
    ),
  );
});

test('a growing line leaves the axis alone for a while, and never sticks out', () => {
  const ends = new Set<number>();
  for (let to = 1; to <= 1000; to++) {
    const end = stableEnd(0, to);
    expect(end).toBeGreaterThanOrEqual(to - 1e-6);
    expect(end).toBeLessThanOrEqual(1.1 * to + 1);
    ends.add(end);
  }
  expect(ends.size).toBeLessThan(300);
});

test('lines have gaps, a lone value is a dot, an area ends at a gap', () => {
  const plot = plotOf(base);
  const path = pathOf({ rows: [0, 1, 2, 3], values: [0, Number.NaN, 1, 1] }, plot);
  expect(path.match(/M/g)).toHaveLength(2);
  expect(path.startsWith('M44.0 108.0L44.0 108.0')).toBe(true);
  const rows = [0, 1, 2, 3, 4];
  const area = areaOf({ rows, values: [0, 0, Number.NaN, 0, 0] }, { rows, values: [1, 1, 1, 1, 1] }, plot);
  expect(area.match(/Z/g)).toHaveLength(2);
});
