import { describe, expect, test } from 'vitest';
import { expectGradient } from '../../differences.ts';
import { expectOpMatches } from '../../testing.ts';
import { tf } from '../../tfjs.ts';
import {
  fusedLinearCases,
  linearCases,
  linearInputGradCases,
  linearWeightGradAddCases,
  linearWeightGradCases,
} from './linear.cases.ts';
import { linear, linearInputGradOp, linearOp, linearWeightGradAddOp, linearWeightGradOp } from './linear.ts';

const tolerance = {
  atol: 1e-4,
  rtol: 2e-5,
  why: 'float32 sums over up to 130 terms of size 1 (4 with half weights), in another order',
};

/** One test body for every backend. */
export function linearTests(): void {
  describe.each([false, true])('bias %s', (bias) => {
    test.each(linearCases(bias))('forward, $name', (c) => expectOpMatches(linearOp, c, tolerance));
    test.each(linearCases(bias).slice(0, 3))('differences, $name', (c) =>
      expectGradient(linearOp, c, { inputs: bias ? [0, 1, 2] : [0, 1], outputs: [0], tolerance: 1e-2 }),
    );
  });
  describe.each([false, true])('half %s', (half) => {
    test.each(fusedLinearCases(half))('forward, $name', (c) => expectOpMatches(linearOp, c, tolerance));
    test.each(fusedLinearCases(half).filter((_, i) => i % 4 === 0))('differences, $name', (c) => {
      const inputs = c.inputs.map((_, i) => i).filter((i) => !(half && i === 1));
      return expectGradient(linearOp, c, { inputs, outputs: [0], tolerance: 1e-2 });
    });
  });
  test.each(linearInputGradCases())('input gradient, $name', (c) =>
    expectOpMatches(linearInputGradOp, c, tolerance),
  );
  test.each(linearWeightGradCases())('weight gradient, $name', (c) =>
    expectOpMatches(linearWeightGradOp, c, tolerance),
  );
  test.each(linearWeightGradAddCases())('weight gradient added, $name', (c) =>
    expectOpMatches(linearWeightGradAddOp, c, tolerance),
  );

  test('a weight that changes is seen (XNNPACK packs the right operand once per tensor)', async () => {
    const x = tf.tensor2d([[1, 2]]);
    const w = tf.variable(tf.tensor2d([[3, 4]]));
    const first = linear(x, w);
    const firstGrad = linearInputGradOp([tf.slice(x, [0, 0], [1, 1]), w], {})[0];
    const next = tf.tensor2d([[5, 6]]);
    w.assign(next);
    const second = linear(x, w);
    const secondGrad = linearInputGradOp([tf.slice(x, [0, 0], [1, 1]), w], {})[0];
    expect(Array.from(await first.data())).toEqual([11]);
    expect(Array.from(await second.data())).toEqual([17]);
    expect(Array.from(await firstGrad.data())).toEqual([3, 4]);
    expect(Array.from(await secondGrad.data())).toEqual([5, 6]);
    tf.dispose([x, w, first, firstGrad, next, second, secondGrad]);
  });
}
