import type { HostArray } from '../../tfjs.ts';

/** Log-ratios are clamped to ± this before the exponential. */
export const LOG_RATIO_LIMIT = 20;

/** Loss, gradient and counts of each token of the mask. */
export function tokenObjectiveReference(
  [logp, entropy, info, settings, sums]: readonly HostArray[],
  [dlogp, dentropy]: readonly HostArray[],
): void {
  const [policy, total, clipLow, clipHigh, dualClip, bonus] = settings;
  for (let n = 0; n < logp.length; n++) {
    const [old, A, m] = info.subarray(4 * n, 4 * n + 3);
    if (m === 0) continue;
    sums[1] += m * entropy[n];
    sums[2] += 1;
    sums[0] -= (bonus * m * entropy[n]) / total;
    dentropy[n] = (-bonus * m) / total;
    if (policy === 0) {
      sums[0] -= (m * logp[n]) / total;
      dlogp[n] = -m / total;
      continue;
    }
    const difference = logp[n] - old;
    const ratio = Math.exp(Math.max(-LOG_RATIO_LIMIT, Math.min(LOG_RATIO_LIMIT, difference)));
    const clamped = Math.max(1 - clipLow, Math.min(1 + clipHigh, ratio));
    let loss = -A * ratio;
    let slope = -A;
    if (-A * clamped > loss) {
      loss = -A * clamped;
      slope = 0; // beyond the clip, or the two would be equal
    }
    if (A < 0 && dualClip > 0 && loss > -A * dualClip) {
      loss = -A * dualClip;
      slope = 0;
    }
    if (Math.abs(difference) > LOG_RATIO_LIMIT) slope = 0;
    sums[0] += (m * loss) / total;
    dlogp[n] = (m * slope * ratio) / total;
    if (A < 0 && ratio < 1 - clipLow) sums[3]++;
    if (A > 0 && ratio > 1 + clipHigh) sums[4]++;
    if (A < 0 && dualClip > 0 && ratio > dualClip) sums[5]++;
    sums[6] += Math.abs(difference);
    sums[7] = Math.max(sums[7], Math.abs(difference));
  }
}
