/**
 * Judges free-text answers of mathematics problems: finds the one final answer of a response, and compares it with the
 * gold one. Strict, because a reward is what a policy learns to exploit: two different answers are wrong, whatever the
 * order, and text that can't be read is wrong. Arithmetic isn't done (5^(5^(5^5)) is a text), algebra has a budget, every scan is
 * linear and answers are short, so a verdict can't hang. What two texts are equal is decided in `answer-value.ts`.
 *
 * How it differs from Parallel-R1, which judges by the last \boxed: (1) answers inside <Path> are candidates of that path
 * and no final answer, so paths may disagree; (2) a <Summary> is read only where the trunk has no answer.
 */
import { equivalent, LONGEST, sameness } from './answer-value.ts';

export type VerdictReason =
  | 'equal'
  /** Both could be read, as numbers or texts, and differ. */
  | 'different'
  /** No final answer was found: together with `too_long`, the parse-failure rate. */
  | 'no_answer'
  | 'too_long'
  /** At least two final answers that differ (hedging). */
  | 'several_answers'
  /** Equal to the gold only by algebra, and written in the question: "factor x² + x" is not answered by x² + x. */
  | 'restated'
  /** The data set has no usable answer here ("None", empty): the row says nothing about the policy. */
  | 'no_gold';

export interface Verdict {
  correct: boolean;
  /** The final answer as it was written, or null. */
  extracted: string | null;
  reason: VerdictReason;
}

const PATHS = /<Parallel>[\s\S]*?(?:<\/Parallel>|$)/g;
const SUMMARIES = /<Summary>([\s\S]*?)(?:<\/Summary>|$)/g;

/** Different texts that all mean one answer; more is hedging by spelling, and bounds the comparisons. */
const MOST_SPELLINGS = 20;

/**
 * @param gold the answer alone, or a solution that ends in one (GSM8K: `… #### 18`)
 * @param question if given, an expression copied from it is no answer unless it is the gold as written
 */
export function verify(response: string, gold: string, question = ''): Verdict {
  const golden = (answersIn(gold).at(-1) ?? gold).trim();
  if (golden === '' || golden.length > LONGEST || /^(?:none|null|nan)$/i.test(golden))
    return { correct: false, extracted: null, reason: 'no_gold' };
  const answers = finalAnswers(response);
  const last = answers.at(-1);
  if (last === undefined) return { correct: false, extracted: null, reason: 'no_answer' };
  if (answers.some((answer) => answer.length > LONGEST))
    return { correct: false, extracted: last.slice(0, LONGEST), reason: 'too_long' };
  const spellings = [...new Set(answers)];
  if (spellings.length > MOST_SPELLINGS || !spellings.every((answer) => equivalent(answer, last)))
    return { correct: false, extracted: last, reason: 'several_answers' };
  const same = sameness(last, golden);
  if (same === 'symbols' && stands(last, question))
    return { correct: false, extracted: last, reason: 'restated' };
  return { correct: same !== null, extracted: last, reason: same !== null ? 'equal' : 'different' };
}

/** Does an expression stand in a text, spaces and TeX's spacing apart? */
function stands(expression: string, text: string): boolean {
  const tight = (written: string) => written.replace(/\s|\$|\\(?:left|right|[!,;:])/g, '');
  return tight(text).includes(tight(expression));
}

/** The final answers of a response: those of the trunk, or if it has none, of the summaries. */
function finalAnswers(response: string): string[] {
  const trunk = response.replace(PATHS, '\n');
  const own = answersIn(trunk.replace(SUMMARIES, '\n'));
  if (own.length > 0) return own;
  return [...trunk.matchAll(SUMMARIES)].flatMap(([, summary]) => answersIn(summary));
}

/**
 * `Final Answer:` in any case, `Answer:` with a capital ("this is our answer: …" goes on in prose), GSM8K's four hash
 * marks (not the five of a Markdown heading), \boxed.
 */
const SAID = '\\b(?:[Ff]inal answer|(?:(?:[Ff]inal|FINAL) )?(?:Answer|ANSWER)) ?:';
const MARKER = new RegExp(`${SAID}|(?<!#)####(?!#)|\\\\boxed\\b`, 'g');
/** Where the text behind a marker ends: the line's end, the next marker, or a sentence's end. */
const END = new RegExp(`[\\n\\r\\u2028\\u2029]|####|${SAID}|\\.(?=\\s+[^\\s\\d])`);
/** What begins like prose behind `####` is a heading, unless nothing else in the text is marked as an answer. */
const HEADING = /^[a-z]{2,}/i;

/** Every text that is marked as an answer, in order. */
function answersIn(text: string): string[] {
  const found: string[] = [];
  const headings: string[] = [];
  for (const { 0: marker, index } of text.matchAll(MARKER)) {
    const from = index + marker.length;
    // More than the longest answer, so that a longer one is seen to be too long.
    const rest = text.slice(from, from + 2 * LONGEST);
    const answer = marker === '\\boxed' ? boxed(rest) : line(rest);
    if (answer === null || answer === '') continue;
    (marker === '####' && HEADING.test(answer) ? headings : found).push(answer);
    // The verdict is `too_long` whatever follows.
    if (answer.length > LONGEST) break;
  }
  return found.length > 0 ? found : headings;
}

/** The text behind a marker; it may stand on the next line, and in bold. */
function line(rest: string): string {
  const text = rest.replace(/^[\s*]+/, '');
  const end = END.exec(text)?.index ?? text.length;
  // Cut before its end: a thousand spaces may hide another number.
  if (end === text.length && rest.length >= 2 * LONGEST) return rest;
  const answer = text
    .slice(0, end)
    .replace(/^the (?:final )?answer is:?\s+/i, '')
    .trim();
  // A \boxed is found by its own mark.
  return answer.includes('\\boxed') ? '' : answer;
}

/** What stands in the braces behind \boxed, or its single token (`\boxed 5`); null if the braces don't balance. */
function boxed(rest: string): string | null {
  const open = /^\s*\{/.exec(rest);
  if (!open) return /^\s*([^\s{}$\\]+)/.exec(rest)?.[1] ?? null;
  let depth = 1;
  for (let i = open[0].length; i < rest.length; i++) {
    // \{ and \} are braces that are printed.
    if (rest[i] === '\\') i++;
    else if (rest[i] === '{') depth++;
    else if (rest[i] === '}' && --depth === 0) {
      const answer = rest.slice(open[0].length, i).trim();
      // An empty frame to be filled in, as some problems draw it.
      return answer.startsWith('\\phantom') ? null : answer;
    }
  }
  return rest.length >= 2 * LONGEST ? rest : null;
}
