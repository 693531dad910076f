/** What a step tells about its ratios, counted on the host: the slow truth of the sums of `token-objective`. */
import { LOG_RATIO_LIMIT } from '../tensor/ops/token-objective/token-objective.reference.ts';
import { hasSequenceRatio, type PolicyLossSettings } from './policy-loss.ts';

/** Per slot, all (N). */
export interface PolicyValues {
  logp: ArrayLike<number>;
  old: ArrayLike<number>;
  advantages: ArrayLike<number>;
  /** 0 where a slot does not count. */
  weights: ArrayLike<number>;
  reference: ArrayLike<number> | null;
  /** Response of each slot. */
  rows: ArrayLike<number>;
}

export interface PolicyCounts {
  tokens: number;
  /** r < 1 − ε_low and A < 0. */
  low: number;
  /** r > 1 + ε_high (CISPO: its cap) and A > 0. */
  high: number;
  /** r > c and A < 0. */
  dual: number;
  /** Sum of the k3 estimate of the KL divergence from the reference, in nats. */
  kl: number;
}

/** How many tokens the clip holds back, and how far the policy is from its reference. */
export function policyCounts(values: PolicyValues, settings: PolicyLossSettings): PolicyCounts {
  const { logp, old, advantages, weights, reference, rows } = values;
  const counts = { tokens: 0, low: 0, high: 0, dual: 0, kl: 0 };
  const sequence = hasSequenceRatio(settings) ? sequenceLogRatios(values) : null;
  const cispo = settings.loss === 'cispo';
  const high = cispo ? settings.cispoCap : 1 + settings.clipHigh;
  for (let n = 0; n < weights.length; n++) {
    if (!weights[n]) continue;
    counts.tokens++;
    const logRatio = sequence ? sequence[rows[n]] : logp[n] - old[n];
    const ratio = Math.exp(Math.max(-LOG_RATIO_LIMIT, Math.min(LOG_RATIO_LIMIT, logRatio)));
    const A = advantages[n];
    if (A > 0 && ratio > high) counts.high++;
    if (!cispo && A < 0 && ratio < 1 - settings.clipLow) counts.low++;
    if (!cispo && settings.dualClip !== null && A < 0 && ratio > settings.dualClip) counts.dual++;
    if (settings.klBeta > 0 && reference) {
      const e = Math.min(reference[n] - logp[n], LOG_RATIO_LIMIT);
      counts.kl += Math.exp(e) - e - 1;
    }
  }
  return counts;
}

/** By response: the mean of log π − log π_old over its tokens that count. */
function sequenceLogRatios({ logp, old, weights, rows }: PolicyValues): number[] {
  const sums: number[] = [];
  const sizes: number[] = [];
  for (let n = 0; n < weights.length; n++) {
    if (!weights[n]) continue;
    sums[rows[n]] = (sums[rows[n]] ?? 0) + logp[n] - old[n];
    sizes[rows[n]] = (sizes[rows[n]] ?? 0) + 1;
  }
  return sums.map((sum, row) => sum / sizes[row]);
}
