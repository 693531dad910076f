/**
 * Linear layer y = x·Wᵀ (+ b) with W in Hugging Face's layout (O, I), fused with what stands next to it in a decoder: a
 * scale, a bias, a residual; and gradients of weights that grow in place.
 *
 * On wasm, tfjs 4.22 has a fast product (XNNPACK) only for operands that are not transposed; with a transpose flag it
 * falls to a naive loop (measured here: 17 against 1.5 GFLOP/s). So transposes are made explicitly. XNNPACK also
 * packs the right operand once per tensor id and never looks again: a weight that AdamW changes in place must
 * therefore be copied before it stands on the right, or old values are used without a word.
 */
import { defineOp } from '../../op.ts';
import { type HostArray, type Tensor, tf } from '../../tfjs.ts';
import { unpackHalves } from './half-words.ts';
import { linearInputGradReference, linearReference, linearWeightGradReference } from './linear.reference.ts';
import {
  linearInputGradWgsl,
  linearWeightGradAddWgsl,
  linearWeightGradWgsl,
  linearWgsl,
} from './linear.wgsl.ts';

export interface ProductAttributes {
  /** The last input is added to the result. */
  residual?: boolean;
  /** Scale of the product (not of bias and residual); 1 unless given. */
  alpha?: number;
  /** The weight is int32 [O, I/2]: two f16 a word, the lower half first. I is even. */
  half?: boolean;
}

export interface LinearAttributes extends ProductAttributes {
  /** The third input is a bias. Unless given: there is an input to spare. */
  bias?: boolean;
}

export interface WeightGradAttributes {
  alpha?: number;
  /** The last input is the gradient of the bias (not scaled by alpha). Unless given: there is such an input. */
  bias?: boolean;
}

/** Bias and residual among the inputs of `linearOp`. */
function extras<T>(inputs: readonly T[], { bias, residual }: LinearAttributes): { b: T | null; r: T | null } {
  const hasBias = bias ?? inputs.length > (residual ? 3 : 2);
  return { b: hasBias ? inputs[2] : null, r: residual ? inputs[hasBias ? 3 : 2] : null };
}

const width = (w: { shape: readonly number[] }, half = false): number => (half ? 2 : 1) * w.shape[1];
const numbers = (w: HostArray, half = false): HostArray => (half ? unpackHalves(w) : w);
/** tfjs form of a weight on wasm, whose tensors can be read at once. */
const matrix = (w: Tensor, half = false): tf.Tensor2D =>
  half
    ? tf.tensor2d(unpackHalves(w.dataSync()), [w.shape[0]!, width(w as tf.Tensor2D, true)])
    : (w as tf.Tensor2D);
const scaled = (y: Tensor, alpha = 1): Tensor => (alpha === 1 ? y : tf.mul(y, alpha));

/** [dy [N, O], w [O, I], r [N, I] (with `residual`)] → [dx [N, I]]: dx = α·dy·W (+ r) */
export const linearInputGradOp = defineOp<ProductAttributes>({
  name: 'linear-input-grad',
  outputs: ([dy, w], { half }) => [{ shape: [dy.shape[0], width(w, half)], dtype: 'float32' }],
  reference: ([dy, w, r], [dx], { residual, alpha = 1, half }, shapes) =>
    linearInputGradReference({ dy, w: numbers(w, half), r: residual ? r : null }, dx, {
      I: width({ shape: shapes[1] }, half),
      alpha,
    }),
  composedWasm: ([dy, w, r], { residual, alpha, half }) => {
    const dx = scaled(
      tf.matMul(dy as tf.Tensor2D, half ? matrix(w, half) : (tf.mul(w, 1) as tf.Tensor2D)),
      alpha,
    );
    return [residual ? tf.add(dx, r) : dx];
  },
  wgsl: linearInputGradWgsl,
});

/** The smaller operand is transposed: dw = dyᵀ·x, or (xᵀ·dy)ᵀ where x is the narrower one. */
function weightGrad(dy: Tensor, x: Tensor): Tensor {
  return dy.shape[1]! <= x.shape[1]!
    ? tf.matMul(tf.transpose(dy) as tf.Tensor2D, x as tf.Tensor2D)
    : tf.transpose(tf.matMul(tf.transpose(x) as tf.Tensor2D, dy as tf.Tensor2D));
}

/** [dy [N, O], x [N, I]] → [dw [O, I]]: dw = α·dyᵀ·x */
export const linearWeightGradOp = defineOp<{ alpha?: number }>({
  name: 'linear-weight-grad',
  outputs: ([dy, x]) => [{ shape: [dy.shape[1], x.shape[1]], dtype: 'float32' }],
  reference: ([dy, x], [dw], { alpha = 1 }, [[, O], [, I]]) =>
    linearWeightGradReference({ dy, x }, { dw, db: null }, { O, I, alpha }),
  composedWasm: ([dy, x], { alpha }) => [scaled(weightGrad(dy, x), alpha)],
  wgsl: linearWeightGradWgsl,
});

/**
 * [dy [N, O], x [N, I], dw [O, I], db [O] (with `bias`)] → nothing: dw += α·dyᵀ·x and db += Σ_n dy[n] in place, in a
 * fixed order.
 */
export const linearWeightGradAddOp = defineOp<WeightGradAttributes>({
  name: 'linear-weight-grad-add',
  outputs: () => [],
  reference: ([dy, x, dw, db], _, { alpha = 1, bias }, [[, O], [, I]]) =>
    linearWeightGradReference({ dy, x }, { dw, db: bias === false ? null : (db ?? null) }, { O, I, alpha }),
  wgsl: linearWeightGradAddWgsl,
});

/** [x [N, I], w [O, I], b [O] (with `bias`), r [N, O] (with `residual`)] → [y [N, O]]: y = α·x·Wᵀ (+ b) (+ r) */
export const linearOp = defineOp<LinearAttributes>({
  name: 'linear',
  outputs: ([x, w]) => [{ shape: [x.shape[0], w.shape[0]], dtype: 'float32' }],
  reference: (inputs, [y], attributes, shapes) => {
    const { alpha = 1, half } = attributes;
    const [x, w] = inputs;
    linearReference({ x, w: numbers(w, half), ...extras(inputs, attributes) }, y, { I: shapes[0][1], alpha });
  },
  composedWasm: (inputs, attributes) => {
    const [x, w] = inputs;
    const { b, r } = extras(inputs, attributes);
    const transposed = tf.transpose(matrix(w, attributes.half));
    let y = scaled(tf.matMul(x as tf.Tensor2D, transposed), attributes.alpha);
    if (b) y = tf.add(y, b);
    if (r) y = tf.add(y, r);
    return [y];
  },
  wgsl: linearWgsl,
  gradient: ([dy], inputs, _, attributes) => {
    const [x, w] = inputs;
    const { alpha, half } = attributes;
    const { b, r } = extras(inputs, attributes);
    return [
      () => linearInputGradOp([dy, w], { alpha, half })[0],
      half ? null : () => linearWeightGradOp([dy, x], { alpha })[0],
      ...(b ? [() => tf.sum(dy, 0)] : []),
      ...(r ? [dy] : []),
    ];
  },
});

/** `x` (N, I) through the weight `w` (O, I) and bias `b` (O) or null: (N, O). */
export function linear(x: Tensor, w: Tensor, b: Tensor | null = null): Tensor {
  return linearOp(b ? [x, w, b] : [x, w], {})[0];
}
