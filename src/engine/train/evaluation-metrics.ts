/** Scores of one problem from its samples; a set's score is the mean over its problems, with a 95 % interval. */
import { Rng } from '../../base/rng.ts';

/**
 * Unbiased chance that at least one of k samples is right, given that c of n were (Chen et al. 2021, eq. 1):
 * 1 − C(n−c, k)/C(n, k), as a product so that large n do not overflow. Null if k > n.
 */
export function passAtK(n: number, c: number, k: number): number | null {
  if (k > n) return null;
  if (n - c < k) return 1;
  let miss = 1;
  for (let i = n - c + 1; i <= n; i++) miss *= 1 - k / i;
  return 1 - miss;
}

/** The most frequent answer; null does not vote; a tie goes to the answer seen first. Null if nobody votes. */
export function majorityAnswer(answers: readonly (string | null)[]): string | null {
  const votes = new Map<string, number>();
  for (const answer of answers) if (answer !== null) votes.set(answer, (votes.get(answer) ?? 0) + 1);
  let best: string | null = null;
  // A Map keeps insertion order, so the first of equals wins.
  for (const [answer, count] of votes) if (best === null || count > votes.get(best)!) best = answer;
  return best;
}

/** Accuracy of the first k samples. */
export function meanAtK(correct: readonly boolean[], k: number): number {
  return correct.slice(0, k).filter(Boolean).length / k;
}

/** 1 if the majority answer of the first k samples is right, else 0. An answer's verdict is that of its first sample. */
export function majAtK(answers: readonly (string | null)[], correct: readonly boolean[], k: number): number {
  const winner = majorityAnswer(answers.slice(0, k));
  return winner !== null && correct[answers.indexOf(winner)] ? 1 : 0;
}

/**
 * Share of votes that the right answer wins, over the groups of k samples one after the other (a rest is left out).
 * With k = all samples it is `majAtK`; with fewer it uses every sample and not only the first k.
 */
export function majOfGroups(
  answers: readonly (string | null)[],
  correct: readonly boolean[],
  k: number,
): number {
  const groups = Math.floor(answers.length / k);
  let won = 0;
  for (let g = 0; g < groups; g++) won += majAtK(answers.slice(g * k), correct.slice(g * k), k);
  return won / groups;
}

/** A mean over problems with its 95 % interval. */
export interface Estimate {
  value: number;
  low: number;
  high: number;
  method: 'wilson' | 'bootstrap';
}

/** 97.5 % quantile of the standard normal distribution. */
const Z = 1.959963984540054;
const RESAMPLES = 2000;

/** Wilson's score interval of `hits` of n independent trials (Wilson 1927): [low, high] within [0, 1]. */
export function wilson(hits: number, n: number): [number, number] {
  const p = hits / n;
  const centre = (p + Z ** 2 / (2 * n)) / (1 + Z ** 2 / n);
  const half = (Z / (1 + Z ** 2 / n)) * Math.sqrt((p * (1 - p)) / n + Z ** 2 / (4 * n ** 2));
  return [Math.max(0, centre - half), Math.min(1, centre + half)];
}

/**
 * Mean of one value a problem. Problems are drawn independently, the samples of one are not: so the interval is over
 * problems. Values that are all 0 or 1 have Wilson's, which stays honest where all are right; others the percentile
 * bootstrap over problems (Efron 1979), which one problem alone, or equal ones, leave without width.
 * @param key stream of random numbers of the resamples: the same key, the same interval
 */
export function estimate(values: readonly number[], key: number): Estimate {
  const n = values.length;
  const sum = values.reduce((a, b) => a + b, 0);
  if (values.every((value) => value === 0 || value === 1)) {
    const [low, high] = wilson(sum, n);
    return { value: sum / n, low, high, method: 'wilson' };
  }
  return { ...bootstrap(values, key), method: 'bootstrap' };
}

/** Mean with its percentile bootstrap interval, for values of any range (differences of paired scores). */
export function bootstrap(values: readonly number[], key: number): Omit<Estimate, 'method'> {
  const n = values.length;
  const rng = new Rng(key);
  const means = new Float64Array(RESAMPLES);
  for (let r = 0; r < RESAMPLES; r++) {
    let total = 0;
    for (let i = 0; i < n; i++) total += values[rng.int(n)];
    means[r] = total / n;
  }
  means.sort();
  const value = values.reduce((a, b) => a + b, 0) / n;
  return { value, low: quantile(means, 0.025), high: quantile(means, 0.975) };
}

/** Quantile of sorted values, linear between neighbours (R type 7, NumPy's default). */
function quantile(sorted: Float64Array, q: number): number {
  const at = q * (sorted.length - 1);
  const below = Math.floor(at);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}
