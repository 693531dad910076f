// @vitest-environment jsdom
import { act } from 'react';
import { createRoot } from 'react-dom/client';
import { beforeAll, expect, test, vi } from 'vitest';
import { useChartView } from '../store/chart-view.ts';
import { MetricChart, type MetricChartProps } from './metric-chart.tsx';
import { MARGIN } from './plot.ts';

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

beforeAll(() => {
  vi.stubGlobal('CSS', { escape: (text: string) => text });
  SVGElement.prototype.setPointerCapture = () => {};
});

const width = 400 + MARGIN.left + MARGIN.right;
const props: MetricChartProps = {
  title: 'Reward',
  width,
  height: 200,
  bands: [{ name: 'a', from: 0, to: 4 }],
  series: [
    { name: 'reward', color: '#123456', values: [1, 2, Number.NaN, 4, 5] },
    {
      name: 'held-out',
      color: '#654321',
      values: [],
      points: [{ row: 3, value: 0.5, low: 0.4, high: 0.6 }],
    },
  ],
};

function draw(change: Partial<MetricChartProps> = {}) {
  const container = document.createElement('div');
  document.body.append(container);
  const root = createRoot(container);
  const render = (more: Partial<MetricChartProps>) =>
    act(() => root.render(<MetricChart {...props} {...more} />));
  render(change);
  const lines = container.querySelector('.chart-lines')!;
  const pointer = (type: string, x: number) =>
    act(() => {
      lines.dispatchEvent(
        new MouseEvent(type, { bubbles: true, clientX: MARGIN.left + x, clientY: 50, button: 0 }),
      );
    });
  const key = (name: string) =>
    act(() => {
      lines.dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true }));
    });
  return { container, render, pointer, key, end: () => act(() => root.unmount()) };
}

test('a chart is a function of its data: raw line, trend, point with its interval', () => {
  const once = draw();
  const shape = (container: HTMLElement) =>
    ['.chart-raw', '.chart-line', '.chart-point', '.chart-interval'].map((selector) =>
      [...container.querySelectorAll(selector)].map((one) => one.getAttribute('d') ?? one.getAttribute('cy')),
    );
  const [raw, line, points, intervals] = shape(once.container);
  expect([raw.length, line.length, points.length, intervals.length]).toEqual([1, 1, 1, 1]);
  // The gap at the third step is a second move.
  expect(raw[0]?.match(/M/g)).toHaveLength(2);
  const twice = draw();
  expect(shape(twice.container)).toEqual([raw, line, points, intervals]);
  once.end();
  twice.end();
});

test('the frame stays as it is while a line grows within it', () => {
  const values = Array.from({ length: 130 }, (_, i) => Math.sin(i / 9));
  const series = (length: number) => [{ name: 'loss', color: 'red', values: values.slice(0, length) }];
  const chart = draw({ series: series(122), domain: [-1, 1], bands: [] });
  const frame = chart.container.querySelector('.recharts-surface')!.innerHTML;
  const before = chart.container.querySelector('.chart-line')!.getAttribute('d');
  chart.render({ series: series(129), domain: [-1, 1], bands: [] });
  expect(chart.container.querySelector('.chart-line')!.getAttribute('d')).not.toBe(before);
  expect(chart.container.querySelector('.recharts-surface')!.innerHTML).toBe(frame);
  chart.end();
});

test('the pointer moves the crosshair of all charts; a drag looks at a stretch, a double click at all', () => {
  const chart = draw({ range: [0, 4] });
  const other = draw({ range: [0, 4] });
  chart.pointer('pointermove', 200);
  expect(useChartView.getState().cursor).toBe(2);
  expect(other.container.querySelector('.chart-place')?.textContent).toBe('a, step 3');
  chart.pointer('pointerdown', 100);
  chart.pointer('pointermove', 300);
  expect(chart.container.querySelector('.chart-brush')?.getAttribute('width')).toBe('200');
  chart.pointer('pointerup', 300);
  expect(useChartView.getState().range).toEqual([1, 3]);
  chart.pointer('dblclick', 300);
  expect(useChartView.getState().range).toBeNull();
  chart.end();
  other.end();
});

test('keys move the crosshair and let it go', () => {
  const chart = draw();
  chart.key('Home');
  expect(useChartView.getState().cursor).toBe(0);
  chart.key('ArrowRight');
  expect(useChartView.getState().cursor).toBe(1);
  chart.key('Escape');
  expect(useChartView.getState().cursor).toBeNull();
  chart.end();
});

test('what happened is told at its place', () => {
  const marks = [{ row: 3, text: 'learning rate 1e-4 → 5e-5', kind: 'edit' as const }];
  const chart = draw({ range: [0, 4], marks });
  chart.pointer('pointermove', 300);
  expect(chart.container.querySelector('.chart-place')?.textContent).toBe('learning rate 1e-4 → 5e-5');
  expect(chart.container.querySelectorAll('.recharts-reference-line')).toHaveLength(1);
  chart.end();
});

test('tokens and time are axes of their own, and a log axis has powers', () => {
  const ticks = (container: HTMLElement, axis: string) =>
    [...container.querySelectorAll(`.recharts-${axis}-tick-labels .recharts-cartesian-axis-tick-value`)].map(
      (one) => one.textContent,
    );
  const tokens = draw({ axis: 'tokens', xs: [0, 1e5, 2e5, 3e5, 4e5], range: [0, 4] });
  expect(ticks(tokens.container, 'xAxis')).toEqual(['0', '100k', '200k', '300k', '400k']);
  const log = draw({
    log: true,
    series: [{ name: 'kl', color: 'red', values: [0.001, 0.1, 0, 0.5] }],
    smoothing: 0,
  });
  expect(ticks(log.container, 'yAxis')).toEqual(['0.001', '0.01', '0.1', '1']);
  tokens.end();
  log.end();
});
