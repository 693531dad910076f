/** A row that could not be used. */
export interface RowIssue {
  /** 1-based, as an editor counts. */
  line: number;
  reason: string;
  /** The beginning of the row. */
  snippet: string;
}

/** What became of a data file. Rows that are read = kept + issueCount: nothing is dropped unseen. */
export interface DatasetReport {
  name: string;
  /** In words: what the first rows were recognised as. */
  format: string;
  /** Rows with text; blank lines are none. */
  rows: number;
  kept: number;
  /** The first of them; `issueCount` counts all. */
  issues: RowIssue[];
  issueCount: number;
  sample: { prompt: string; completion: string } | null;
}
