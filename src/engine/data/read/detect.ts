/** What a file is, by its content first and its name second. */
import { UserError } from '../../../base/assert.ts';
import { delimiterOf } from './csv-rows.ts';
import { utf16Of } from './lines.ts';
import { isLineByLine } from './text-rows.ts';

export type FileKind =
  | { kind: 'gzip' }
  | { kind: 'zip' }
  | { kind: 'parquet' }
  | { kind: 'json'; array: boolean }
  | { kind: 'csv'; delimiter: string }
  | { kind: 'text'; lineByLine: boolean };

/** Bytes that a look at the beginning takes. */
export const HEAD_BYTES = 1 << 16;

const starts = (head: Uint8Array, bytes: readonly number[]): boolean =>
  bytes.every((byte, i) => head[i] === byte);

/** @throws UserError for a file that has no rows in it, whatever one does */
export function kindOf(name: string, head: Uint8Array): FileKind {
  if (head.length === 0) throw new UserError(`${name} is empty: it has no row with text.`);
  if (starts(head, [0x1f, 0x8b])) return { kind: 'gzip' };
  if (starts(head, [0x50, 0x4b, 3, 4]) || starts(head, [0x50, 0x4b, 5, 6])) return { kind: 'zip' };
  if (starts(head, [0x50, 0x41, 0x52, 0x31])) return { kind: 'parquet' };
  const utf16 = utf16Of(head);
  if (!utf16 && head.includes(0))
    throw new UserError(
      `${name} is not a text file: it contains NUL bytes. Data comes as jsonl, json, csv, tsv, txt or parquet, or as gz or zip of these.`,
    );
  const text = new TextDecoder(utf16 ?? 'utf-8').decode(head);
  // The last line may be cut.
  const lines = text.split(/\r\n|\n|\r/);
  const whole = lines.length > 1 && head.length >= HEAD_BYTES ? lines.slice(0, -1) : lines;
  const begin = text.trimStart();
  if (begin === '') throw new UserError(`${name} is empty: it has no row with text.`);
  const csv = (): FileKind => ({ kind: 'csv', delimiter: delimiterOf(whole.slice(0, 40), name) });
  if (/\.(csv|tsv)(\.gz)?$/i.test(name)) return csv();
  if (begin.startsWith('{') || /\.(jsonl|ndjson)(\.gz)?$/i.test(name))
    return { kind: 'json', array: begin.startsWith('[') };
  if (begin.startsWith('[') && (/\.json(\.gz)?$/i.test(name) || /^\[\s*[{"\]]/.test(begin)))
    return { kind: 'json', array: true };
  if (/\.json(\.gz)?$/i.test(name)) return { kind: 'json', array: false };
  if (/\.(txt|md|text)(\.gz)?$/i.test(name))
    return { kind: 'text', lineByLine: isLineByLine(whole.slice(0, 400)) };
  // No name that says it: a table has the same few fields in every line.
  const table = csv() as Extract<FileKind, { kind: 'csv' }>;
  const counts = whole
    .filter((line) => line.trim() !== '')
    .slice(0, 20)
    .map((line) => line.split(table.delimiter).length);
  if (counts.length > 1 && counts[0] > 1 && counts.every((count) => count === counts[0])) return table;
  return { kind: 'text', lineByLine: isLineByLine(whole.slice(0, 400)) };
}
