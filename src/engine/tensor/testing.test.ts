import { expect, test } from 'vitest';
import { expectClose } from './testing.ts';

const tolerance = { atol: 0.01, rtol: 0.1, why: 'a reason' };

test('values within the tolerance pass, infinities too', () => {
  expectClose([1, 0.005, Number.POSITIVE_INFINITY], [1.09, 0, Number.POSITIVE_INFINITY], tolerance);
});

test('the worst element, the tolerance and its reason are named', () => {
  expect(() => expectClose([1, 2, 5], [1, 2.5, 3], tolerance, 'output 1')).toThrow(
    /output 1: 2 of 3 elements differ; the worst is \[2\]: 5 instead of 3 .*a reason/,
  );
});

test('NaN, a missing infinity and a wrong length fail', () => {
  expect(() => expectClose([Number.NaN], [0], tolerance)).toThrow(/NaN instead of 0/);
  expect(() => expectClose([0], [Number.NaN], tolerance)).toThrow(/0 instead of NaN/);
  expect(() => expectClose([1e30], [Number.POSITIVE_INFINITY], tolerance)).toThrow();
  expect(() => expectClose([1], [1, 1], tolerance)).toThrow(/1 elements, expected 2/);
});
