/**
 * Group-relative advantages as the released code of Parallel-R1 computes them (GRPO, arXiv 2402.03300, equation 4;
 * reference note, section 4), and the other ways to scale them.
 */
import type { GrpoStage } from './recipe.ts';

/**
 * What r − mean is divided by: the group's standard deviation, that of all rewards of the step (TRL; arXiv 2508.08221), or
 * nothing (Dr. GRPO, arXiv 2503.20783).
 */
export type AdvantageScaling = GrpoStage['advantageScaling'];

/** Added to the standard deviation. */
const EPSILON = 1e-6;

/**
 * A = (r − mean of the group) / (std + 1e-6), std with ddof 1; 0 where all rewards of a group are equal.
 * @param rewards one per rollout, groups of G after one another
 */
export function groupAdvantages(
  rewards: readonly number[],
  G: number,
  scaling: AdvantageScaling = 'group',
): Float64Array {
  const advantages = new Float64Array(rewards.length);
  const ofBatch = scaling === 'batch' ? deviation(rewards, meanOf(rewards)) : 0;
  for (let start = 0; start < rewards.length; start += G) {
    const group = rewards.slice(start, start + G);
    if (group.every((r) => r === group[0])) continue;
    const mean = meanOf(group);
    const std = scaling === 'group' ? deviation(group, mean) : ofBatch;
    group.forEach((r, i) => {
      advantages[start + i] = scaling === 'none' ? r - mean : (r - mean) / (std + EPSILON);
    });
  }
  return advantages;
}

/**
 * Advantages of a main reward (correctness, say) and of auxiliary ones, taken apart and added: scaled(main) + Σ_k (aux_k −
 * mean of aux_k in the group). So an auxiliary reward keeps its own size, and never counts for more because all of a group
 * are right (reference note, section 6, point 8). Auxiliary values carry their weights already; null is "not applicable":
 * it is in no mean and gets nothing.
 */
export function splitAdvantages(
  main: readonly number[],
  auxiliary: readonly (readonly (number | null)[])[],
  G: number,
  scaling: AdvantageScaling = 'group',
): Float64Array {
  const advantages = groupAdvantages(main, G, scaling);
  for (const values of auxiliary)
    for (let start = 0; start < main.length; start += G) {
      const group = values.slice(start, start + G);
      const known = group.filter((x) => x !== null);
      // Equal values must give exactly 0, which a rounded mean would not.
      if (known.every((x) => x === known[0])) continue;
      const mean = meanOf(known);
      group.forEach((x, i) => {
        if (x !== null) advantages[start + i] += x - mean;
      });
    }
  return advantages;
}

/** Advantages as a stage wants them: of the whole reward, or of its main and its auxiliary parts apart. */
export function advantagesOf(
  judged: readonly { reward: number; main: number; auxiliary: number }[],
  { groupSize: G, advantageScaling, splitAdvantage }: GrpoStage,
): Float64Array {
  if (!splitAdvantage)
    return groupAdvantages(
      judged.map((one) => one.reward),
      G,
      advantageScaling,
    );
  const main = judged.map((one) => one.main);
  return splitAdvantages(main, [judged.map((one) => one.auxiliary)], G, advantageScaling);
}

/** Share of groups whose rewards are all equal: they teach nothing. */
export function shareOfEqualGroups(rewards: readonly number[], G: number): number {
  let equal = 0;
  for (let start = 0; start < rewards.length; start += G)
    if (rewards.slice(start, start + G).every((r) => r === rewards[start])) equal++;
  return equal / (rewards.length / G);
}

/** For each group, whether some rollout of it has an advantage. */
export function groupsWithSpread(advantages: ArrayLike<number>, G: number): boolean[] {
  return Array.from({ length: advantages.length / G }, (_, group) => {
    for (let i = group * G; i < (group + 1) * G; i++) if (advantages[i] !== 0) return true;
    return false;
  });
}

const meanOf = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;

/** Standard deviation, ddof 1. */
const deviation = (values: readonly number[], mean: number): number =>
  Math.sqrt(values.reduce((a, r) => a + (r - mean) ** 2, 0) / (values.length - 1));
