/** Scores of one problem from its samples; a set's score is the mean over its problems. */

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
