/** Rows of plain text: a line each where lines are short (names, sentences), else a paragraph each. */
import type { ByteSource } from './bytes.ts';
import { linesOf, type TextLine } from './lines.ts';
import type { RawRow, ReadOptions } from './raw-row.ts';

/** Lines of more characters than this, in the middle of the first ones, are running text. */
const SHORT = 200;

/** Whether each line is a row of its own, going by the first lines of the file. */
export function isLineByLine(lines: readonly string[]): boolean {
  const lengths = lines
    .filter((line) => line.trim() !== '')
    .map(({ length }) => length)
    .sort((a, b) => a - b);
  const blank = lines.some((line, i) => line.trim() === '' && i > 0 && i < lines.length - 1);
  return !blank && (lengths[lengths.length >> 1] ?? 0) < SHORT;
}

export async function* textRows(
  source: ByteSource,
  lineByLine: boolean,
  { fix, maxCharacters, note }: ReadOptions,
): AsyncGenerator<RawRow> {
  note(lineByLine ? 'Each line is a text.' : 'Each paragraph (up to an empty line) is a text.');
  const row = (lines: readonly TextLine[]): RawRow => {
    const text = lines.map((line) => line.text).join('\n');
    const [{ line, byte }] = lines;
    if (lines.some(({ cut }) => cut) || text.length > maxCharacters)
      return {
        line,
        byte,
        kind: 'bad',
        code: 'too-long',
        reason: `it is longer than ${maxCharacters} characters`,
        text: text.slice(0, 1000),
        fixable: false,
      };
    const latin1 = lines.some((one) => one.latin1);
    return {
      line,
      byte,
      kind: 'row',
      record: { text },
      repairs: latin1 && fix ? ['encoding'] : [],
      text: () => text,
    };
  };
  let open: TextLine[] = [];
  let size = 0;
  for await (const line of linesOf(source, maxCharacters)) {
    const blank = line.text.trim() === '';
    if (!blank) {
      open.push(line);
      size += line.text.length;
    }
    if (open.length > 0 && (blank || lineByLine || size > maxCharacters)) {
      yield row(open);
      open = [];
      size = 0;
    }
  }
  if (open.length > 0) yield row(open);
}
