// @vitest-environment jsdom
import { act } from 'react';
import { createRoot } from 'react-dom/client';
import { expect, test } from 'vitest';
import { chartRows } from './chart-rows.ts';
import { MetricChart } from './metric-chart.tsx';

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

const series = [
  { name: 'reward', color: '#123456', values: [1, 2, Number.NaN, 4] },
  { name: 'held-out', color: '#654321', values: [], points: [[3, 0.5]] as const },
];
const bands = [{ name: 'a', from: 0, to: 3 }];

test('rows hold raw and smoothed values and single points at their places', () => {
  const rows = chartRows(series, bands);
  expect(rows.map(({ x }) => x)).toEqual([0, 1, 2, 3]);
  expect(rows[1]['reward raw']).toBe(2);
  expect(rows[2]['reward raw']).toBeNull();
  expect(rows[3]['held-out']).toBe(0.5);
  // Debiased average of 1 and 2 at weight 0.9: (0.1·0.9·1 + 0.1·2) / (1 − 0.81)
  expect(rows[1].reward).toBeCloseTo((0.09 + 0.2) / 0.19, 12);
});

test('a chart is a function of its data', () => {
  const draw = () => {
    const container = document.createElement('div');
    const root = createRoot(container);
    act(() => root.render(<MetricChart series={series} bands={bands} width={400} height={200} />));
    const paths = [...container.querySelectorAll('path.recharts-line-curve')];
    const lines = paths.map((path) => [path.getAttribute('stroke'), path.getAttribute('d')]);
    const dots = container.querySelectorAll('.recharts-line-dot').length;
    act(() => root.unmount());
    return { lines, dots };
  };
  const drawing = draw();
  // The raw line and the smoothed one; a single point is a dot.
  expect(drawing.lines.filter(([stroke]) => stroke === '#123456')).toHaveLength(2);
  expect(drawing.dots).toBe(1);
  // The raw line has a gap where the value is missing: a second move.
  expect(drawing.lines[0][1]?.match(/M/g)?.length).toBeGreaterThan(1);
  expect(draw()).toEqual(drawing);
});
