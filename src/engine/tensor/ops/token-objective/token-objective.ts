/**
 * What a training step minimises, token by token, with its gradient and its counts in one pass: cross-entropy (SFT) or
 * the clipped surrogate of PPO with dual clip (arXiv 1707.06347 equation 7, arXiv 1912.09729), as in `policy-loss.ts`.
 * All settings come as a tensor, so that a captured step can be replayed with others.
 */
import { defineOp } from '../../op.ts';
import { tokenObjectiveReference } from './token-objective.reference.ts';
import { tokenObjectiveWgsl } from './token-objective.wgsl.ts';

/** Places in `settings`. */
export const OBJECTIVE_SETTINGS = [
  'policy',
  'total',
  'clipLow',
  'clipHigh',
  'dualClip',
  'entropyBonus',
] as const;
/** Places in `sums`: each grows by this call's sum over the tokens of the mask, the last by the maximum. */
export const OBJECTIVE_SUMS = [
  'loss',
  'entropy',
  'tokens',
  'low',
  'high',
  'dual',
  'differenceSum',
  'differenceMax',
] as const;
/** Numbers in `settings` and in `sums`. */
export const OBJECTIVE_SIZE = 8;

/** Places in a row of `info`. */
export const OBJECTIVE_INFO = ['old', 'advantage', 'mask'] as const;

/**
 * [logp [N], entropy [N], info [N, 4], settings [8], sums [8]] → [dlogp [N], dentropy [N]].
 * `info`: log-prob when sampled, advantage, mask, unused; the first two are not read for cross-entropy. `settings`: policy
 * (0 = cross-entropy, 1 = surrogate), total (what the sum is divided by), ε_low, ε_high, dual clip (0 = none), weight of
 * the entropy bonus. `sums` grows in place.
 */
export const tokenObjectiveOp = defineOp<object>({
  name: 'token-objective',
  outputs: ([logp]) => [0, 1].map(() => ({ shape: logp.shape, dtype: 'float32' as const })),
  reference: (inputs, outputs) => tokenObjectiveReference(inputs, outputs),
  wgsl: tokenObjectiveWgsl,
});
