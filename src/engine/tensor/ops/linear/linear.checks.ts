import { describe, expect, test } from 'vitest';
import { expectGradient } from '../../differences.ts';
import { expectOpMatches } from '../../testing.ts';
import { tf } from '../../tfjs.ts';
import { linearCases, linearGradCases } from './linear.cases.ts';
import { linear, linearInputGradOp, linearOp, linearWeightGradOp } from './linear.ts';

const tolerance = {
  atol: 2e-5,
  rtol: 2e-5,
  why: 'float32 sums over up to 40 terms of size 1, in another order',
};

/** One test body for every backend. */
export function linearTests(): void {
  describe.each([false, true])('bias %s', (bias) => {
    test.each(linearCases(bias))('forward, $name', (c) => expectOpMatches(linearOp, c, tolerance));
    test.each(linearCases(bias))('differences, $name', (c) =>
      expectGradient(linearOp, c, { inputs: bias ? [0, 1, 2] : [0, 1], outputs: [0], tolerance: 1e-2 }),
    );
  });
  test.each(linearGradCases('input'))('input gradient, $name', (c) =>
    expectOpMatches(linearInputGradOp, c, tolerance),
  );
  test.each(linearGradCases('weight'))('weight gradient, $name', (c) =>
    expectOpMatches(linearWeightGradOp, c, tolerance),
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
