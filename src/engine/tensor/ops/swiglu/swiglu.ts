/** Gated feed-forward activation SwiGLU (Shazeer 2020, arXiv 2002.05202). */
import { defineOp } from '../../op.ts';
import type { Tensor } from '../../tfjs.ts';
import { swigluGradReference, swigluReference } from './swiglu.reference.ts';
import { swigluGradWgsl, swigluWgsl } from './swiglu.wgsl.ts';

/** [dy [N, F], gate [N, F], up [N, F]] → [dgate [N, F], dup [N, F]] */
export const swigluGradOp = defineOp<object>({
  name: 'swiglu-grad',
  outputs: ([dy]) => [
    { shape: dy.shape, dtype: 'float32' },
    { shape: dy.shape, dtype: 'float32' },
  ],
  reference: (inputs, outputs) => swigluGradReference(inputs, outputs),
  wgsl: swigluGradWgsl,
});

/** [gate [N, F], up [N, F]] → [y [N, F]] */
export const swigluOp = defineOp<object>({
  name: 'swiglu',
  outputs: ([gate]) => [{ shape: gate.shape, dtype: 'float32' }],
  reference: (inputs, outputs) => swigluReference(inputs, outputs),
  wgsl: swigluWgsl,
  gradient: ([dy], [gate, up]) => swigluGradOp([dy, gate, up], {}),
});

/** silu(gate) · up, element by element: (N, F). */
export function swiglu(gate: Tensor, up: Tensor): Tensor {
  return swigluOp([gate, up], {})[0];
}
