/**
 * Loads a data file: bytes → rows of the file → rows of the data set, one at a time, so that neither the file nor its text
 * is ever in memory whole. What can't be used is reported; nothing vanishes.
 */
import { messageOf, UserError } from '../../base/assert.ts';
import { zipMembers } from './read/archive.ts';
import { type ByteSource, gunzipped, peek } from './read/bytes.ts';
import { csvRows } from './read/csv-rows.ts';
import { HEAD_BYTES, kindOf } from './read/detect.ts';
import { jsonRows } from './read/json-rows.ts';
import { asUtf8, utf16Of } from './read/lines.ts';
import { parquetRows } from './read/parquet-rows.ts';
import { type RawRow, type ReadOptions, SNIPPET } from './read/raw-row.ts';
import { textRows } from './read/text-rows.ts';
import type { Column, DatasetReport, IssueReason, Repair, RowIssue } from './report.ts';
import { isRefusal, type RawRecord } from './shapes/fields.ts';
import { type Mapping, recognise } from './shapes/shapes.ts';
import { TextTable } from './table.ts';

/** What to do with rows that are no good: leave them out, mend those that can be mended, or take nothing. */
export type Policy = 'skip' | 'fix' | 'abort';

export interface LoadOptions {
  policy?: Policy;
  mapping?: Mapping | null;
  /** How many issues the report lists (it counts them all). */
  maxIssues?: number;
  /** Read no more than this many rows; the report counts these only. */
  maxRows?: number;
  /** A longer row is reported instead of being kept in memory. */
  maxCharacters?: number;
  signal?: AbortSignal;
  /** Called after every few rows. */
  progress?(rows: number, table: TextTable): void | Promise<void>;
}

export interface LoadedTable {
  table: TextTable;
  report: DatasetReport;
}

/** Archives within archives: one is a habit (jsonl.gz in a zip), more is a trap. */
const MOST_NESTING = 2;
const ROWS_PER_PROGRESS = 256;
const EXAMPLES = 3;

/** The data files that a dropped file holds: itself, unpacked, or the members of an archive. */
export async function* dataFiles(source: ByteSource, nesting = 0): AsyncGenerator<ByteSource> {
  const [head, again] = await peek(source, HEAD_BYTES);
  const { kind } = kindOf(source.name, head);
  if (kind !== 'gzip' && kind !== 'zip') {
    yield again;
    return;
  }
  if (nesting === MOST_NESTING)
    throw new UserError(`${source.name} has archives within archives. Unpack it and drop the files in it.`);
  if (kind === 'gzip') yield* dataFiles(gunzipped(again), nesting + 1);
  else
    for await (const member of zipMembers(again)) {
      // Pictures and the like beside the data are nobody's rows.
      if (!/\.(jsonl?|ndjson|csv|tsv|txt|md|text|parquet|gz)$/i.test(member.name)) continue;
      yield* dataFiles(member, nesting + 1);
    }
}

async function* rowsOf(source: ByteSource, options: ReadOptions): AsyncGenerator<RawRow> {
  const [head, again] = await peek(source, HEAD_BYTES);
  const kind = kindOf(source.name, head);
  const utf16 = utf16Of(head);
  if (utf16) options.note('The file is UTF-16; places are counted in the same text as UTF-8.');
  const text = utf16 ? { ...again, stream: () => asUtf8(again.stream(), utf16) } : again;
  switch (kind.kind) {
    case 'json':
      return yield* jsonRows(text, kind.array, options);
    case 'csv':
      return yield* csvRows(text, kind.delimiter, options);
    case 'text':
      return yield* textRows(text, kind.lineByLine, options);
    case 'parquet':
      return yield* parquetRows(again, options);
    case 'gzip':
    case 'zip':
      throw new UserError(`${source.name} is an archive. Unpack it and drop the files in it.`);
    default:
      return kind satisfies never;
  }
}

const shown = (value: unknown): string =>
  (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).slice(0, SNIPPET);

/** Columns of the first records, with a few values each. */
class Columns {
  private readonly columns = new Map<string, string[]>();

  see(record: RawRecord): void {
    for (const [key, value] of Object.entries(record)) {
      const examples = this.columns.get(key) ?? [];
      if (examples.length < EXAMPLES && value !== null && value !== '') examples.push(shown(value));
      if (this.columns.size < 100) this.columns.set(key, examples);
    }
  }

  get list(): Column[] {
    return [...this.columns].map(([name, examples]) => ({ name, examples }));
  }
}

const increment = <K>(counts: Map<K, number>, key: K): void => {
  counts.set(key, (counts.get(key) ?? 0) + 1);
};

/**
 * Reads one data file. Throws a UserError when nothing of it can be used: not text, empty, or no good row at all; and under
 * the policy `abort` at the first row that is no good.
 */
export async function loadTable(source: ByteSource, options: LoadOptions = {}): Promise<LoadedTable> {
  const { policy = 'skip', mapping = null, maxIssues = 100, maxRows = Number.POSITIVE_INFINITY } = options;
  const { maxCharacters = 16_000_000, signal, progress } = options;
  const { name } = source;
  const table = new TextTable(name);
  const columns = new Columns();
  const notes = new Set<string>();
  const issues: RowIssue[] = [];
  const byReason = new Map<IssueReason, number>();
  const repairs = new Map<Repair, number>();
  const formats = new Map<string, number>();
  let [rows, issueCount, fixable, answers, completions] = [0, 0, 0, 0, 0];

  const report = (place: RawRow, code: IssueReason, reason: string, text: string): void => {
    issueCount++;
    increment(byReason, code);
    const issue = {
      line: place.line,
      byte: place.byte,
      code,
      reason,
      snippet: text.trim().slice(0, SNIPPET),
    };
    if (policy === 'abort')
      throw new UserError(
        `${name} was not loaded, because row ${rows} (line ${issue.line}, byte ${issue.byte}) is no good: ${reason}. It begins ${JSON.stringify(issue.snippet)}. Choose “skip” to load the others.`,
      );
    if (issues.length < maxIssues) issues.push(issue);
  };

  const read = rowsOf(source, { fix: policy === 'fix', maxCharacters, note: (text) => notes.add(text) });
  for await (const raw of read) {
    if (rows >= maxRows) break;
    rows++;
    if (raw.kind === 'bad') {
      if (raw.fixable) fixable++;
      report(raw, raw.code, raw.reason, raw.text);
    } else {
      if (columnsWanted(rows)) columns.see(raw.record);
      const { row, format } = recognise(raw.record, mapping);
      if (isRefusal(row)) report(raw, row.code, row.reason, raw.text());
      else {
        table.append(row);
        increment(formats, format);
        if (row.answer !== null) answers++;
        if (row.completion !== '') completions++;
        for (const repair of raw.repairs) increment(repairs, repair);
      }
    }
    if (rows % ROWS_PER_PROGRESS === 0) {
      signal?.throwIfAborted();
      await progress?.(rows, table);
    }
  }
  signal?.throwIfAborted();

  if (rows === 0) throw new UserError(`${name} is empty: it has no row with text.`);
  const first = table.length > 0 ? table.row(0) : null;
  return {
    table,
    report: {
      name,
      format: [...formats]
        .sort((a, b) => b[1] - a[1])
        .map(([format]) => format)
        .join(', '),
      rows,
      kept: table.length,
      issues,
      issueCount,
      sample: first && { prompt: first.prompt, completion: first.completion || `(answer: ${first.answer})` },
      issuesByReason: Object.fromEntries(byReason),
      repairs: Object.fromEntries(repairs),
      fixable,
      columns: columns.list,
      notes: [...notes],
      answers,
      completions,
      bytes: table.bytes,
      hash: table.contentHash,
    },
  };
}

/** The first rows tell what columns there are, and later ones a few more. */
const columnsWanted = (row: number): boolean => row <= 50 || (row < 100_000 && row % 1000 === 0);

/** Why a file without a single good row can't be trained on, and what would help. */
export function nothingKept({ name, rows, issues, columns = [] }: DatasetReport): string {
  const [first] = issues;
  const why = first ? ` Line ${first.line}: ${first.reason}.` : '';
  const listed = columns.map((column) => column.name).join(', ');
  return `${name} has no usable row (${rows} read).${why} ${
    listed ? `Say which of its columns (${listed}) is the prompt, the completion or the answer, or` : 'Or'
  } write rows like {"question": …, "answer": "… #### 42"}, {"prompt": …, "completion": …} or {"text": …}.`;
}

/** Words for an error of a load that is no UserError: the reader met something that nobody thought of. */
export const loadFailure = (name: string, error: unknown): string =>
  error instanceof UserError
    ? error.message
    : `${name} could not be read: ${messageOf(error)}. Nothing of it was taken; please report it with this text.`;
