/** What shapes ask of a record. */

import type { IssueReason } from '../report.ts';
import type { DataRow } from '../rows.ts';

export type RawRecord = Readonly<Record<string, unknown>>;

/** Why a record that has the shape's keys is no row. */
export interface Refusal {
  code: IssueReason;
  reason: string;
}

/** One way in which people write examples down. */
export interface Shape {
  /** In words, for the report. */
  format: string;
  /** Whether the record has this shape's keys, whatever stands in them. */
  fits(record: RawRecord): boolean;
  row(record: RawRecord): DataRow | Refusal;
}

export const isRefusal = (row: DataRow | Refusal): row is Refusal => 'code' in row;

export const has = (record: RawRecord, ...keys: string[]): boolean =>
  keys.every((key) => Object.hasOwn(record, key));

/** The first of the keys that the record has. */
export const firstOf = (record: RawRecord, keys: readonly string[]): string | null =>
  keys.find((key) => Object.hasOwn(record, key)) ?? null;

export const refuse = (code: IssueReason, reason: string): Refusal => ({ code, reason });

/** A text that must be there. Numbers are texts too: `"answer": 39`. */
export function textOf(record: RawRecord, key: string): string | Refusal {
  const value = record[key];
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string')
    return refuse(
      'wrong-type',
      `its "${key}" is ${value === null || value === undefined ? 'null' : Array.isArray(value) ? 'a list' : `no text but ${typeof value}`}`,
    );
  if (value.trim() === '') return refuse('empty', `its "${key}" is empty`);
  // "\frac" and "\boxed" with a single backslash are valid JSON: a form feed and a backspace, in silence.
  if (/[\b\f]/.test(value))
    return refuse(
      'control-characters',
      `its "${key}" has control characters, as under-escaped LaTeX gives ("\\frac" must be "\\\\frac" in JSON)`,
    );
  return value;
}

/** Gold answers that say that there is none. */
export const isNoAnswer = (text: string): boolean => /^(none|null|nan|n\/a|unknown|)$/i.test(text.trim());

/** Thousands commas go: the gold must compare equal to a plain number. "145.0" is 145. */
export function plainAnswer(text: string): string {
  const trimmed = text.trim();
  const number = /^-?\d{1,3}(,\d{3})+(\.\d+)?$/.test(trimmed) ? trimmed.replaceAll(',', '') : trimmed;
  return number.replace(/^(-?\d+)\.0+$/, '$1');
}

/** The last `Final Answer:` line of a completion, if it has one. */
export function finalAnswer(completion: string): string | null {
  const found = [...completion.matchAll(/Final Answer:[ \t]*(\S[^\n]*)/gi)].at(-1);
  return found ? found[1].trim() : null;
}
