/** RMS norm together with the residual sums around it, for captured steps: fewer dispatches, fewer trips to memory. */
import { defineOp } from '../../op.ts';
import { tf } from '../../tfjs.ts';
import { addNormReference, normGradAddReference } from './add-norm.reference.ts';
import { addNormWgsl, normGradAddWgsl } from './add-norm.wgsl.ts';
import { rmsNormGradOp } from './rms-norm.ts';

/** [x [N, C], r [N, C], w [C]], {eps} → [sum [N, C] = x + r, y [N, C], inv [N]]; y is the norm of the sum. */
export const addNormOp = defineOp<{ eps: number }>({
  name: 'add-norm',
  outputs: ([x]) => [
    { shape: x.shape, dtype: 'float32' },
    { shape: x.shape, dtype: 'float32' },
    { shape: [x.shape[0]], dtype: 'float32' },
  ],
  reference: (inputs, outputs, { eps }) => addNormReference(inputs, outputs, eps),
  wgsl: addNormWgsl,
  gradient: ([dsum, dy], [, , w], [sum, , inv]) => {
    const [dx, dw] = rmsNormGradOp([dy, sum, w, inv], {});
    const both = tf.add(dx, dsum);
    return [both, both, dw];
  },
});

export interface NormGradAddAttributes {
  /** A sixth input is added to dx: the gradient that reaches x past the norm. */
  residual: boolean;
}

/**
 * [dy [N, C], x [N, C], w [C], inv [N], dw [C], (dres [N, C])] → [dx [N, C]]; dw changes in place, its gradient is
 * added. Serves rms-norm and add-norm (x is then the sum).
 */
export const normGradAddOp = defineOp<NormGradAddAttributes>({
  name: 'norm-grad-add',
  outputs: ([, x]) => [{ shape: x.shape, dtype: 'float32' }],
  reference: (inputs, outputs, { residual }) => normGradAddReference(inputs, outputs, residual),
  wgsl: normGradAddWgsl,
});
