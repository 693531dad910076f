import { expect, test } from 'vitest';
import { stageBehaviour } from './stage-behaviour.ts';

test('first and last fifth of the steps, and all of them', () => {
  const steps = Array.from({ length: 10 }, (_, i) => ({
    'parallel/relative_position': i / 10,
    'tokens/saved': 0.25,
    loss: i,
  }));
  const shift = stageBehaviour(steps);
  expect(Object.keys(shift).sort()).toEqual(['parallel/relative_position', 'tokens/saved']);
  const { first, last, mean } = shift['parallel/relative_position']!;
  expect(first).toBeCloseTo((0 + 0.1) / 2, 12);
  expect(last).toBeCloseTo((0.8 + 0.9) / 2, 12);
  expect(mean).toBeCloseTo(0.45, 12);
  expect(shift['tokens/saved']).toEqual({ first: 0.25, last: 0.25, mean: 0.25 });
});

test('steps without a fork have no position and do not count; a long stage has ten steps at each end', () => {
  const some = stageBehaviour([{ 'parallel/ratio': 0 }, { 'parallel/ratio': 1, 'parallel/late_share': 0.5 }]);
  expect(some['parallel/late_share']).toEqual({ first: 0.5, last: 0.5, mean: 0.5 });
  expect(some['parallel/ratio']).toEqual({ first: 0, last: 1, mean: 0.5 });
  const long = stageBehaviour(Array.from({ length: 200 }, (_, i) => ({ 'parallel/blocks': i })));
  expect(long['parallel/blocks']).toEqual({ first: 4.5, last: 194.5, mean: 99.5 });
  expect(stageBehaviour([])).toEqual({});
});
