/** swiglu on the output of one product that makes gate and up together. */
import { defineOp } from '../../op.ts';
import { swigluPackedGradReference, swigluPackedReference } from './swiglu.reference.ts';
import { swigluPackedGradWgsl, swigluPackedWgsl } from './swiglu-packed.wgsl.ts';

/** [dy [N, F], gu [N, 2F]] → [dgu [N, 2F]] */
export const swigluPackedGradOp = defineOp<object>({
  name: 'swiglu-packed-grad',
  outputs: ([, gu]) => [{ shape: gu.shape, dtype: 'float32' }],
  reference: (inputs, outputs, _, shapes) => swigluPackedGradReference(inputs, outputs, shapes[0][1]),
  wgsl: swigluPackedGradWgsl,
});

/** [gu [N, 2F]] → [y [N, F]]; the gate is in columns 0 to F − 1 of gu, up in F to 2F − 1. */
export const swigluPackedOp = defineOp<object>({
  name: 'swiglu-packed',
  outputs: ([{ shape }]) => [{ shape: [shape[0], shape[1] / 2], dtype: 'float32' }],
  reference: (inputs, outputs, _, shapes) => swigluPackedReference(inputs, outputs, shapes[0][1] / 2),
  wgsl: swigluPackedWgsl,
  gradient: ([dy], [gu]) => swigluPackedGradOp([dy, gu], {}),
});
