/** Rows of data sets, whatever file they came from: what loaders make and stages read. */

/** A turn of a conversation. */
export interface Turn {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

export interface DataRow {
  /** '' for plain text. */
  prompt: string;
  /** What the model is trained to write; '' where a row has only a problem and its answer (for RL and evaluation). */
  completion: string;
  /** The gold answer as text, where there is one. */
  answer: string | null;
  /**
   * The conversation up to and without the completion, where the row is one: rendered with the model's chat template.
   * `prompt` is then the text of its last user turn.
   */
  turns: readonly Turn[] | null;
}

/** A data set that is read row by row, so that its texts need not be strings in memory. */
export interface RowSource {
  readonly name: string;
  readonly length: number;
  row(index: number): DataRow;
}
