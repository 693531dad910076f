/**
 * What a rollout does, beyond right or wrong: where it forks, what it had arrived at before, whether its paths agree.
 * These are the numbers behind the behaviour shift of Parallel-R1 (section 4, Figure 3): early in training the model
 * forks at once, to explore; late it solves first and forks to verify.
 */
import type { Task } from '../data/tasks/task.ts';
import type { RolloutTree } from '../rollout/tree.ts';
import type { SpecialIds } from '../tokenizer/tags.ts';
import { selfBleu, wordsOf } from './self-bleu.ts';

/** A first fork beyond this share of the response is late. */
const LATE = 0.15;

/** One <Parallel> block; what `rollouts.jsonl` keeps of it, ready for histograms. */
export interface BlockBehaviour {
  /** Index of its <Parallel> / response length, in [0, 1). */
  position: number;
  /** The trunk or an earlier summary had arrived at an answer before the fork: it verifies. Otherwise it explores. */
  verifies: boolean;
  /** The last such answer, or null where there was none or it cannot be read. */
  before: string | null;
  /** Whether what the response says in the end, or a right answer, was among those answers. */
  finalBefore: boolean;
  rightBefore: boolean;
  /** What each path arrives at, or null. */
  answers: (string | null)[];
  /** At least two paths, and all arrive at the same answer (no answer agrees with nothing). */
  agrees: boolean;
  /** At least two paths arrive at different answers; a path without one disagrees with nothing. */
  disagrees: boolean;
  /** Share of paths that arrive at `before` again; null without such an answer or without paths. */
  rederived: number | null;
  /** How alike the paths are, 0 to 1; null with fewer than two. */
  selfBleu: number | null;
}

export interface Behaviour {
  /** Response tokens. */
  length: number;
  blocks: number;
  /** Mean `position` over blocks, and that of the first; null without a block, as is all that follows. */
  relativePosition: number | null;
  firstRelativePosition: number | null;
  late: boolean | null;
  /** Share of blocks that agree, and that disagree. */
  pathAgreement: number | null;
  answerDisagreement: number | null;
  /** Share of paths that arrive at the gold answer. */
  pathAccuracy: number | null;
  /** Share of blocks that verify; the others explore. */
  verification: number | null;
  /** Share of blocks before which the final answer, or a right one, was already there. */
  finalBefore: number | null;
  rightBefore: number | null;
  /** Mean over the blocks that have them. */
  rederived: number | null;
  selfBleu: number | null;
  perBlock: BlockBehaviour[];
}

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
const meanOrNull = (values: readonly (number | null)[]): number | null => {
  const known = values.filter((value) => value !== null);
  return known.length > 0 ? mean(known) : null;
};

/**
 * @param response tokens after the prompt
 * @param tree of the same response
 * @param gold the right answer, or what tells whether an answer is right
 * @param final the answer that the response gives, or null
 */
export function behaviourOf(
  response: ArrayLike<number>,
  tree: RolloutTree,
  ids: SpecialIds,
  task: Pick<Task, 'intermediateAnswer'>,
  gold: string | ((answer: string | null) => boolean),
  final: string | null,
): Behaviour {
  const { length } = response;
  const isGold = typeof gold === 'string' ? (answer: string | null) => answer === gold : gold;
  const forks = forkIndices(response, ids);
  const perBlock = tree.blocks.map((block, b): BlockBehaviour => {
    const { arrived, stated } = answersBefore(tree, b + 1, task);
    const before = stated.at(-1) ?? null;
    const answers = block.paths.map((path) => task.intermediateAnswer(path));
    const given = new Set(answers.filter((answer) => answer !== null));
    return {
      position: forks[b] / length,
      verifies: arrived,
      before,
      finalBefore: final !== null && stated.includes(final),
      rightBefore: stated.some(isGold),
      answers,
      agrees: answers.length > 1 && given.size === 1 && !answers.includes(null),
      disagrees: given.size > 1,
      rederived:
        before === null || answers.length === 0 ? null : mean(answers.map((a) => Number(a === before))),
      selfBleu: block.paths.length > 1 ? selfBleu(block.paths.map(wordsOf)) : null,
    };
  });
  const over = (value: (block: BlockBehaviour) => number | boolean | null) =>
    meanOrNull(perBlock.map(value).map((x) => (x === null ? null : Number(x))));
  const first = perBlock.length > 0 ? perBlock[0].position : null;
  return {
    length,
    blocks: perBlock.length,
    relativePosition: over((block) => block.position),
    firstRelativePosition: first,
    late: first === null ? null : first > LATE,
    pathAgreement: over((block) => block.agrees),
    answerDisagreement: over((block) => block.disagrees),
    pathAccuracy: meanOrNull(
      perBlock.flatMap(({ answers }) => answers.map((answer) => Number(isGold(answer)))),
    ),
    verification: over((block) => block.verifies),
    finalBefore: over((block) => block.finalBefore),
    rightBefore: over((block) => block.rightBefore),
    rederived: over((block) => block.rederived),
    selfBleu: over((block) => block.selfBleu),
    perBlock,
  };
}

/** Where the trunk forks: one index a block of `treeOf`, which reads the same states. */
function forkIndices(response: ArrayLike<number>, ids: SpecialIds): number[] {
  const forks: number[] = [];
  let kind: 'trunk' | 'path' | 'summary' = 'trunk';
  let inBlock = false;
  let summarised = true;
  for (let i = 0; i < response.length; i++) {
    const token = response[i];
    if (kind === 'path') kind = token === ids.pathEnd ? 'trunk' : kind;
    else if (kind === 'summary') kind = token === ids.summaryEnd ? 'trunk' : kind;
    else if (token === ids.parallel && !inBlock) {
      forks.push(i);
      inBlock = true;
      summarised = false;
    } else if (token === ids.path && inBlock) kind = 'path';
    else if (token === ids.parallelEnd) inBlock = false;
    else if (token === ids.summary && !inBlock && !summarised) {
      kind = 'summary';
      summarised = true;
    }
  }
  return forks;
}

/** What trunk and summaries had arrived at before block `block`: whether at anything, and those answers that can be read. */
function answersBefore(
  tree: RolloutTree,
  block: number,
  task: Pick<Task, 'intermediateAnswer'>,
): { arrived: boolean; stated: string[] } {
  // A block without a path has no segment of its own: it stands at the end, or before the next one that has.
  const at = tree.segments.findIndex((segment) => segment.block >= block);
  const stated: string[] = [];
  const candidates: string[] = [];
  let arrived = false;
  for (const { kind, text } of at < 0 ? tree.segments : tree.segments.slice(0, at)) {
    const answer = task.intermediateAnswer(text) ?? (kind === 'summary' ? concluded(text, candidates) : null);
    if (answer !== null) candidates.push(answer);
    if (kind === 'path') continue;
    // A summary is there to conclude, also where its words are not understood.
    arrived ||= kind === 'summary' || answer !== null;
    if (answer !== null) stated.push(answer);
  }
  return { arrived, stated };
}

/** A summary concludes that candidate which it ends in ("23,14,14>14"); the longest, so that 14 is not read as 4. */
function concluded(summary: string, candidates: readonly string[]): string | null {
  const text = summary.trimEnd();
  const ends = (answer: string) =>
    text.endsWith(answer) && !/[\p{L}\p{N}.]$/u.test(text.slice(0, text.length - answer.length));
  return candidates.filter(ends).sort((a, b) => b.length - a.length)[0] ?? null;
}
