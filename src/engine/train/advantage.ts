/**
 * Group-relative advantages as the released code of Parallel-R1 computes them (GRPO, arXiv 2402.03300, equation 4;
 * reference note, section 4).
 */

/**
 * A = (r − mean) / (std + 1e-6) in each group of G, std with ddof 1; 0 where all rewards of a group are equal.
 * @param rewards one per rollout, groups after one another
 */
export function groupAdvantages(rewards: readonly number[], G: number): Float64Array {
  const advantages = new Float64Array(rewards.length);
  for (let start = 0; start < rewards.length; start += G) {
    const group = rewards.slice(start, start + G);
    if (group.every((r) => r === group[0])) continue;
    const mean = group.reduce((a, b) => a + b, 0) / G;
    const std = Math.sqrt(group.reduce((a, r) => a + (r - mean) ** 2, 0) / (G - 1));
    group.forEach((r, i) => {
      advantages[start + i] = (r - mean) / (std + 1e-6);
    });
  }
  return advantages;
}

/** Share of groups whose rewards are all equal: they teach nothing. */
export function shareOfEqualGroups(rewards: readonly number[], G: number): number {
  let equal = 0;
  for (let start = 0; start < rewards.length; start += G)
    if (rewards.slice(start, start + G).every((r) => r === rewards[start])) equal++;
  return equal / (rewards.length / G);
}
