import { expect, test } from 'vitest';
import { METRICS, type MetricName, metricHelp } from './metrics.ts';

test('every metric is explained in a sentence', () => {
  for (const [name, { label, help }] of Object.entries(METRICS)) {
    expect(label.length, name).toBeGreaterThan(0);
    expect(help, name).toMatch(/^[\S\s]{15,}\.$/);
  }
  const labels = Object.values(METRICS).map(({ label }) => label);
  expect(labels.filter((label, i) => labels.indexOf(label) !== i)).toEqual([]);
});

test('a metric without an entry does not compile', () => {
  // @ts-expect-error no such metric
  const unknown: MetricName = 'no/such_metric';
  expect(metricHelp(unknown)).toBeNull();
  expect(metricHelp('toString')).toBeNull();
  expect(metricHelp('parallel/ratio')?.label).toBe('Parallel ratio');
});
