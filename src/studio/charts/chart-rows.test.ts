import { expect, test } from 'vitest';
import { chartRows, extentOf, placeOf, type Series } from './chart-rows.ts';

const line = (name: string, values: ArrayLike<number>): Series => ({ name, color: 'x', values });
const wave = (period: number) => Float64Array.from({ length: 5000 }, (_, i) => Math.sin(i / period));

test('a long run has few rows, and thinning leaves no gap that the data has not', () => {
  const rows = chartRows([line('a', wave(70)), line('b', wave(11))], [{ name: 's', from: 0, to: 4999 }]);
  expect(rows.length).toBeLessThanOrEqual(400);
  for (const row of rows)
    for (const key of ['a', 'a raw', 'b', 'b raw']) expect(row[key], `${key} at ${row.x}`).not.toBeNull();
});

test('a chart begins where its metrics do, and keeps the gaps after that', () => {
  const values = new Float64Array(3000).fill(Number.NaN);
  values.fill(1, 2000, 2100);
  values.fill(2, 2600, 3000);
  const rows = chartRows([line('reward', values)], []);
  expect(rows[0].x).toBe(2000);
  expect(rows.filter(({ x }) => x >= 2200 && x < 2550).every((row) => row.reward === null)).toBe(true);
  expect(rows.some(({ x }) => x >= 2200 && x < 2550)).toBe(true);
  expect(chartRows([line('none', new Float64Array(9).fill(Number.NaN))], [])).toEqual([]);
});

test('single points stand on rows of their own, with the lines drawn through', () => {
  const held: Series = { name: 'held', color: 'x', values: [], points: [[2, 0.5]] };
  const rows = chartRows([line('a', [1, 1, 1, 1]), held], []);
  expect(rows[2]).toEqual({ x: 2, 'a raw': 1, a: expect.closeTo(1, 12), held: 0.5 });
  expect(rows[1].held).toBeUndefined();
});

test('rows are told by their stage; gaps do not count in their extent', () => {
  const bands = [
    { name: 'sft', from: 0, to: 9 },
    { name: 'rl', from: 10, to: 12 },
  ];
  expect([placeOf(0, bands), placeOf(11, bands), placeOf(40, bands)]).toEqual([
    'sft, step 1',
    'rl, step 2',
    'step 41',
  ]);
  const rows = [
    { x: 0, a: -1, b: 0 },
    { x: 9, a: 2, b: null },
  ];
  expect(extentOf(rows)).toEqual([-1, 2]);
  expect(extentOf([])).toBeNull();
});
