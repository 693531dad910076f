/**
 * AdamW in place with a clip by the global norm (Loshchilov and Hutter 2019, arXiv 1711.05101, algorithm 2).
 * Hyper-parameters come as a tensor, so that a captured step can be replayed with another learning rate.
 */
import { defineOp } from '../../op.ts';
import type { Tensor } from '../../tfjs.ts';
import { adamwReference, globalNormReference } from './adamw.reference.ts';
import { adamwWgsl, globalNormWgsl } from './adamw.wgsl.ts';

/** [g0, g1, …] → [norm [1]] */
export const globalNormOp = defineOp<object>({
  name: 'global-norm',
  outputs: () => [{ shape: [1], dtype: 'float32' }],
  reference: (inputs, outputs) => globalNormReference(inputs, outputs),
  wgsl: globalNormWgsl,
});

/** [norm [1], hyper [8], then p, g, m, v of each tensor], {decay} → nothing: p, m and v change in place. */
export const adamwOp = defineOp<{ decay: readonly boolean[] }>({
  name: 'adamw',
  outputs: () => [],
  reference: (inputs, _, { decay }) => adamwReference(inputs, decay),
  wgsl: adamwWgsl,
});

export interface AdamwTensor {
  parameter: Tensor;
  gradient: Tensor;
  mean: Tensor;
  square: Tensor;
  decay: boolean;
}

/**
 * One step over all tensors.
 * @param hyper (8): learning rate, β1, β2, ε, weight decay, largest gradient norm, 1 − β1ⁿ, 1 − β2ⁿ
 * @returns the gradient norm before clipping (1); the caller disposes it
 */
export function adamw(tensors: readonly AdamwTensor[], hyper: Tensor): Tensor {
  const [norm] = globalNormOp(
    tensors.map((t) => t.gradient),
    {},
  );
  adamwOp([norm, hyper, ...tensors.flatMap((t) => [t.parameter, t.gradient, t.mean, t.square])], {
    decay: tensors.map((t) => t.decay),
  });
  return norm;
}
