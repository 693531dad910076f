/** A row as a file has it, before anyone knows what its columns mean. */
import type { IssueReason, Repair } from '../report.ts';

export interface RawPlace {
  /** 1-based line, or row of a table. */
  line: number;
  /** Offset in the text as UTF-8. */
  byte: number;
}

export type RawRow = RawPlace &
  (
    | { kind: 'row'; record: Readonly<Record<string, unknown>>; repairs: readonly Repair[]; text(): string }
    | { kind: 'bad'; code: IssueReason; reason: string; text: string; fixable: boolean }
  );

export interface ReadOptions {
  /** Mend what can be mended without guessing at the meaning. */
  fix: boolean;
  /** A longer row is reported instead of being kept in memory. */
  maxCharacters: number;
  /** Told things to know that are no fault. */
  note(text: string): void;
}

/** Characters of a row that a report shows. */
export const SNIPPET = 120;
