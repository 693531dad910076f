/** From a record of a file to a row of a data set: by recognising its shape, or by a mapping that a person gave. */
import type { DataRow } from '../rows.ts';
import { CHAT_SHAPES } from './chats.ts';
import {
  finalAnswer,
  isNoAnswer,
  plainAnswer,
  type RawRecord,
  type Refusal,
  refuse,
  type Shape,
  textOf,
} from './fields.ts';
import { PROBLEM_SHAPES } from './problems.ts';

/** The more special ones first: a preference also has a prompt. */
export const SHAPES: readonly Shape[] = [...CHAT_SHAPES, ...PROBLEM_SHAPES];

/** Which column is what, where a person says so. */
export interface Mapping {
  prompt?: string;
  completion?: string;
  answer?: string;
  /** Plain text to learn whole; excludes the others. */
  text?: string;
}

export interface Recognised {
  row: DataRow | Refusal;
  format: string;
}

/** Cells are texts: `007` stays what it is. */
function mapped(record: RawRecord, { prompt, completion, answer, text }: Mapping): DataRow | Refusal {
  const of = (key: string | undefined): string | null | Refusal => {
    if (!key) return null;
    if (!Object.hasOwn(record, key)) return refuse('columns', `it has no column "${key}"`);
    return textOf(record, key);
  };
  const [whole, asked, reply, gold] = [text, prompt, completion, answer].map(of);
  for (const one of [whole, asked, reply, gold]) if (one !== null && typeof one !== 'string') return one;
  if (typeof whole === 'string') return { prompt: '', completion: whole, answer: null, turns: null };
  const known = typeof gold === 'string' && !isNoAnswer(gold) ? plainAnswer(gold) : null;
  const written = typeof reply === 'string' ? reply : '';
  if (written === '' && known === null) return refuse('empty', 'it has nothing to learn and no answer');
  return {
    prompt: typeof asked === 'string' ? asked : '',
    completion: written,
    answer: known ?? finalAnswer(written),
    turns: null,
  };
}

const MAPPED = 'columns as mapped';

export function recognise(record: RawRecord, mapping: Mapping | null): Recognised {
  if (mapping) return { row: mapped(record, mapping), format: MAPPED };
  const shape = SHAPES.find(({ fits }) => fits(record));
  if (shape) return { row: shape.row(record), format: shape.format };
  const keys = Object.keys(record);
  // One column of text needs no name that we know.
  if (keys.length === 1 && typeof record[keys[0]] === 'string')
    return { row: mapped(record, { text: keys[0] }), format: `text (column "${keys[0]}")` };
  return {
    format: 'unknown',
    row: refuse(
      'unknown-shape',
      `its columns are not known as a data set (${keys.slice(0, 6).join(', ') || 'none'}${keys.length > 6 ? ', …' : ''}); say which is which`,
    ),
  };
}
