import { describe, test } from 'vitest';
import { Rng } from '../../../../base/rng.ts';
import { expectOpMatches, normals, type OpCase, requireWebGpu } from '../../testing.ts';
import { linearTests } from './linear.checks.ts';
import { linearInputGradOp, linearOp, linearWeightGradOp } from './linear.ts';

const tolerance = {
  atol: 2e-4,
  rtol: 2e-5,
  why: 'float32 sums of up to 2,100 products of size 1, in another order',
};

function big(...shapes: number[][]): OpCase<object> {
  return {
    name: 'long sums',
    inputs: shapes.map((shape, i) => normals(new Rng(21, i), shape)),
    attributes: {},
  };
}

describe.skipIf(!(await requireWebGpu()))('linear on WebGPU', () => {
  linearTests();

  // Long sums over few tiles are shared by several workgroups.
  test('forward, k shared', () => expectOpMatches(linearOp, big([3, 2100], [40, 2100], [40]), tolerance));
  test('gradient of the input, k shared', () =>
    expectOpMatches(linearInputGradOp, big([9, 1030], [1030, 21]), tolerance));
  test('gradient of the weight, k shared', () =>
    expectOpMatches(linearWeightGradOp, big([2100, 10], [2100, 33]), tolerance));
});
