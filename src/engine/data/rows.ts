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

/** Rows in memory. */
export class RowList implements RowSource {
  private readonly rows: readonly DataRow[];

  /** What a row leaves out is empty. */
  constructor(
    readonly name: string,
    rows: readonly Partial<DataRow>[],
  ) {
    this.rows = rows.map((row) => ({ prompt: '', completion: '', answer: null, turns: null, ...row }));
  }

  get length(): number {
    return this.rows.length;
  }

  row(index: number): DataRow {
    return this.rows[index];
  }
}

/** Several data sets as one, one after the other. */
export class JoinedRows implements RowSource {
  readonly length: number;

  constructor(
    readonly name: string,
    private readonly parts: readonly RowSource[],
  ) {
    this.length = parts.reduce((sum, part) => sum + part.length, 0);
  }

  row(index: number): DataRow {
    let at = index;
    for (const part of this.parts) {
      if (at < part.length) return part.row(at);
      at -= part.length;
    }
    throw new RangeError(`row ${index} of ${this.length}`);
  }
}

export function* rowsOf(source: RowSource): Generator<DataRow> {
  for (let i = 0; i < source.length; i++) yield source.row(i);
}
