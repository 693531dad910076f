/**
 * The clipped surrogate of PPO (arXiv 1707.06347, equation 7) with a dual clip (arXiv 1912.09729), per token: what the
 * released code of Parallel-R1 optimises, without KL and entropy terms.
 */
import { type Tensor, tf } from '../tensor/tfjs.ts';

export interface ClipSettings {
  clipLow: number;
  clipHigh: number;
  /** Where A < 0 the loss is at most −c·A; null = no bound. */
  dualClip: number | null;
}

/** Log-ratios are clamped to ± this before the exponential. */
const LOG_RATIO_LIMIT = 20;

/**
 * l = max(−A·r, −A·clamp(r, 1 − ε_low, 1 + ε_high)), and min(l, −A·c) where A < 0; 0 outside the mask.
 * @param logp (N) of the policy that is trained
 * @param old (N) of the policy that sampled
 * @param advantages (N)
 * @param mask (N) 1 on tokens that count. Ratios elsewhere may overflow; they must not reach the sum as inf · 0.
 */
export function policyLoss(
  logp: Tensor,
  old: Tensor,
  advantages: Tensor,
  mask: Tensor,
  clip: ClipSettings,
): Tensor {
  const inside = tf.cast(mask, 'bool');
  const difference = tf.where(inside, tf.sub(logp, old), tf.zerosLike(logp)); // (N)
  const ratio = tf.exp(tf.clipByValue(difference, -LOG_RATIO_LIMIT, LOG_RATIO_LIMIT));
  const minusA = tf.neg(advantages);
  const plain = tf.mul(minusA, ratio);
  const clipped = tf.mul(minusA, tf.clipByValue(ratio, 1 - clip.clipLow, 1 + clip.clipHigh));
  let loss = tf.maximum(plain, clipped);
  if (clip.dualClip !== null) {
    const bounded = tf.minimum(loss, tf.mul(minusA, clip.dualClip));
    loss = tf.where(tf.less(advantages, 0), bounded, loss);
  }
  return tf.mul(loss, mask); // (N)
}

export interface ClipCounts {
  tokens: number;
  /** r < 1 − ε_low and A < 0. */
  low: number;
  /** r > 1 + ε_high and A > 0. */
  high: number;
  /** r > c and A < 0. */
  dual: number;
}

/** How many tokens the clip holds back. */
export function clipCounts(
  logp: ArrayLike<number>,
  old: ArrayLike<number>,
  advantages: ArrayLike<number>,
  mask: ArrayLike<number>,
  clip: ClipSettings,
): ClipCounts {
  const counts = { tokens: 0, low: 0, high: 0, dual: 0 };
  for (let n = 0; n < mask.length; n++) {
    if (!mask[n]) continue;
    counts.tokens++;
    const difference = Math.max(-LOG_RATIO_LIMIT, Math.min(LOG_RATIO_LIMIT, logp[n] - old[n]));
    const ratio = Math.exp(difference);
    if (advantages[n] < 0 && ratio < 1 - clip.clipLow) counts.low++;
    if (advantages[n] > 0 && ratio > 1 + clip.clipHigh) counts.high++;
    if (clip.dualClip !== null && advantages[n] < 0 && ratio > clip.dualClip) counts.dual++;
  }
  return counts;
}
