import { expect, test } from 'vitest';
import { tableRows } from './chart-table.tsx';

test('a table lists steps with their place, newest first, and held-out scores in their own column', () => {
  const rows = tableRows(
    [
      { name: 'training', color: '', values: [Number.NaN, Number.NaN, 0.5, 0.75] },
      {
        name: 'held-out',
        color: '',
        values: [],
        points: [
          { row: 0, value: 0.1 },
          { row: 3, value: 0.9 },
        ],
      },
    ],
    [
      { name: 'sft', from: 0, to: 1 },
      { name: 'rl', from: 2, to: 3 },
    ],
  );
  expect(rows).toEqual([
    { row: 3, place: 'rl, step 2', values: [0.75, 0.9] },
    { row: 2, place: 'rl, step 1', values: [0.5, Number.NaN] },
    { row: 0, place: 'sft, step 1', values: [Number.NaN, 0.1] },
  ]);
});
