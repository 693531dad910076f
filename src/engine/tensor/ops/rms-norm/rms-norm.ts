/** Root-mean-square layer normalisation (Zhang and Sennrich 2019, arXiv 1910.07467, equation 4). */
import { defineOp } from '../../op.ts';
import type { Tensor } from '../../tfjs.ts';
import { rmsNormGradReference, rmsNormReference } from './rms-norm.reference.ts';
import { rmsNormGradWgsl, rmsNormWgsl } from './rms-norm.wgsl.ts';

/** [dy [N, C], x [N, C], w [C], inv [N]] → [dx [N, C], dw [C]] */
export const rmsNormGradOp = defineOp<object>({
  name: 'rms-norm-grad',
  outputs: ([, x, w]) => [
    { shape: x.shape, dtype: 'float32' },
    { shape: w.shape, dtype: 'float32' },
  ],
  reference: (inputs, outputs) => rmsNormGradReference(inputs, outputs),
  wgsl: rmsNormGradWgsl,
});

/** [x [N, C], w [C]], {eps} → [y [N, C], inv [N]] */
export const rmsNormOp = defineOp<{ eps: number }>({
  name: 'rms-norm',
  outputs: ([x]) => [
    { shape: x.shape, dtype: 'float32' },
    { shape: [x.shape[0]], dtype: 'float32' },
  ],
  reference: (inputs, outputs, { eps }) => rmsNormReference(inputs, outputs, eps),
  wgsl: rmsNormWgsl,
  gradient: ([dy], [x, w], [, inv]) => rmsNormGradOp([dy, x, w, inv], {}),
});

/** `x` (N, C) normalised over C and scaled by `w` (C). */
export function rmsNorm(x: Tensor, w: Tensor, eps: number): Tensor {
  return rmsNormOp([x, w], { eps })[0];
}
