/**
 * Whether a written trajectory may be learned from: Algorithm 1 of Parallel-R1 (a stack over the tags), then the strict
 * format check of our rewards, then the answer.
 *
 * How it differs from the paper: (1) Algorithm 1 alone lets empty paths and missing summaries pass, so `checkFormat`
 * follows it; (2) a text without a block is refused, since a cold start is there to teach blocks; (3) a wrong answer is
 * refused; (4) blanks around tags are written as a rollout's runtime writes them, so that what is trained is what is met.
 */
import type { Problem } from '../../data/example.ts';
import { isRight, type Task } from '../../data/tasks/task.ts';
import { checkFormat, HOLLOW } from '../../reward/format.ts';
import { verify } from '../../reward/verifier.ts';
import { type SpecialIds, TAGS } from '../../tokenizer/tags.ts';

/** Why a problem gave no row. */
export const REJECTIONS = {
  request_failed: 'the request failed',
  truncated: 'cut off at the token limit',
  empty: 'no text',
  no_block: 'no parallel block',
  malformed_tags: 'malformed tags',
  no_answer: 'no final answer',
  wrong_answer: 'wrong answer',
  no_gold: 'the problem has no usable answer',
} as const;
export type Rejection = keyof typeof REJECTIONS;

export type Checked = { completion: string } | { reason: Rejection; detail: string };

export interface TextCheck {
  /** Judges the answer of a text whose format is right; null: it is right. */
  answer(text: string, problem: ColdProblem): { reason: Rejection; detail: string } | null;
  /** What a runtime writes between </Parallel> and <Summary>: a newline in the paper, nothing in the small tasks. */
  beforeSummary: string;
  /** Also refuse well-formed blocks that teach nothing: identical paths, copied summaries (`HOLLOW`). */
  strict: boolean;
}

export type ColdProblem = Pick<Problem, 'prompt' | 'answer'>;

const PIECE = /<\/?(?:Parallel|Path|Summary)>|[^\s<]+|</g;
/** Ids of the tags; words are numbered from 9 on. Blanks are no tokens here. */
const IDS: SpecialIds = {
  pad: -1,
  bos: -1,
  eos: 0,
  parallel: 1,
  parallelEnd: 2,
  path: 3,
  pathEnd: 4,
  summary: 5,
  summaryEnd: 6,
  beforeSummary: [],
};

/** Algorithm 1: each closing tag closes the tag that was opened last, and none stays open. */
export function tagsBalance(text: string): boolean {
  const open: string[] = [];
  for (const [tag] of text.matchAll(/<\/?(?:Parallel|Path|Summary)>/g)) {
    if (!tag.startsWith('</')) open.push(tag);
    else if (open.pop() !== tag.replace('/', '')) return false;
  }
  return open.length === 0;
}

/** The format check of rewards, on words instead of a vocabulary's tokens. */
function formatOf(text: string, strict: boolean) {
  const words = new Map<string, number>();
  const tokens = [...text.matchAll(PIECE)].map(([piece]) => {
    const tag = TAGS.indexOf(piece as (typeof TAGS)[number]);
    if (tag >= 0) return tag + 1;
    const known = words.get(piece) ?? 9 + words.size;
    words.set(piece, known);
    return known;
  });
  return checkFormat(tokens, IDS, { refuse: strict ? HOLLOW : [] });
}

/** One spelling of the blanks around tags, that of a rollout; null where a block holds text outside of its paths. */
export function canonical(text: string, beforeSummary: string): string | null {
  const tidy = text
    .trim()
    .replace(/<(Path|Summary)>\s+/g, '<$1>')
    .replace(/\s+<\/(Path|Summary)>/g, '</$1>')
    .replace(/<Parallel>\s+<Path>/g, '<Parallel><Path>')
    .replace(/<\/Path>\s+(<Path>|<\/Parallel>)/g, '</Path>$1')
    .replace(/<\/Parallel>\s*<Summary>/g, `</Parallel>${beforeSummary}<Summary>`);
  return /<Parallel>(?!<Path>)|<\/Path>(?!<Path>|<\/Parallel>)/.test(tidy) ? null : tidy;
}

/** @param truncated the writer ran into its token limit */
export function checkText(
  text: string,
  truncated: boolean,
  problem: ColdProblem,
  { answer, beforeSummary, strict }: TextCheck,
): Checked {
  const refuse = (reason: Rejection, detail: string): Checked => ({ reason, detail });
  if (truncated) return refuse('truncated', 'The text ends at the token limit. Raise the limit.');
  if (text.trim() === '') return refuse('empty', 'The reply holds no text.');
  if (!tagsBalance(text)) return refuse('malformed_tags', 'Tags do not balance (Algorithm 1).');
  const format = formatOf(text, strict);
  if (!format.valid) return refuse('malformed_tags', format.faults.join('; '));
  if (format.blocks === 0) return refuse('no_block', 'The text solves the problem in one thread.');
  const completion = canonical(text, beforeSummary);
  if (completion === null) return refuse('malformed_tags', 'A block has text outside of its paths.');
  return answer(completion, problem) ?? { completion };
}

/** For problems in words: the last lines must say `Final Answer: X`, as the paper extracts it, and the verifier agree. */
export const freeText = (options: Partial<TextCheck> = {}): TextCheck => ({
  beforeSummary: '\n',
  strict: true,
  answer(text, { prompt, answer }) {
    const { correct, extracted, reason } = verify(text, answer, prompt);
    if (reason === 'no_gold')
      return { reason, detail: `The answer of the problem is ${JSON.stringify(answer)}.` };
    if (reason === 'no_answer' || !/final answer\s*:/i.test(text.slice(-300)))
      return { reason: 'no_answer', detail: 'The text does not end in "Final Answer: X".' };
    return correct
      ? null
      : { reason: 'wrong_answer', detail: `It says ${extracted}, the answer is ${answer} (${reason}).` };
  },
  ...options,
});

/** For problems of a built-in task. Honest derivations of its small problems may be identical, so that is allowed. */
export const taskText = (task: Task): TextCheck => ({
  beforeSummary: '',
  strict: false,
  answer(text, problem) {
    const said = task.extractAnswer(text);
    if (said === null)
      return { reason: 'no_answer', detail: `The text does not end in "${task.answerMarker}X".` };
    return isRight(task, { ...problem, difficulty: '' }, said)
      ? null
      : { reason: 'wrong_answer', detail: `It says ${said}, the answer is ${problem.answer}.` };
  },
});
