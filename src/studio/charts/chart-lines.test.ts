import { expect, test } from 'vitest';
import { chartLines, extentOf, placeOf, type Series, valueAt } from './chart-lines.ts';

const line = (name: string, values: ArrayLike<number>): Series => ({ name, color: 'x', values });
const settings = { smoothing: 0.9, bands: [], range: null, most: 400 };

test('raw values, their debiased average and single points stand at their rows', () => {
  const held: Series = { name: 'held', color: 'x', values: [], points: [{ row: 3, value: 0.5 }] };
  const drawing = chartLines([line('a', [1, 2, Number.NaN, 4]), held], settings)!;
  expect([drawing.from, drawing.to]).toEqual([0, 3]);
  const [a, points] = drawing.lines;
  expect(a.raw).toEqual({ rows: [0, 1, 2, 3], values: [1, 2, Number.NaN, 4] });
  // (0.1·0.9·1 + 0.1·2) / (1 − 0.81)
  expect(a.trend!.values[1]).toBeCloseTo((0.09 + 0.2) / 0.19, 12);
  expect(a.trend!.values[2]).toBeNaN();
  expect(points.points).toEqual([{ row: 3, value: 0.5 }]);
});

test('a chart begins where its metrics do, and there is none without', () => {
  const values = new Float64Array(3000).fill(Number.NaN);
  values.fill(1, 2000, 2100);
  values.fill(2, 2600, 3000);
  const drawing = chartLines([line('reward', values)], settings)!;
  expect(drawing.from).toBe(2000);
  const { rows, values: kept } = drawing.lines[0].trend!;
  // The gap between the stages is still one.
  const inside = rows.flatMap((row, i) => (row >= 2110 && row < 2590 ? [kept[i]] : []));
  expect(inside.length).toBeGreaterThan(0);
  expect(inside.every(Number.isNaN)).toBe(true);
  expect(chartLines([line('none', new Float64Array(9).fill(Number.NaN))], settings)).toBeNull();
});

test('smoothing looks at the full data, whatever stretch is shown', () => {
  const values = Float64Array.from({ length: 100 }, (_, i) => i % 7);
  const whole = chartLines([line('a', values)], settings)!.lines[0].trend!;
  const part = chartLines([line('a', values)], { ...settings, range: [50, 59] })!;
  expect([part.from, part.to]).toEqual([50, 59]);
  expect(part.lines[0].trend!.values).toEqual(whole.values.slice(50, 60));
});

test('the average begins anew with each stage', () => {
  const bands = [
    { name: 'sft', from: 0, to: 49 },
    { name: 'rl', from: 50, to: 99 },
  ];
  const values = Float64Array.from({ length: 100 }, (_, i) => (i < 50 ? 5 : 1));
  const { trend } = chartLines([line('a', values)], { ...settings, bands })!.lines[0];
  expect(trend!.values[50]).toBeCloseTo(1, 12);
});

test('an extent covers lines, intervals and points; a log axis leaves out what it cannot show', () => {
  const series: Series[] = [
    { ...line('a', [-1, 2]), interval: { low: [-3, 1], high: [0, 4] } },
    { name: 'p', color: 'x', values: [], points: [{ row: 1, value: 5, low: 4, high: 6 }] },
  ];
  const { lines } = chartLines(series, settings)!;
  expect(extentOf(lines, false)).toEqual([-3, 6]);
  expect(extentOf(lines, true)).toEqual([1, 6]);
  expect(extentOf([], false)).toBeNull();
});

test('rows are told by their stage, values by their row', () => {
  const bands = [
    { name: 'sft', from: 0, to: 9 },
    { name: 'rl', from: 10, to: 12 },
  ];
  expect([placeOf(0, bands), placeOf(11, bands), placeOf(40, bands)]).toEqual([
    'sft, step 1',
    'rl, step 2',
    'step 41',
  ]);
  const held: Series = { name: 'h', color: 'x', values: [], points: [{ row: 2, value: 0.5 }] };
  expect([valueAt(held, 1), valueAt(held, 2), valueAt(held, 9)]).toEqual([Number.NaN, 0.5, 0.5]);
  expect(valueAt(line('a', [1, 2]), 5)).toBeNaN();
});

test('50,000 points of three lines are worked out well within a frame', () => {
  const series = [1, 2, 3].map((k) =>
    line(
      `s${k}`,
      Float64Array.from({ length: 50_000 }, (_, i) => Math.sin(i / (10 * k))),
    ),
  );
  chartLines(series, settings);
  const times = Array.from({ length: 9 }, () => {
    const started = performance.now();
    const drawing = chartLines(series, settings)!;
    expect(drawing.lines[0].raw!.rows.length).toBeLessThanOrEqual(400);
    return performance.now() - started;
  });
  // The median: these machines have moments of their own.
  expect(times.toSorted((a, b) => a - b)[4]).toBeLessThan(25);
});
