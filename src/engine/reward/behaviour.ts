/**
 * What a rollout does, beyond right or wrong: where it forks, whether its paths agree, whether it had an answer before
 * it forked. These are the numbers behind the behaviour shift of Parallel-R1 (Figure 3): early in training the model
 * forks at once, to explore; late it solves first and forks to verify.
 */
import type { Task } from '../data/tasks/task.ts';
import type { RolloutTree } from '../rollout/tree.ts';
import type { SpecialIds } from '../tokenizer/tags.ts';

/** A first fork beyond this share of the response is late. */
const LATE = 0.15;

export interface Behaviour {
  /** Response tokens. */
  length: number;
  blocks: number;
  /** Index of <Parallel> / response length: mean over blocks, and of the first; null without a block. */
  relativePosition: number | null;
  firstRelativePosition: number | null;
  late: boolean | null;
  /** Share of blocks whose paths all arrive at the same answer (no answer agrees with nothing). */
  pathAgreement: number | null;
  /** Share of paths that arrive at the gold answer. */
  pathAccuracy: number | null;
  /** Share of blocks before which the trunk had already arrived at an answer: they verify, the others explore. */
  verification: number | null;
}

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;

/**
 * @param response tokens after the prompt
 * @param tree of the same response
 */
export function behaviourOf(
  response: ArrayLike<number>,
  tree: RolloutTree,
  ids: SpecialIds,
  task: Pick<Task, 'intermediateAnswer'>,
  gold: string,
): Behaviour {
  const length = response.length;
  const forks = forkIndices(response, ids);
  if (tree.blocks.length === 0 || forks.length === 0)
    return {
      length,
      blocks: 0,
      relativePosition: null,
      firstRelativePosition: null,
      late: null,
      pathAgreement: null,
      pathAccuracy: null,
      verification: null,
    };
  const answers = tree.blocks.map((block) => block.paths.map((path) => task.intermediateAnswer(path)));
  const paths = answers.flat();
  const first = forks[0] / length;
  return {
    length,
    blocks: tree.blocks.length,
    relativePosition: mean(forks.map((i) => i / length)),
    firstRelativePosition: first,
    late: first > LATE,
    pathAgreement: mean(
      answers.map((own) => (own.length > 1 && own[0] !== null && own.every((a) => a === own[0]) ? 1 : 0)),
    ),
    pathAccuracy: paths.length === 0 ? null : mean(paths.map((answer) => (answer === gold ? 1 : 0))),
    verification: mean(tree.blocks.map((_, b) => (hadAnswer(tree, b + 1, task) ? 1 : 0))),
  };
}

/** Where the trunk forks. A <Parallel> inside a block or a summary is a word there, as `treeOf` reads it. */
function forkIndices(response: ArrayLike<number>, ids: SpecialIds): number[] {
  const forks: number[] = [];
  let closing = -1;
  for (let i = 0; i < response.length; i++) {
    const token = response[i];
    if (closing >= 0) {
      if (token === closing) closing = -1;
    } else if (token === ids.parallel) {
      forks.push(i);
      closing = ids.parallelEnd;
    } else if (token === ids.summary) closing = ids.summaryEnd;
  }
  return forks;
}

/** Had the trunk (or an earlier summary) arrived at an answer before block `block`? */
function hadAnswer(tree: RolloutTree, block: number, task: Pick<Task, 'intermediateAnswer'>): boolean {
  const before = tree.segments.findIndex((segment) => segment.block === block);
  const earlier = before < 0 ? tree.segments : tree.segments.slice(0, before);
  return earlier.some(
    (segment) =>
      segment.kind === 'summary' ||
      (segment.kind === 'trunk' && task.intermediateAnswer(segment.text) !== null),
  );
}
