/** Why a row could not be used. */
export const ISSUE_REASONS = {
  'not-json': 'not JSON',
  'cut-off': 'cut off',
  'not-an-object': 'not an object',
  'unknown-shape': 'unknown shape',
  'wrong-type': 'wrong type',
  empty: 'empty',
  'control-characters': 'control characters',
  'no-answer': 'no answer',
  'no-reply': 'no reply to learn',
  'too-long': 'too long',
  quotes: 'unbalanced quotes',
  columns: 'wrong number of columns',
} as const;
export type IssueReason = keyof typeof ISSUE_REASONS;

/** What was mended in a row on request. */
export const REPAIRS = {
  latex: 'under-escaped LaTeX',
  'raw-newline': 'raw line breaks in strings',
  'trailing-comma': 'trailing commas',
  'single-quotes': 'single quotes',
  'bare-number': 'NaN or Infinity',
  encoding: 'bytes that are not UTF-8, read as Latin-1',
} as const;
export type Repair = keyof typeof REPAIRS;

/** A row that could not be used. */
export interface RowIssue {
  /** 1-based, as an editor counts; of a parquet file, the row. */
  line: number;
  /** Where the row begins in the text, as UTF-8. */
  byte?: number;
  code?: IssueReason;
  /** Why, in words. */
  reason: string;
  /** The beginning of the row. */
  snippet: string;
}

export interface Column {
  name: string;
  /** A few of its values, as text. */
  examples: string[];
}

/** What became of a data file. Rows that are read = kept + issueCount: nothing is dropped unseen. */
export interface DatasetReport {
  name: string;
  /** In words: what the rows were recognised as. */
  format: string;
  /** Rows with text; blank lines are none. */
  rows: number;
  kept: number;
  /** The first of them; `issueCount` counts all. */
  issues: RowIssue[];
  issueCount: number;
  sample: { prompt: string; completion: string } | null;
  /** Of all issues, by reason. */
  issuesByReason?: Partial<Record<IssueReason, number>>;
  /** Rows that were kept because something was mended in them. */
  repairs?: Partial<Record<Repair, number>>;
  /** Rows that the issues would have kept, had they been mended: what *fix* is worth. */
  fixable?: number;
  /** What the file has, for a mapping by hand. */
  columns?: Column[];
  /** Things to know that are no fault: an encoding, keys that came twice. */
  notes?: string[];
  /** Kept rows that have a gold answer, and those that have something to learn to write. */
  answers?: number;
  completions?: number;
  /** Bytes of the kept rows, and a hash of them. */
  bytes?: number;
  hash?: string;
}
