import fc from 'fast-check';
import { expect, test } from 'vitest';
import { axisOf, logAxisOf, stepTicks, tickLabel } from './axis.ts';

test('ticks are round, few, and cover the values', () => {
  expect(axisOf(0, 1).ticks).toEqual([0, 0.25, 0.5, 0.75, 1]);
  expect(axisOf(0.21, 0.74).ticks).toEqual([0.2, 0.4, 0.6, 0.8]);
  expect(axisOf(-1, 1).ticks).toEqual([-1, -0.5, 0, 0.5, 1]);
  expect(axisOf(0, 0.3).ticks).toEqual([0, 0.1, 0.2, 0.3]);
  // A loss that ends a little below zero
  expect(axisOf(-0.004, 3.9)).toEqual({ domain: [-0.004, 4], ticks: [0, 1, 2, 3, 4] });
  const value = fc.double({ min: -1e6, max: 1e6, noNaN: true });
  fc.assert(
    fc.property(value, fc.double({ min: 1e-3, max: 1e6, noNaN: true }), (low, range) => {
      const { domain, ticks } = axisOf(low, low + range);
      expect(domain[0]).toBeLessThanOrEqual(low);
      expect(domain[1]).toBeGreaterThanOrEqual(low + range);
      expect(ticks.length).toBeGreaterThanOrEqual(2);
      expect(ticks.length).toBeLessThanOrEqual(6);
    }),
  );
});

test('a constant has room above and below', () => {
  expect(axisOf(-1, -1).domain[0]).toBeLessThan(-1);
  expect(axisOf(-1, -1).domain[1]).toBeGreaterThan(-1);
  expect(axisOf(0, 0).domain).toEqual([-0.5, 0.5]);
});

test('steps are counted from 1', () => {
  expect(stepTicks(0, 2470)).toEqual([499, 999, 1499, 1999]);
  expect(stepTicks(2380, 2470)).toEqual([2399, 2419, 2439, 2459]);
  expect(stepTicks(0, 2)).toEqual([0, 1, 2]);
  expect(stepTicks(5, 5)).toEqual([5]);
});

test('values that differ by rounding alone are a constant, and no tick comes twice', () => {
  // A smoothed first step is its raw value but for the last bit; equal ticks are equal keys for React.
  const value = 3.8650110000000004;
  expect(axisOf(3.865011, value)).toEqual(axisOf(value, value));
  for (let i = 0; i < 2000; i++) {
    const low = 0.0005 + i * 0.00237;
    const { ticks } = axisOf(low * 0.9, (low * 0.9 * 0.1) / 0.1);
    expect(new Set(ticks).size).toBe(ticks.length);
    expect(ticks.length).toBeGreaterThan(1);
  }
});

test('ticks that lie close together still read differently', () => {
  const axis = axisOf(3.865, 3.8665);
  const labels = axis.ticks.map((tick) => tickLabel(tick, axis));
  expect(new Set(labels).size).toBe(labels.length);
  expect(labels[0]).toBe('3.865');
  expect([0, 0.25, 0.5].map((tick) => tickLabel(tick, axisOf(0, 1)))).toEqual(['0', '0.25', '0.5']);
  expect(axisOf(0, 60000).ticks.map((tick) => tickLabel(tick, axisOf(0, 60000)))[1]).toBe('20k');
});

test('a log axis has whole powers, and more ticks within a single one', () => {
  expect(logAxisOf(0.002, 0.7)).toEqual({ domain: [-3, 0], ticks: [-3, -2, -1, 0] });
  expect(logAxisOf(1e-9, 1).ticks).toEqual([-9, -6, -3, 0]);
  const { domain, ticks } = logAxisOf(2, 7);
  expect(domain).toEqual([0, 1]);
  expect(ticks.map((tick) => Number((10 ** tick).toPrecision(9)))).toEqual([1, 2, 5, 10]);
  expect(logAxisOf(10, 10).domain).toEqual([1, 2]);
});
