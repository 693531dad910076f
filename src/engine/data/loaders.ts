/**
 * Data files: JSON lines in the shapes found in the wild, read chunk by chunk, so that a file never has to fit into
 * one string. A bad row is reported and the rest goes on.
 */
import { messageOf, UserError } from '../../base/assert.ts';
import type { Document } from './example.ts';
import type { DatasetReport, RowIssue } from './report.ts';

export type { DatasetReport, RowIssue } from './report.ts';

/** A problem with its gold answer, as text. */
export interface DatasetProblem {
  prompt: string;
  answer: string;
}

export interface Dataset {
  documents: Document[];
  /** The documents that have a gold answer. */
  problems: DatasetProblem[];
  report: DatasetReport;
}

export interface LoadOptions {
  /** How many issues the report lists (it counts them all). */
  maxIssues?: number;
  /** Read no more than this many rows; the report counts these only. */
  maxRows?: number;
  /** A longer line is reported instead of being kept in memory. */
  maxLineCharacters?: number;
}

const SNIPPET = 120;
const CHUNK_BYTES = 1 << 16;

interface Row extends Document {
  answer: string | null;
}

/** Turns GSM8K's solution into training text: no calculator marks, and the last line the answer check reads. */
function gsm8kRow(question: string, solution: string): Row | string {
  const cut = solution.lastIndexOf('####');
  if (cut < 0) return 'its "answer" has no "#### …" line with the final answer';
  const answer = solution.slice(cut + 4).trim();
  if (answer === '') return 'its "####" line is empty';
  const reasoning = solution
    .slice(0, cut)
    .replace(/<<[^<>]*>>/g, '')
    .trimEnd();
  // Thousands commas go: the gold must compare equal to a plain number.
  const gold = /^-?\d{1,3}(,\d{3})+(\.\d+)?$/.test(answer) ? answer.replaceAll(',', '') : answer;
  return { prompt: question, completion: `${reasoning}\nFinal Answer: ${gold}`, answer: gold };
}

const SHAPES = [
  { format: 'GSM8K: question and answer', keys: ['question', 'answer'], row: gsm8kRow },
  {
    format: 'prompt and completion',
    keys: ['prompt', 'completion'],
    row: (prompt: string, completion: string): Row => ({
      prompt,
      completion,
      answer: finalAnswer(completion),
    }),
  },
  {
    format: 'text',
    keys: ['text'],
    row: (text: string): Row => ({ prompt: '', completion: text, answer: null }),
  },
] as const;

/** The last `Final Answer:` line of a completion, if it has one. */
function finalAnswer(completion: string): string | null {
  const found = [...completion.matchAll(/Final Answer:[ \t]*(\S[^\n]*)/gi)].at(-1);
  return found ? found[1].trim() : null;
}

/** One line to one row, or the reason why not. */
function parseRow(line: string): { row: Row; format: string } | { reason: string } {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    return { reason: `it is not JSON (${messageOf(error).slice(0, SNIPPET)})` };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { reason: 'it is not a JSON object' };
  const record = value as Record<string, unknown>;
  const shape = SHAPES.find(({ keys }) => keys.every((key) => Object.hasOwn(record, key)));
  if (!shape) {
    const keys = Object.keys(record).slice(0, 6).join(', ');
    return {
      reason: `it has neither question and answer, nor prompt and completion, nor text (its keys: ${keys || 'none'})`,
    };
  }
  const texts: string[] = [];
  for (const key of shape.keys) {
    const text = record[key];
    if (typeof text !== 'string')
      return { reason: `its "${key}" is ${text === null ? 'null' : `no text but ${typeof text}`}` };
    if (text.trim() === '') return { reason: `its "${key}" is empty` };
    // "\frac" and "\boxed" with a single backslash are valid JSON: a form feed and a backspace, in silence.
    if (/[\b\f]/.test(text))
      return {
        reason: `its "${key}" has control characters, as under-escaped LaTeX gives ("\\frac" must be "\\\\frac" in JSON)`,
      };
    texts.push(text);
  }
  const row = (shape.row as (...texts: string[]) => Row | string)(...texts);
  return typeof row === 'string' ? { reason: row } : { row, format: shape.format };
}

/** The file's text in pieces. Throws a UserError if it is not UTF-8 text. */
async function* textChunks(name: string, source: Uint8Array | ArrayBuffer | Blob): AsyncGenerator<string> {
  const bytes = source instanceof ArrayBuffer ? new Uint8Array(source) : source;
  const size = bytes instanceof Blob ? bytes.size : bytes.length;
  const decoder = new TextDecoder('utf-8', { fatal: true }); // skips a UTF-8 byte order mark
  for (let at = 0; at < size; at += CHUNK_BYTES) {
    const end = Math.min(size, at + CHUNK_BYTES);
    const chunk =
      bytes instanceof Blob
        ? new Uint8Array(await bytes.slice(at, end).arrayBuffer())
        : bytes.subarray(at, end);
    const [first, second] = chunk;
    if (at === 0 && ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)))
      throw new UserError(`${name} is UTF-16. Save it as UTF-8.`);
    if (chunk.includes(0))
      throw new UserError(`${name} is not a text file: it contains NUL bytes. Drop a .jsonl file.`);
    let text: string;
    try {
      text = decoder.decode(chunk, { stream: end < size });
    } catch {
      throw new UserError(
        `${name} is not UTF-8 text (near byte ${at}). Save it as UTF-8, or drop a .jsonl file.`,
      );
    }
    yield text;
  }
}

/**
 * Reads a .jsonl file. Throws a UserError when nothing of it can be used: not text, empty, or no good row at all.
 * A line ends with LF, CRLF or CR; U+2028 inside a string does not end one.
 */
export async function loadDataset(
  name: string,
  source: Uint8Array | ArrayBuffer | Blob,
  options: LoadOptions = {},
): Promise<Dataset> {
  const { maxIssues = 100, maxRows = Number.POSITIVE_INFINITY, maxLineCharacters = 16_000_000 } = options;
  const documents: Document[] = [];
  const problems: DatasetProblem[] = [];
  const issues: RowIssue[] = [];
  const formats = new Map<string, number>();
  let [line, rows, issueCount] = [0, 0, 0];

  const take = (text: string, tooLong = false): void => {
    line++;
    if ((text.trim() === '' && !tooLong) || rows >= maxRows) return;
    rows++;
    const parsed = tooLong ? { reason: `it is longer than ${maxLineCharacters} characters` } : parseRow(text);
    if ('reason' in parsed) {
      issueCount++;
      if (issues.length < maxIssues)
        issues.push({ line, reason: parsed.reason, snippet: text.trim().slice(0, SNIPPET) });
      return;
    }
    const { prompt, completion, answer } = parsed.row;
    documents.push({ prompt, completion });
    if (answer !== null && prompt !== '') problems.push({ prompt, answer });
    formats.set(parsed.format, (formats.get(parsed.format) ?? 0) + 1);
  };

  // A line may span chunks: its pieces are joined once, when it ends.
  let pieces: string[] = [];
  let length = 0;
  let afterReturn = false;
  const end = (rest: string) => {
    if (length + rest.length > maxLineCharacters) take((pieces[0] ?? rest).slice(0, SNIPPET), true);
    else take(pieces.join('') + rest);
    pieces = [];
    length = 0;
  };
  for await (const chunk of textChunks(name, source)) {
    if (chunk === '') continue;
    // CRLF may be split between two chunks.
    const text = afterReturn && chunk.startsWith('\n') ? chunk.slice(1) : chunk;
    afterReturn = chunk.endsWith('\r');
    const lines = text.split(/\r\n|\n|\r/);
    for (const complete of lines.slice(0, -1)) end(complete);
    const rest = lines[lines.length - 1];
    length += rest.length;
    // Of a line that is too long only the beginning is kept, for the report.
    if (rest !== '' && (length <= maxLineCharacters || pieces.length === 0)) pieces.push(rest);
    if (rows >= maxRows) break;
  }
  if (length > 0 && rows < maxRows) end('');

  if (rows === 0) throw new UserError(`${name} is empty: it has no row with text.`);
  if (documents.length === 0) {
    const [{ line: at, reason }] = issues.length ? issues : [{ line: 1, reason: 'unknown' }];
    throw new UserError(
      `${name} has no usable row (${rows} read). Line ${at}: ${reason}. A row looks like {"question": …, "answer": "… #### 42"}, {"prompt": …, "completion": …} or {"text": …}, each on one line.`,
    );
  }
  const [first] = documents;
  return {
    documents,
    problems,
    report: {
      name,
      format: [...formats]
        .sort((a, b) => b[1] - a[1])
        .map(([format]) => format)
        .join(', '),
      rows,
      kept: documents.length,
      issues,
      issueCount,
      sample: { prompt: first.prompt, completion: first.completion },
    },
  };
}
