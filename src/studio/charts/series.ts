/** From a column of numbers to what a chart draws: smoothing over the full data first, thinning after. */

export interface Point {
  x: number;
  y: number | null;
}

/**
 * Exponential moving average without the bias towards zero at the start (Adam's correction); gaps stay gaps and do not
 * enter the average.
 * @param weight share of the past, 0 (no smoothing) to below 1
 * @param restarts rows at which the average begins anew: the loss of RL has nothing to do with that of SFT
 */
export function smooth(
  values: ArrayLike<number>,
  weight: number,
  restarts: readonly number[] = [],
): Float64Array {
  const anew = new Set(restarts);
  const out = new Float64Array(values.length);
  let sum = 0;
  let correction = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (anew.has(i)) {
      sum = 0;
      correction = 0;
    }
    if (Number.isNaN(value)) {
      out[i] = Number.NaN;
      continue;
    }
    sum = weight * sum + (1 - weight) * value;
    correction = weight * correction + (1 - weight);
    out[i] = sum / correction;
  }
  return out;
}

/**
 * At most about `most` points: of each bucket its lowest and highest, in order, so that no spike is lost. A bucket of
 * nothing but gaps stays one gap.
 */
export function thin(values: ArrayLike<number>, most: number): Point[] {
  const point = (i: number): Point => ({ x: i, y: Number.isNaN(values[i]) ? null : values[i] });
  if (values.length <= most) return Array.from(values, (_, i) => point(i));
  const buckets = Math.max(1, Math.floor(most / 2));
  const points: Point[] = [];
  for (let b = 0; b < buckets; b++) {
    const from = Math.floor((b * values.length) / buckets);
    const to = Math.floor(((b + 1) * values.length) / buckets);
    let low = -1;
    let high = -1;
    for (let i = from; i < to; i++) {
      if (Number.isNaN(values[i])) continue;
      if (low < 0 || values[i] < values[low]) low = i;
      if (high < 0 || values[i] > values[high]) high = i;
    }
    if (low < 0) points.push(point(from));
    else if (low === high) points.push(point(low));
    else points.push(point(Math.min(low, high)), point(Math.max(low, high)));
  }
  return points;
}
