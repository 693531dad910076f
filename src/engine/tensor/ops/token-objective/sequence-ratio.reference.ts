import type { HostArray } from '../../tfjs.ts';

/** Row after row: the mean of logp − old over the slots with a weight, written to every slot of the row. */
export function sequenceRatioReference(
  [logp, info]: readonly HostArray[],
  [ratios]: readonly HostArray[],
  T: number,
): void {
  for (let start = 0; start < logp.length; start += T) {
    let sum = 0;
    let count = 0;
    for (let n = start; n < start + T; n++) {
      if (info[4 * n + 2] === 0) continue;
      sum += logp[n] - info[4 * n];
      count++;
    }
    ratios.fill(sum / Math.max(1, count), start, start + T);
  }
}
