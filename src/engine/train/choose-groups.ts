/** Which groups of a step are trained on. */

/**
 * At most `most` groups: those with spread first, in the order they were drawn; groups that teach nothing only where they
 * are kept (as TRL does: they count in the means, and KL and entropy terms act on them).
 * @param spread for each group that was drawn, whether its rollouts have advantages
 * @returns indices of groups, ascending
 */
export function groupsToTrain(spread: readonly boolean[], most: number, keepEqual: boolean): number[] {
  const where = (wanted: boolean) => spread.flatMap((has, group) => (has === wanted ? [group] : []));
  return [...where(true), ...(keepEqual ? where(false) : [])].slice(0, most).sort((a, b) => a - b);
}
