/** Problems with solutions or gold answers, pairs of prompt and completion, instructions, and plain text. */
import type { DataRow } from '../rows.ts';
import {
  finalAnswer,
  firstOf,
  has,
  isNoAnswer,
  plainAnswer,
  type RawRecord,
  type Refusal,
  refuse,
  type Shape,
  textOf,
} from './fields.ts';

const QUESTIONS = [
  'question',
  'problem',
  'Problem',
  'Question',
  'prompt',
  'query',
  'input',
  'instruction',
] as const;
const ANSWERS = [
  'answer',
  'Answer',
  'final_answer',
  'expected_answer',
  'ground_truth',
  'gold',
  'target',
  'label',
  'gt_answer',
] as const;
/** A gold answer is a number or a few words; longer, it is a solution. */
const LONGEST_ANSWER = 80;

/** Texts of the keys, or why the first of them that is none is none. */
function texts(record: RawRecord, ...keys: string[]): string[] | Refusal {
  const out: string[] = [];
  for (const key of keys) {
    const text = textOf(record, key);
    if (typeof text !== 'string') return text;
    out.push(text);
  }
  return out;
}

/** GSM8K's solution as training text: no calculator marks, and the last line that the answer check reads. */
function gsm8kRow(question: string, solution: string): DataRow | Refusal {
  const cut = solution.lastIndexOf('####');
  const gold = solution.slice(cut + 4).trim();
  if (gold === '') return refuse('no-answer', 'its "####" line is empty');
  const reasoning = solution
    .slice(0, cut)
    .replace(/<<[^<>]*>>/g, '')
    .trimEnd();
  const answer = plainAnswer(gold);
  return { prompt: question, completion: `${reasoning}\nFinal Answer: ${answer}`, answer, turns: null };
}

/** What stands in the last balanced \boxed{…}, or null. */
export function lastBoxed(text: string): string | null {
  const start = Math.max(text.lastIndexOf('\\boxed{'), text.lastIndexOf('\\fbox{'));
  if (start < 0) return null;
  const open = text.indexOf('{', start);
  let depth = 0;
  for (let i = open; i < text.length; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === '{') depth++;
    else if (text[i] === '}' && --depth === 0) return text.slice(open + 1, i).trim();
  }
  return null;
}

const pair = (prompt: string, completion: string): DataRow => ({
  prompt,
  completion,
  answer: finalAnswer(completion),
  turns: null,
});

/** A problem whose gold is known and whose solution is not: for RL and evaluation. */
function problem(prompt: string, gold: string, key: string): DataRow | Refusal {
  if (isNoAnswer(gold)) return refuse('no-answer', `its "${key}" says that there is no answer (${gold})`);
  return { prompt, completion: '', answer: plainAnswer(gold), turns: null };
}

export const PROBLEM_SHAPES: readonly Shape[] = [
  {
    format: 'prompt and completion',
    fits: (record) => has(record, 'prompt') && firstOf(record, ['completion', 'response']) !== null,
    row(record) {
      const found = texts(record, 'prompt', firstOf(record, ['completion', 'response'])!);
      return Array.isArray(found) ? pair(found[0], found[1]) : found;
    },
  },
  {
    format: 'Alpaca: instruction, input, output',
    fits: (record) => has(record, 'instruction', 'output'),
    row(record) {
      const found = texts(record, 'instruction', 'output');
      if (!Array.isArray(found)) return found;
      const { input } = record;
      if (input !== undefined && input !== null && typeof input !== 'string')
        return refuse('wrong-type', `its "input" is no text but ${typeof input}`);
      const prompt = input?.trim() ? `${found[0]}\n\n${input}` : found[0];
      return pair(prompt, found[1]);
    },
  },
  {
    format: 'MATH: problem and solution',
    fits: (record) => firstOf(record, ['problem', 'question']) !== null && has(record, 'solution'),
    row(record) {
      const found = texts(record, firstOf(record, ['problem', 'question'])!, 'solution');
      if (!Array.isArray(found)) return found;
      const [prompt, completion] = found;
      const own = record.answer;
      const gold =
        typeof own === 'string' || typeof own === 'number' ? plainAnswer(String(own)) : lastBoxed(completion);
      return { prompt, completion, answer: gold ?? finalAnswer(completion), turns: null };
    },
  },
  {
    format: 'SVAMP: body, question and answer',
    fits: (record) => has(record, 'Body', 'Question', 'Answer'),
    row(record) {
      const found = texts(record, 'Body', 'Question', 'Answer');
      if (!Array.isArray(found)) return found;
      const [body, question, answer] = found;
      return problem(`${body.replace(/[^.?!]$/, '$&.')} ${question}`, answer, 'Answer');
    },
  },
  {
    format: 'GSM8K: question and answer',
    fits: ({ question, answer }) =>
      question !== undefined && typeof answer === 'string' && answer.includes('####'),
    row(record) {
      const found = texts(record, 'question', 'answer');
      return Array.isArray(found) ? gsm8kRow(found[0], found[1]) : found;
    },
  },
  {
    format: 'problem and answer',
    fits: (record) => firstOf(record, QUESTIONS) !== null && firstOf(record, ANSWERS) !== null,
    row(record) {
      const key = firstOf(record, ANSWERS)!;
      const found = texts(record, firstOf(record, QUESTIONS)!, key);
      if (!Array.isArray(found)) return found;
      const [question, answer] = found;
      if (answer.length <= LONGEST_ANSWER && !answer.includes('\n')) return problem(question, answer, key);
      const gold = finalAnswer(answer) ?? lastBoxed(answer);
      if (gold === null)
        return refuse(
          'no-answer',
          `its "${key}" is a text that ends in no answer: no "#### …", "Final Answer: …" or \\boxed{…}`,
        );
      return { prompt: question, completion: answer, answer: plainAnswer(gold), turns: null };
    },
  },
  {
    format: 'text',
    fits: (record) => firstOf(record, ['text', 'content']) !== null,
    row(record) {
      const found = texts(record, firstOf(record, ['text', 'content'])!);
      return Array.isArray(found) ? { prompt: '', completion: found[0], answer: null, turns: null } : found;
    },
  },
];
