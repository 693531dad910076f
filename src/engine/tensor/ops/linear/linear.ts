/**
 * Linear layer y = x·Wᵀ (+ b) with W in Hugging Face's layout (O, I).
 *
 * On wasm, tfjs 4.22 has a fast product (XNNPACK) only for operands that are not transposed; with a transpose flag it
 * falls to a naive loop (measured here: 17 against 1.5 GFLOP/s). So transposes are made explicitly. XNNPACK also
 * packs the right operand once per tensor id and never looks again: a weight that AdamW changes in place must
 * therefore be copied before it stands on the right, or old values are used without a word.
 */
import { defineOp } from '../../op.ts';
import { type Tensor, tf } from '../../tfjs.ts';
import { linearInputGradReference, linearReference, linearWeightGradReference } from './linear.reference.ts';
import { linearInputGradWgsl, linearWeightGradWgsl, linearWgsl } from './linear.wgsl.ts';

/** [dy [N, O], w [O, I]] → [dx [N, I]] */
export const linearInputGradOp = defineOp<object>({
  name: 'linear-input-grad',
  outputs: ([dy, w]) => [{ shape: [dy.shape[0], w.shape[1]], dtype: 'float32' }],
  reference: (inputs, outputs, _, shapes) => linearInputGradReference(inputs, outputs, shapes[1][1]),
  composedWasm: ([dy, w]) => [tf.matMul(dy as tf.Tensor2D, tf.mul(w, 1) as tf.Tensor2D)],
  wgsl: linearInputGradWgsl,
});

/** [dy [N, O], x [N, I]] → [dw [O, I]] */
export const linearWeightGradOp = defineOp<object>({
  name: 'linear-weight-grad',
  outputs: ([dy, x]) => [{ shape: [dy.shape[1], x.shape[1]], dtype: 'float32' }],
  reference: (inputs, outputs, _, shapes) =>
    linearWeightGradReference(inputs, outputs, shapes[0][1], shapes[1][1]),
  // The smaller operand is transposed: dw = dyᵀ·x, or (xᵀ·dy)ᵀ where x is the narrower one.
  composedWasm: ([dy, x]) => [
    dy.shape[1]! <= x.shape[1]!
      ? tf.matMul(tf.transpose(dy) as tf.Tensor2D, x as tf.Tensor2D)
      : tf.transpose(tf.matMul(tf.transpose(x) as tf.Tensor2D, dy as tf.Tensor2D)),
  ],
  wgsl: linearWeightGradWgsl,
});

/** [x [N, I], w [O, I], b [O] (optional)] → [y [N, O]] */
export const linearOp = defineOp<object>({
  name: 'linear',
  outputs: ([x, w]) => [{ shape: [x.shape[0], w.shape[0]], dtype: 'float32' }],
  reference: (inputs, outputs, _, shapes) => linearReference(inputs, outputs, shapes[1][1]),
  composedWasm: ([x, w, b]) => {
    const y = tf.matMul(x as tf.Tensor2D, tf.transpose(w) as tf.Tensor2D);
    return [b ? tf.add(y, b) : y];
  },
  wgsl: linearWgsl,
  gradient: ([dy], [x, w, b]) => [
    () => linearInputGradOp([dy, w], {})[0],
    () => linearWeightGradOp([dy, x], {})[0],
    ...(b ? [() => tf.sum(dy, 0)] : []),
  ],
});

/** `x` (N, I) through the weight `w` (O, I) and bias `b` (O) or null: (N, O). */
export function linear(x: Tensor, w: Tensor, b: Tensor | null = null): Tensor {
  return linearOp(b ? [x, w, b] : [x, w], {})[0];
}
