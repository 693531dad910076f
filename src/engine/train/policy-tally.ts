/** What the updates of a GRPO step tell, gathered into metrics. */
import type { Metrics } from './events.ts';
import { noSums, type ObjectiveSums } from './learner.ts';
import type { PolicyLossSettings } from './policy-loss.ts';

export class PolicyTally {
  private readonly sums: ObjectiveSums = noSums();
  private gradNorm = 0;
  private updates = 0;
  /** Tokens of the first update, which the differences of log-probs are from. */
  private differenceTokens = 0;

  constructor(private readonly settings: PolicyLossSettings) {}

  /** @param first Only before the first update are rollout and training pass the same policy. */
  add(update: ObjectiveSums & { gradNorm: number }, first: boolean): void {
    for (const key of ['loss', 'entropy', 'tokens', 'low', 'high', 'dual', 'kl'] as const)
      this.sums[key] += update[key];
    this.gradNorm += update.gradNorm;
    this.updates++;
    if (!first) return;
    this.sums.differenceSum = update.differenceSum;
    this.sums.differenceMax = update.differenceMax;
    this.differenceTokens = update.tokens;
  }

  get metrics(): Metrics {
    const { sums, updates, differenceTokens } = this;
    const { klBeta, dualClip, loss } = this.settings;
    const tokens = Math.max(1, sums.tokens);
    if (updates === 0) return { loss: 0, grad_norm: 0 };
    return {
      loss: sums.loss / updates,
      grad_norm: this.gradNorm / updates,
      entropy: sums.entropy / tokens,
      ...(klBeta > 0 && { kl: sums.kl / tokens }),
      'clip_ratio/low_mean': sums.low / tokens,
      'clip_ratio/high_mean': sums.high / tokens,
      'clip_ratio/region_mean': (sums.low + sums.high) / tokens,
      ...(dualClip !== null && loss !== 'cispo' && { 'clip_ratio/dual_mean': sums.dual / tokens }),
      ...(differenceTokens > 0 && {
        'sampling/logp_difference/mean': sums.differenceSum / differenceTokens,
        'sampling/logp_difference/max': sums.differenceMax,
      }),
    };
  }
}
