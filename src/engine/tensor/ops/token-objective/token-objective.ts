/**
 * What a training step minimises, token by token, with its gradient and its counts in one pass: cross-entropy (SFT), the
 * clipped surrogate of PPO with dual clip (arXiv 1707.06347 equation 7, arXiv 1912.09729) or CISPO's weighted log-prob
 * (arXiv 2506.13585 equation 4), with a KL term and an entropy bonus, as in `policy-loss.ts`, its slow truth. All
 * settings come as a tensor, so that a captured step can be replayed with others.
 */
import { defineOp } from '../../op.ts';
import { tokenObjectiveReference } from './token-objective.reference.ts';
import { tokenObjectiveWgsl } from './token-objective.wgsl.ts';

/** Places in `settings`. */
export const OBJECTIVE_SETTINGS = [
  'kind',
  'total',
  'clipLow',
  'clipHigh',
  'dualClip',
  'entropyBonus',
  'klBeta',
  'cispoCap',
] as const;
/** Values of the setting `kind`. */
export const OBJECTIVE_KINDS = { crossEntropy: 0, surrogate: 1, cispo: 2 } as const;
/** Places in `sums`: each grows by this call's sum over the tokens that count, `differenceMax` by the maximum. */
export const OBJECTIVE_SUMS = [
  'loss',
  'entropy',
  'tokens',
  'low',
  'high',
  'dual',
  'differenceSum',
  'differenceMax',
  'kl',
] as const;
/** Numbers in `settings` and in `sums`. */
export const OBJECTIVE_SIZE = OBJECTIVE_SETTINGS.length;
export const OBJECTIVE_SUMS_SIZE = OBJECTIVE_SUMS.length;

/** Places in a row of `info`. */
export const OBJECTIVE_INFO = ['old', 'advantage', 'weight', 'reference'] as const;

/**
 * [logp [N], entropy [N], info [N, 4], settings [8], sums [9], log-ratio [N]?] → [dlogp [N], dentropy [N]].
 * `info`: log-prob when sampled, advantage, weight in the sum (0 = the token does not count), log-prob under the reference
 * (read where klBeta > 0); cross-entropy reads the weight only. `settings`: kind (OBJECTIVE_KINDS), total (what the sum
 * is divided by), ε_low, ε_high, dual clip (0 = none), weight of the entropy bonus, weight of the KL term, largest weight
 * of CISPO. `sums` grows in place. With a log-ratio (`sequenceRatioOp`) that takes the place of logp − old; its gradient
 * is then that of a whole sequence, whose tokens must all have the same weight and advantage.
 */
export const tokenObjectiveOp = defineOp<object>({
  name: 'token-objective',
  outputs: ([logp]) => [0, 1].map(() => ({ shape: logp.shape, dtype: 'float32' as const })),
  reference: (inputs, outputs) => tokenObjectiveReference(inputs, outputs),
  wgsl: tokenObjectiveWgsl,
});
