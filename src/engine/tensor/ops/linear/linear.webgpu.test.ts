import { describe, test } from 'vitest';
import { Rng } from '../../../../base/rng.ts';
import { defineOp, type Op } from '../../op.ts';
import { expectOpMatches, normals, type OpCase, requireWebGpu } from '../../testing.ts';
import type { Wgsl } from '../../wgsl.ts';
import { linearCases, linearGradCases } from './linear.cases.ts';
import { linearInputGradOp, linearOp, linearWeightGradOp } from './linear.ts';
import { linearInputGradWgsl, linearWeightGradWgsl, linearWgsl } from './linear.wgsl.ts';

const tolerance = {
  atol: 2e-4,
  rtol: 2e-5,
  why: 'float32 sums of up to 2,100 products of size 1, in another order',
};

/** The op with its WGSL form, also while the op itself is composed of tfjs's matMul. */
function withKernel({ spec }: Op<object>, wgsl: Wgsl<object>): Op<object> {
  return defineOp({ ...spec, name: `${spec.name}-kernel`, wgsl, gradient: undefined });
}
const forward = withKernel(linearOp, linearWgsl);
const inputGrad = withKernel(linearInputGradOp, linearInputGradWgsl);
const weightGrad = withKernel(linearWeightGradOp, linearWeightGradWgsl);

function big(name: string, ...shapes: number[][]): OpCase<object> {
  return { name, inputs: shapes.map((shape, i) => normals(new Rng(21, i), shape)), attributes: {} };
}

describe.skipIf(!(await requireWebGpu()))('linear on WebGPU equals its reference', () => {
  describe.each([false, true])('bias %s', (bias) => {
    test.each(linearCases(bias))('forward, $name', (c) => expectOpMatches(forward, c, tolerance));
  });
  test.each(linearGradCases('input'))('gradient of the input, $name', (c) =>
    expectOpMatches(inputGrad, c, tolerance),
  );
  test.each(linearGradCases('weight'))('gradient of the weight, $name', (c) =>
    expectOpMatches(weightGrad, c, tolerance),
  );

  // Long sums over few tiles are shared by several workgroups.
  test('forward, k shared', () => expectOpMatches(forward, big('', [3, 2100], [40, 2100], [40]), tolerance));
  test('gradient of the input, k shared', () =>
    expectOpMatches(inputGrad, big('', [9, 1030], [1030, 21]), tolerance));
  test('gradient of the weight, k shared', () =>
    expectOpMatches(weightGrad, big('', [2100, 10], [2100, 33]), tolerance));
});
