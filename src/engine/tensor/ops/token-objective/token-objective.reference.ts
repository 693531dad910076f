import type { HostArray } from '../../tfjs.ts';

/** Log-ratios are clamped to ± this before the exponential. */
export const LOG_RATIO_LIMIT = 20;

/** Loss, gradient and counts of each token that counts. */
export function tokenObjectiveReference(
  [logp, entropy, info, settings, sums, logRatios]: readonly HostArray[],
  [dlogp, dentropy]: readonly HostArray[],
): void {
  const [kind, total, clipLow, clipHigh, dualClip, bonus, beta, cap] = settings;
  for (let n = 0; n < logp.length; n++) {
    const [old, A, m, reference] = info.subarray(4 * n, 4 * n + 4);
    if (m === 0) continue;
    sums[1] += entropy[n];
    sums[2] += 1;
    sums[0] -= (bonus * m * entropy[n]) / total;
    dentropy[n] = (-bonus * m) / total;
    if (kind === 0) {
      sums[0] -= (m * logp[n]) / total;
      dlogp[n] = -m / total;
      continue;
    }
    const difference = logp[n] - old;
    const logRatio = logRatios ? logRatios[n] : difference;
    const ratio = Math.exp(Math.max(-LOG_RATIO_LIMIT, Math.min(LOG_RATIO_LIMIT, logRatio)));
    let loss = -A * ratio;
    /** Derivative of the loss by logp. */
    let slope = -A * ratio;
    if (kind === 2) {
      // The ratio only weighs: no gradient goes through it, and none is ever cut off.
      slope = -A * Math.min(ratio, cap);
      loss = slope * logp[n];
      if (A > 0 && ratio > cap) sums[4]++;
    } else {
      const clamped = Math.max(1 - clipLow, Math.min(1 + clipHigh, ratio));
      if (-A * clamped > loss) {
        loss = -A * clamped;
        slope = 0; // beyond the clip, or the two would be equal
      }
      if (A < 0 && dualClip > 0 && loss > -A * dualClip) {
        loss = -A * dualClip;
        slope = 0;
      }
      if (Math.abs(logRatio) > LOG_RATIO_LIMIT) slope = 0;
      if (A < 0 && ratio < 1 - clipLow) sums[3]++;
      if (A > 0 && ratio > 1 + clipHigh) sums[4]++;
      if (A < 0 && dualClip > 0 && ratio > dualClip) sums[5]++;
    }
    if (beta > 0) {
      const e = Math.min(reference - logp[n], LOG_RATIO_LIMIT);
      const kl = Math.exp(e) - e - 1;
      loss += beta * kl;
      if (reference - logp[n] <= LOG_RATIO_LIMIT) slope += beta * (1 - Math.exp(e));
      sums[8] += kl;
    }
    sums[0] += (m * loss) / total;
    dlogp[n] = (m * slope) / total;
    sums[6] += Math.abs(difference);
    sums[7] = Math.max(sums[7], Math.abs(difference));
  }
}
