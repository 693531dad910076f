import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectOpMatches, f32, requireWebGpu, runReference } from '../../testing.ts';
import { tf } from '../../tfjs.ts';
import { type KernelStyle, setKernelStyle } from '../../wgsl.ts';
import { adamwCases, arenaAdamwCases, globalNormCases } from './adamw.cases.ts';
import { adamw, adamwOp, arenaAdamwOp, globalNormOp } from './adamw.ts';

const normTolerance = { atol: 0, rtol: 2e-6, why: 'a float32 sum of 9,000 squares in parts' };
const tolerance = {
  atol: 1e-6,
  rtol: 2e-6,
  why: 'the golden set asks for 2e-6 on weights of size 1 after a step of 3e-3 in float32',
};

describe.skipIf(!(await requireWebGpu()))('AdamW on WebGPU equals its reference', () => {
  test.each(globalNormCases())('global norm, $name', (c) => expectOpMatches(globalNormOp, c, normTolerance));
  test.each(adamwCases())('in place, $name', (c) => expectOpMatches(adamwOp, c, tolerance));

  describe.each<KernelStyle>(['tiled', 'direct'])('%s', (style) => {
    beforeAll(() => setKernelStyle(style));
    afterAll(() => setKernelStyle('tiled'));
    test.each(arenaAdamwCases())('arenas, $name', (c) => expectOpMatches(arenaAdamwOp, c, tolerance));
  });

  test('variables change in place, and reads before a step do not hide it', async () => {
    const parameter = tf.variable(tf.tensor1d([1, 2, 3]), true);
    const gradient = tf.tensor1d([0.1, -0.2, 0.3]);
    const mean = tf.variable(tf.zeros([3]), true);
    const square = tf.variable(tf.zeros([3]), true);
    const hyper = [0.1, 0.9, 0.999, 1e-8, 0, 100, 0.1, 0.001];
    const hyperTensor = tf.tensor1d(hyper);
    await parameter.data();
    const early = parameter.data(); // not awaited: it is answered after the step was recorded
    const norm = adamw([{ parameter, gradient, mean, square, decay: true }], hyperTensor);
    await early;
    const expected = runReference(adamwOp, {
      name: '',
      inputs: [[0], hyper, [1, 2, 3], [0.1, -0.2, 0.3], [0, 0, 0], [0, 0, 0]].map((v) => f32([v.length], v)),
      attributes: { decay: [true] },
    });
    const after = await parameter.data();
    after.forEach((value, i) => {
      expect(value).toBeCloseTo(expected.inputs[2][i], 5);
    });
    expect((await norm.data())[0]).toBeCloseTo(Math.sqrt(0.14), 5);
    tf.dispose([parameter, gradient, mean, square, hyperTensor, norm]);
  });
});
