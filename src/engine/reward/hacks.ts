/**
 * Ways to look right without the work, in what a response says rather than in how its tags nest (format.ts). Reference
 * note, section 6. They are measured, not punished: the answer check already refuses most of them, and a share that
 * rises over the steps shows what the policy has found.
 */
import type { RolloutTree } from '../rollout/tree.ts';
import { type SpecialIds, TAGS } from '../tokenizer/tags.ts';
import { BROKEN, type FormatHack, HOLLOW } from './format.ts';

export const SPOKEN = [
  /** A path announces the final answer. */
  'answer_in_path',
  /** A summary does, and the trunk never. */
  'answer_only_in_summary',
  /** The trunk does, and only then comes a block: it can't have helped. */
  'answer_before_block',
  /** The trunk announces two different ones. */
  'several_answers',
  /** There are blocks, but none of their paths arrives at the answer that is given. */
  'unsupported_answer',
  /** A tag spelled in ordinary tokens, which a checker of texts would read as a tag. */
  'spelled_tags',
  /** The prompt holds a tag: a checker of whole texts would count it (fault 5). */
  'tags_in_prompt',
] as const;

export type Hack = FormatHack | (typeof SPOKEN)[number];

/** Each is logged as `hack/<name>`: the share of the responses of a batch that have it. */
export const HACKS: readonly Hack[] = [...BROKEN, ...HOLLOW, ...SPOKEN];

export interface Spoken {
  /** Token ids. */
  prompt: ArrayLike<number>;
  response: ArrayLike<number>;
  /** Text of the whole response, tags shown. */
  text: string;
  tree: RolloutTree;
  /** The answer that the response is judged by, or null. */
  answer: string | null;
}

/** What announces an answer, and what a path arrives at: the task's own (data/tasks/task.ts). */
export interface AnswerForm {
  answerMarker: string;
  intermediateAnswer(text: string): string | null;
}

/** @returns the hacks of one response, each once */
export function spokenHacks(
  { prompt, response, text, tree, answer }: Spoken,
  ids: SpecialIds,
  { answerMarker, intermediateAnswer }: AnswerForm,
): Hack[] {
  const has = (kind: 'trunk' | 'path' | 'summary') =>
    tree.segments.some((segment) => segment.kind === kind && segment.text.includes(answerMarker));
  const given = tree.segments.flatMap((segment) =>
    segment.kind === 'trunk' ? answersIn(segment.text, answerMarker) : [],
  );
  const answered = tree.segments.findIndex(
    (segment) => segment.kind === 'trunk' && segment.text.includes(answerMarker),
  );
  const paths = tree.blocks.flatMap((block) => block.paths);
  const found: Record<(typeof SPOKEN)[number], boolean> = {
    answer_in_path: has('path'),
    answer_only_in_summary: has('summary') && !has('trunk'),
    answer_before_block: answered >= 0 && tree.segments.slice(answered + 1).some(({ block }) => block > 0),
    several_answers: new Set(given).size > 1,
    unsupported_answer:
      tree.blocks.length > 0 &&
      answer !== null &&
      !paths.some(
        (path) => intermediateAnswer(path) === answer || answersIn(path, answerMarker).includes(answer),
      ),
    spelled_tags: spelledTags(text) > tagTokens(response, ids),
    tags_in_prompt: tagTokens(prompt, ids) > 0,
  };
  return SPOKEN.filter((name) => found[name]);
}

/** What stands behind each marker, up to the end of its line. */
function answersIn(text: string, marker: string): string[] {
  return text
    .split(marker)
    .slice(1)
    .map((rest) => rest.trimStart().split('\n')[0].trim())
    .filter((answer) => answer !== '');
}

function tagTokens(tokens: ArrayLike<number>, ids: SpecialIds): number {
  const tags = new Set([ids.parallel, ids.parallelEnd, ids.path, ids.pathEnd, ids.summary, ids.summaryEnd]);
  let count = 0;
  for (let t = 0; t < tokens.length; t++) if (tags.has(tokens[t])) count++;
  return count;
}

function spelledTags(text: string): number {
  return TAGS.reduce((count, tag) => count + text.split(tag).length - 1, 0);
}
