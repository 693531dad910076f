/** Votes over answers: of several responses, or of the derivations inside one. */
import type { RolloutTree } from '../rollout/tree.ts';

export interface Vote {
  /** As it was first written. */
  answer: string;
  count: number;
  /** Indexes of its voters. */
  by: number[];
}

/** Answers by falling number of votes, of equals the one that was seen first; null does not vote. */
export function leading(
  answers: readonly (string | null)[],
  same: (a: string, b: string) => boolean,
): Vote[] {
  const votes: Vote[] = [];
  answers.forEach((answer, i) => {
    if (answer === null) return;
    const vote = votes.find((one) => same(one.answer, answer));
    if (vote) {
      vote.count++;
      vote.by.push(i);
    } else votes.push({ answer, count: 1, by: [i] });
  });
  // The sort is stable.
  return votes.sort((a, b) => b.count - a.count);
}

/** The answer with the most votes; of several such the one that `preference` rates highest, else the first. */
export function elect(
  answers: readonly (string | null)[],
  same: (a: string, b: string) => boolean,
  preference: (vote: Vote) => number,
): { answer: string | null; tied: boolean } {
  const votes = leading(answers, same);
  if (votes.length === 0) return { answer: null, tied: false };
  const tied = votes.filter((vote) => vote.count === votes[0].count);
  const rated = tied.map((vote) => ({ vote, rate: preference(vote) }));
  const best = rated.reduce((most, one) => (one.rate > most.rate ? one : most));
  return { answer: best.vote.answer, tied: tied.length > 1 };
}

/**
 * What each derivation of a response arrives at: every path, and every stretch of trunk before its last block that
 * arrives at something (an own solution that the block then checks). Without a block there is nothing to vote on.
 */
export function derivedAnswers(
  tree: RolloutTree,
  arrivesAt: (text: string) => string | null,
): (string | null)[] {
  const last = tree.segments.findLastIndex(({ kind }) => kind === 'path');
  return tree.segments.slice(0, last + 1).flatMap(({ kind, text }) => {
    const answer = arrivesAt(text);
    return kind === 'path' || (kind === 'trunk' && answer !== null) ? [answer] : [];
  });
}
