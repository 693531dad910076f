/** From a column of numbers to what a chart draws: smoothing over the full data first, thinning after. */

/** Some rows of a column, in order; NaN is a gap. */
export interface Samples {
  rows: number[];
  values: number[];
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
  const out = new Float64Array(values.length);
  const anew = [...restarts].sort((a, b) => a - b);
  let next = 0;
  let sum = 0;
  let correction = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (anew[next] === i) {
      sum = 0;
      correction = 0;
      while (anew[next] === i) next++;
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
 * At most about `most` samples of the rows `from` to `to` (inclusive): of each bucket its lowest and highest, in order, so
 * that no spike is lost. A bucket of nothing but gaps stays one gap.
 */
export function thin(values: ArrayLike<number>, most: number, from = 0, to = values.length - 1): Samples {
  const out: Samples = { rows: [], values: [] };
  const take = (i: number): void => {
    out.rows.push(i);
    out.values.push(values[i]);
  };
  const count = to - from + 1;
  if (count <= most) {
    for (let i = from; i <= to; i++) take(i);
    return out;
  }
  const buckets = Math.max(1, Math.floor(most / 2));
  for (let b = 0; b < buckets; b++) {
    const first = from + Math.floor((b * count) / buckets);
    const end = from + Math.floor(((b + 1) * count) / buckets);
    let low = -1;
    let high = -1;
    for (let i = first; i < end; i++) {
      const value = values[i];
      if (Number.isNaN(value)) continue;
      if (low < 0 || value < values[low]) low = i;
      if (high < 0 || value > values[high]) high = i;
    }
    if (low < 0) take(first);
    else if (low === high) take(low);
    else {
      take(Math.min(low, high));
      take(Math.max(low, high));
    }
  }
  return out;
}
