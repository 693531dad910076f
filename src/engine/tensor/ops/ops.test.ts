/**
 * Every op on the two host backends: its kernel equals its reference there (wasm's views of the heap and composed
 * forms included), and its gradient equals finite differences of the reference in double precision.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { Rng } from '../../../base/rng.ts';
import { openBackend } from '../device.ts';
import type { Op } from '../op.ts';
import { expectOpMatches, type OpCase } from '../testing.ts';
import { type HostArray, type Tensor, tf } from '../tfjs.ts';
import { adamwCases, globalNormCases } from './adamw/adamw.cases.ts';
import { adamwOp, globalNormOp } from './adamw/adamw.ts';
import { cachedAttentionCases } from './cached-attention/cached-attention.cases.ts';
import { cachedAttentionOp } from './cached-attention/cached-attention.ts';
import { embeddingCases, embeddingGradCases } from './embedding/embedding.cases.ts';
import { embeddingGradOp, embeddingOp } from './embedding/embedding.ts';
import { rmsNormCases, rmsNormGradCases } from './rms-norm/rms-norm.cases.ts';
import { rmsNormGradOp, rmsNormOp } from './rms-norm/rms-norm.ts';
import { ropeAttentionCases, ropeAttentionGradCases } from './rope-attention/rope-attention.cases.ts';
import { ropeAttentionGradOp, ropeAttentionOp } from './rope-attention/rope-attention.ts';
import { sampleCases } from './sample/sample.cases.ts';
import { sampleOp } from './sample/sample.ts';
import { swigluCases, swigluGradCases } from './swiglu/swiglu.cases.ts';
import { swigluGradOp, swigluOp } from './swiglu/swiglu.ts';
import { logitLossCases, logitLossGradCases } from './token-loss/logit-loss.cases.ts';
import { logitLossGradOp, logitLossOp } from './token-loss/token-loss.ts';

const exact = { atol: 0, rtol: 0, why: 'the reference is the kernel' };

describe.each(['cpu', 'wasm'] as const)('ops on %s equal their references', (backend) => {
  beforeAll(async () => {
    await openBackend(backend);
  });
  function check<A>(op: Op<A>, cases: OpCase<A>[]): void {
    test.each(cases)(`${op.spec.name}, $name`, (c) => expectOpMatches(op, c, exact));
  }
  check(rmsNormOp, rmsNormCases());
  check(rmsNormGradOp, rmsNormGradCases());
  check(ropeAttentionOp, ropeAttentionCases());
  check(ropeAttentionGradOp, ropeAttentionGradCases());
  check(cachedAttentionOp, cachedAttentionCases());
  check(logitLossOp, logitLossCases());
  check(logitLossGradOp, logitLossGradCases());
  check(globalNormOp, globalNormCases());
  check(adamwOp, adamwCases());
  check(sampleOp, sampleCases());
  check(embeddingOp, embeddingCases());
  check(embeddingGradOp, embeddingGradCases());
  check(swigluOp, swigluCases());
  check(swigluGradOp, swigluGradCases());
});

const sizeOf = (shape: number[]) => shape.reduce((a, b) => a * b, 1);

/** Σ over outputs of weight · output, by the reference in double precision. */
function project<A>(
  op: Op<A>,
  { inputs, attributes }: OpCase<A>,
  values: ArrayLike<number>[],
  weights: number[][],
): number {
  const outputs = weights.map((w) => new Float64Array(w.length));
  // The references compute on whatever arrays they get.
  op.spec.reference(
    values as HostArray[],
    outputs as unknown as HostArray[],
    attributes,
    inputs.map(({ shape }) => shape),
  );
  return outputs.reduce((sum, out, i) => sum + out.reduce((s, x, k) => s + x * weights[i][k], 0), 0);
}

/**
 * Compares the op's gradient with central differences along a random direction of each differentiable input.
 * @param outputs how many of the outputs have a gradient (the others are by-products)
 */
async function expectGradient<A>(
  op: Op<A>,
  opCase: OpCase<A>,
  differentiable: number[],
  outputs: number,
): Promise<void> {
  const { inputs, attributes } = opCase;
  const rng = new Rng(20);
  const specs = op.spec.outputs(inputs, attributes);
  const weights = specs.map(({ shape }, i) =>
    Array.from({ length: sizeOf(shape) }, () => (i < outputs ? rng.normal() : 0)),
  );
  const tensors = inputs.map(({ values, shape, dtype }) => tf.tensor(values.slice(), shape, dtype) as Tensor);
  const weightTensors = weights.map((w, i) => tf.tensor(w, specs[i].shape));
  const { grads } = tf.engine().gradients(
    () =>
      op(tensors, attributes)
        .slice(0, outputs)
        .map((y, i) => tf.sum(tf.mul(y, weightTensors[i])))
        .reduce((a, b) => tf.add(a, b)) as tf.Scalar,
    differentiable.map((i) => tensors[i]),
  );
  for (const [k, index] of differentiable.entries()) {
    const direction = Array.from(inputs[index].values, () => rng.normal());
    const gradient = await grads[k].data();
    const slope = direction.reduce((sum, d, j) => sum + d * gradient[j], 0);
    // References that keep rotated rows in float32 need a step well above its noise.
    const step = 1e-3;
    const at = (sign: number) =>
      project(
        op,
        opCase,
        inputs.map(({ values }, i) =>
          i === index ? Float64Array.from(values, (x, j) => x + sign * step * direction[j]) : values,
        ),
        weights,
      );
    const difference = (at(1) - at(-1)) / (2 * step);
    const size = Math.sqrt(gradient.reduce((sum: number, g: number) => sum + g * g, 0));
    expect(
      Math.abs(slope - difference),
      `${opCase.name}, input ${index}: ${slope} against ${difference}`,
    ).toBeLessThan(1e-3 * size + 1e-4);
  }
  tf.dispose([...tensors, ...weightTensors, ...grads]);
}

describe('gradients equal finite differences', () => {
  beforeAll(async () => {
    await openBackend('cpu');
  });
  test.each(rmsNormCases())('rms-norm, $name', (c) => expectGradient(rmsNormOp, c, [0, 1], 1));
  test.each(ropeAttentionCases())('rope-attention, $name', (c) =>
    expectGradient(ropeAttentionOp, c, [0, 1, 2], 1),
  );
  test.each(embeddingCases())('embedding, $name', (c) => expectGradient(embeddingOp, c, [0], 1));
  test.each(swigluCases())('swiglu, $name', (c) => expectGradient(swigluOp, c, [0, 1], 1));
});
