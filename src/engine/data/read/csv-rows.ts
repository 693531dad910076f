/**
 * Rows of CSV with commas, semicolons or tabs. Papa Parse reads the records; here the text is cut where a record ends, so
 * that a file never has to fit into one string, and a quote that nobody closes spoils one record and not the rest.
 */
import Papa from 'papaparse';
import type { ByteSource } from './bytes.ts';
import { linesOf, type TextLine } from './lines.ts';
import type { RawRow, ReadOptions } from './raw-row.ts';

/** Lines that are parsed together: Papa Parse starts faster than once a line. */
const BATCH = 512;
/** A record of more lines than this has a quote that nobody closes. */
const MOST_LINES = 2000;

const quotesIn = (text: string): number => text.split('"').length - 1;

/** The delimiter that splits the first lines most evenly; a comma where nothing does. */
export function delimiterOf(lines: readonly string[], name: string): string {
  if (/\.tsv$/i.test(name)) return '\t';
  const counts = [',', ';', '\t'].map((delimiter) => {
    const fields = Papa.parse<string[]>(lines.join('\n'), { delimiter, preview: 20 }).data.map(
      (row) => row.length,
    );
    const even = fields.filter((count) => count === fields[0]).length / Math.max(1, fields.length);
    return { delimiter, score: fields[0] > 1 ? fields[0] * even ** 4 : 0 };
  });
  const best = counts.reduce((a, b) => (b.score > a.score ? b : a));
  return best.score > 0 ? best.delimiter : ',';
}

interface Block {
  lines: TextLine[];
  quotes: number;
}

/** Names of columns, each once: a second "text" becomes "text_2". */
function namesOf(header: readonly string[]): string[] {
  const seen = new Map<string, number>();
  return header.map((raw, i) => {
    const name = raw.trim() || `column ${i + 1}`;
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    return count === 1 ? name : `${name}_${count}`;
  });
}

export async function* csvRows(
  source: ByteSource,
  delimiter: string,
  { fix, maxCharacters, note }: ReadOptions,
): AsyncGenerator<RawRow> {
  let names: string[] | null = null;
  let latin1 = 0;
  const bad = (
    line: TextLine,
    code: 'quotes' | 'columns' | 'too-long',
    reason: string,
    text: string,
  ): RawRow => ({
    line: line.line,
    byte: line.byte,
    kind: 'bad',
    code,
    reason,
    text,
    fixable: false,
  });

  /** One record that ends with its last line. */
  function* record(lines: readonly TextLine[]): Generator<RawRow> {
    const text = lines.map((line) => line.text).join('\n');
    if (text.trim() === '') return;
    const { data, errors } = Papa.parse<string[]>(text, { delimiter, newline: '\n' });
    const [first] = lines;
    if (errors.some(({ type }) => type === 'Quotes')) {
      yield bad(first, 'quotes', 'it has a quote that is not closed, or text behind a closing quote', text);
      return;
    }
    for (const fields of data) {
      if (fields.length === 1 && fields[0].trim() === '') continue;
      if (names === null) {
        names = namesOf(fields);
        continue;
      }
      let values = fields;
      // One column of running text: its commas are commas.
      if (names.length === 1 && values.length > 1) values = [values.join(delimiter)];
      if (values.length !== names.length) {
        const more = `it has ${values.length} fields, but the header has ${names.length}`;
        yield bad(first, 'columns', more, text);
        continue;
      }
      // Object.fromEntries defines, it does not assign: a column named __proto__ is a column.
      const row = Object.fromEntries(names.map((name, i) => [name, values[i]]));
      const repaired = lines.some((line) => line.latin1);
      if (repaired) latin1++;
      yield {
        line: first.line,
        byte: first.byte,
        kind: 'row',
        record: row,
        repairs: repaired && fix ? ['encoding'] : [],
        text: () => text,
      };
    }
  }

  let block: Block = { lines: [], quotes: 0 };
  let size = 0;
  for await (const line of linesOf(source, maxCharacters)) {
    if (line.cut) {
      yield bad(line, 'too-long', `it is longer than ${maxCharacters} characters`, line.text);
      continue;
    }
    block.lines.push(line);
    block.quotes += quotesIn(line.text);
    size += line.text.length;
    if (block.quotes % 2 === 0) {
      yield* record(block.lines);
      block = { lines: [], quotes: 0 };
      size = 0;
    } else if (block.lines.length > MOST_LINES || size > maxCharacters) {
      // The quote that nobody closes is in its first line; the rest is read again without it.
      const [broken, ...rest] = block.lines;
      yield bad(broken, 'quotes', 'it has a quote that is not closed', broken.text);
      yield* again(rest);
      block = { lines: [], quotes: 0 };
      size = 0;
    }
  }
  if (block.lines.length > 0) {
    const [broken, ...rest] = block.lines;
    yield bad(broken, 'quotes', 'it has a quote that is not closed', broken.text);
    yield* again(rest);
  }

  /** Lines behind a broken record, each taken by itself where its quotes are even. */
  function* again(lines: readonly TextLine[]): Generator<RawRow> {
    let open: TextLine[] = [];
    let quotes = 0;
    for (const line of lines) {
      open.push(line);
      quotes += quotesIn(line.text);
      if (quotes % 2 !== 0 && open.length <= BATCH) continue;
      if (quotes % 2 === 0) yield* record(open);
      else
        for (const one of open)
          yield bad(one, 'quotes', 'it stands behind a quote that is not closed', one.text);
      open = [];
      quotes = 0;
    }
    for (const one of open) yield bad(one, 'quotes', 'it stands behind a quote that is not closed', one.text);
  }

  if (latin1 > 0)
    note(
      `${latin1} ${latin1 === 1 ? 'row is' : 'rows are'} not UTF-8 and were read as Latin-1 (windows-1252).`,
    );
}
