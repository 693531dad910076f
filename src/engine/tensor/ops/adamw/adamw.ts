/**
 * AdamW in place with a clip by the global norm (Loshchilov and Hutter 2019, arXiv 1711.05101, algorithm 2).
 * Hyper-parameters come as a tensor, so that a captured step can be replayed with another learning rate.
 */
import { defineOp } from '../../op.ts';
import type { Tensor } from '../../tfjs.ts';
import {
  adamwReference,
  arenaAdamwReference,
  globalNormReference,
  type RateRange,
} from './adamw.reference.ts';
import { adamwWgsl, globalNormWgsl } from './adamw.wgsl.ts';
import { arenaAdamwWgsl } from './arena-adamw.wgsl.ts';

/** [g0, g1, …] → [norm [1]] */
export const globalNormOp = defineOp<object>({
  name: 'global-norm',
  outputs: () => [{ shape: [1], dtype: 'float32' }],
  reference: (inputs, outputs) => globalNormReference(inputs, outputs),
  wgsl: globalNormWgsl,
});

/**
 * [norm [1], hyper [8], then p, g, m, v of each tensor], {decay, ranges} → nothing: p, m and v change in place. A range
 * of a tensor may learn at a rate of its own.
 */
export const adamwOp = defineOp<{ decay: readonly boolean[]; ranges?: readonly (readonly RateRange[])[] }>({
  name: 'adamw',
  outputs: () => [],
  reference: (inputs, _, { decay, ranges }) => adamwReference(inputs, decay, ranges),
  wgsl: adamwWgsl,
});

/**
 * [hyper [8], norm [1], then p, g, m, v (each [size]) of each arena], {decayEnds, ranges} → nothing: all tensors of a
 * model in one step; a range of each arena may learn at a rate of its own. `norm` gets the gradient norm before clipping, p, m and v change in place and g becomes zero. A norm that is
 * not finite leaves p, m and v as they are.
 */
export const arenaAdamwOp = defineOp<{
  decayEnds: readonly number[];
  ranges?: readonly (readonly RateRange[])[];
}>({
  name: 'arena-adamw',
  outputs: () => [],
  reference: (inputs, _, { decayEnds, ranges }) => arenaAdamwReference(inputs, decayEnds, ranges),
  wgsl: arenaAdamwWgsl,
});

export type { RateRange };

export interface AdamwTensor {
  parameter: Tensor;
  gradient: Tensor;
  mean: Tensor;
  square: Tensor;
  decay: boolean;
  ranges?: readonly RateRange[];
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
    ranges: tensors.map((t) => t.ranges ?? []),
  });
  return norm;
}
