import { expect, test } from 'vitest';
import type { Series } from './chart-lines.ts';
import { toCsv, toJsonl } from './export-chart.ts';

const series: Series[] = [
  { name: 'say "a", b', color: '', values: [Number.NaN, 0.5, Number.NaN, 0.25] },
  { name: 'held', color: '', values: [], points: [{ row: 3, value: 0.9, low: 0.8, high: 1 }] },
];
const bands = [
  { name: 'sft', from: 0, to: 2 },
  { name: 'rl', from: 3, to: 3 },
];

test('CSV has every known row, gaps empty, quotes doubled', () => {
  expect(toCsv(series, bands)).toBe(
    'row,step,"say ""a"", b",held,held low,held high\r\n2,"sft, step 2",0.5,,,\r\n4,"rl, step 1",0.25,0.9,0.8,1\r\n',
  );
});

test('JSON lines have the same rows, gaps null', () => {
  const rows = toJsonl(series, bands)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(rows).toEqual([
    { row: 2, step: 'sft, step 2', 'say "a", b': 0.5, held: null, 'held low': null, 'held high': null },
    { row: 4, step: 'rl, step 1', 'say "a", b': 0.25, held: 0.9, 'held low': 0.8, 'held high': 1 },
  ]);
});

test('a chart without data is a header', () => {
  expect(toCsv([{ name: 'a', color: '', values: [] }], [])).toBe('row,step,a\r\n');
});
