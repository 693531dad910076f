/**
 * Rows of JSON, however they are laid out: one a line, several on a line, spread over lines, or in one array; what the
 * file is called does not matter. A row that is broken is reported and the next one is found again.
 */
import { messageOf } from '../../../base/assert.ts';
import type { IssueReason, Repair } from '../report.ts';
import type { ByteSource } from './bytes.ts';
import { linesOf, type TextLine } from './lines.ts';
import type { RawPlace, RawRow, ReadOptions } from './raw-row.ts';
import { CutOff, mayHideLatex, parseTolerant, type Tolerant } from './tolerant-json.ts';

type Record_ = Readonly<Record<string, unknown>>;

const isRecord = (value: unknown): value is Record_ =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Integers of so many digits may be beyond 2⁵³. */
const LONG_NUMBER = /(?:^|[:[,\s])-?\d{16,}(?=[,}\]\s]|$)/;

/** Keys of all objects within. */
function keysOf(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + keysOf(one), 0);
  if (!isRecord(value)) return 0;
  const keys = Object.keys(value);
  return keys.reduce((sum, key) => sum + keysOf(value[key]), keys.length);
}

/** Colons behind quotes: as many as keys, or more where a text has some too. */
const colons = (text: string): number => text.match(/"\s*:/g)?.length ?? 0;

/** JSON.parse, where it tells the whole truth. */
function strict(text: string): { value: unknown } | null {
  if (text.includes('\\') && mayHideLatex(text)) return null;
  if (LONG_NUMBER.test(text)) return null;
  try {
    const value: unknown = JSON.parse(text);
    // JSON.parse keeps the last of two keys and says nothing.
    if (colons(text) > keysOf(value)) return null;
    return { value };
  } catch {
    return null;
  }
}

interface Tally {
  duplicates: number;
}

/** One value that ends with its text, as a row. Throws CutOff where the text ends too early. */
function rowOf(text: string, place: RawPlace, latin1: boolean, fix: boolean, tally: Tally): RawRow[] {
  const quick = strict(text);
  const rows: RawRow[] = [];
  let rest = text;
  let place_ = place;
  while (rest.trim() !== '') {
    const parsed: Tolerant = quick
      ? { value: quick.value, repairs: new Set(), duplicates: 0, end: rest.length }
      : parseTolerant(rest);
    const own = rest.slice(0, parsed.end).trim();
    tally.duplicates += parsed.duplicates;
    rows.push(judged(own, parsed, place_, latin1, fix));
    // Several values on one line, with or without a comma between them.
    place_ = { ...place_, byte: place_.byte + parsed.end };
    rest = rest.slice(parsed.end).replace(/^\s*,?/, '');
  }
  return rows;
}

function judged(
  text: string,
  { value, repairs }: Tolerant,
  place: RawPlace,
  latin1: boolean,
  fix: boolean,
): RawRow {
  const bad = (code: IssueReason, reason: string, fixable = false): RawRow => ({
    ...place,
    kind: 'bad',
    code,
    reason,
    text,
    fixable,
  });
  if (!isRecord(value)) return bad('not-an-object', 'it is not a JSON object');
  if (repairs.has('latex') && !fix)
    return bad(
      'control-characters',
      'its LaTeX has single backslashes, which JSON reads as control characters or not at all ("\\frac" must be "\\\\frac"); choose “fix” to mend it',
      true,
    );
  if (repairs.size > 0 && !fix)
    return bad(
      'not-json',
      `it is not JSON: ${[...repairs].map((one) => WORDS[one]).join(', ')}; choose “fix” to mend it`,
      true,
    );
  const all: Repair[] = latin1 ? [...repairs, 'encoding'] : [...repairs];
  return { ...place, kind: 'row', record: value, repairs: all, text: () => text };
}

const WORDS: Readonly<Record<Repair, string>> = {
  latex: 'LaTeX with single backslashes',
  'raw-newline': 'a line break or control character inside a string',
  'trailing-comma': 'a trailing comma',
  'single-quotes': 'single quotes or words of Python',
  'bare-number': 'NaN or Infinity',
  encoding: 'bytes that are not UTF-8',
};

const cutOff = (place: RawPlace, text: string): RawRow => ({
  ...place,
  kind: 'bad',
  code: 'cut-off',
  reason: 'it is cut off: the row ends within a value',
  text,
  fixable: false,
});

const tooLong = (place: RawPlace, text: string, most: number): RawRow => ({
  ...place,
  kind: 'bad',
  code: 'too-long',
  reason: `it is longer than ${most} characters`,
  text,
  fixable: false,
});

const indentOf = (text: string): string => /^\s*/.exec(text)![0];

/** @param array the text is one array, whose elements are the rows */
export async function* jsonRows(
  source: ByteSource,
  array: boolean,
  { fix, maxCharacters, note }: ReadOptions,
): AsyncGenerator<RawRow> {
  const tally: Tally = { duplicates: 0 };
  const lines = array ? arrayElements(source, maxCharacters) : linesOf(source, maxCharacters);
  /** Lines of a value that is not whole yet. */
  let open: TextLine[] = [];
  let size = 0;
  const textOf = (some: readonly TextLine[]): string => some.map(({ text }) => text).join('\n');
  const flush = function* (): Generator<RawRow> {
    if (open.length > 0) yield cutOff(open[0], textOf(open));
    open = [];
    size = 0;
  };
  const attempt = (some: readonly TextLine[]): RawRow[] | null => {
    try {
      return rowOf(
        textOf(some),
        some[0],
        some.some(({ latin1 }) => latin1),
        fix,
        tally,
      );
    } catch (error) {
      if (error instanceof CutOff) return null;
      const text = textOf(some);
      return [
        {
          line: some[0].line,
          byte: some[0].byte,
          kind: 'bad',
          code: 'not-json',
          reason: `it is not JSON (${messageOf(error)})`,
          text,
          fixable: false,
        },
      ];
    }
  };
  for await (const line of lines) {
    if (line.cut) {
      yield* flush();
      yield tooLong(line, line.text, maxCharacters);
      continue;
    }
    if (open.length === 0 && line.text.trim() === '') continue;
    // A line that begins as the open value did is the next value: the open one was cut off.
    const begins = /^\s*[{[]/.test(line.text);
    if (open.length > 0 && begins && indentOf(line.text) === indentOf(open[0].text)) yield* flush();
    open.push(line);
    size += line.text.length;
    // A value cannot end where no bracket closes: it is looked at again only where one does.
    if (open.length > 1 && !/[}\]]/.test(line.text)) {
      if (size > maxCharacters) {
        yield tooLong(open[0], textOf(open).slice(0, 1000), maxCharacters);
        open = [];
        size = 0;
      }
      continue;
    }
    // Parsing again from the start is cheap while a value is short; a long one waits for its closing line.
    if (size > 100_000 && open.length > 1 && !closes(line.text, open[0].text)) continue;
    const rows = attempt(open);
    if (rows === null) {
      if (size > maxCharacters) {
        yield tooLong(open[0], textOf(open).slice(0, 1000), maxCharacters);
        open = [];
        size = 0;
      }
      continue;
    }
    open = [];
    size = 0;
    yield* rows;
  }
  yield* flush();
  if (tally.duplicates > 0)
    note(
      `${tally.duplicates} ${tally.duplicates === 1 ? 'key came' : 'keys came'} twice in an object; the last one counts.`,
    );
}

/** Whether a line closes what another one opened, going by their indentation. */
const closes = (last: string, first: string): boolean =>
  /^\s*\}/.test(last) && indentOf(last) === indentOf(first);

const [QUOTE, BACKSLASH, OPEN, CLOSE, BRACE, BRACE_END, COMMA, LF] = [34, 92, 91, 93, 123, 125, 44, 10];

/** The elements of an array as if each were a line, found byte by byte: an array of 500 MB may be one line. */
export async function* arrayElements(
  source: Pick<ByteSource, 'stream'>,
  most: number,
): AsyncGenerator<TextLine> {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  const latin = new TextDecoder('windows-1252');
  let parts: Uint8Array[] = [];
  let length = 0;
  let depth = 0;
  let inString = false;
  let escaped = false;
  let line = 1;
  let at = 0;
  let begun = { line: 1, byte: 0 };
  const element = (): TextLine | null => {
    const bytes = new Uint8Array(Math.min(length, most));
    let to = 0;
    for (const part of parts) {
      const room = part.subarray(0, bytes.length - to);
      bytes.set(room, to);
      to += room.length;
    }
    const cut = length > most;
    parts = [];
    length = 0;
    let text: string;
    let latin1 = false;
    try {
      text = utf8.decode(bytes);
    } catch {
      latin1 = !cut;
      text = latin.decode(bytes);
    }
    const lead = /^[\s\ufeff]*/.exec(text)![0];
    if (lead.length === text.length) return null;
    const place = { line: begun.line + lead.split('\n').length - 1, byte: begun.byte + lead.length };
    return { text: text.trim(), ...place, latin1, cut };
  };
  for await (const piece of source.stream()) {
    // What stands before the array is no element: white space, a byte order mark.
    let from = depth === 0 ? piece.length : 0;
    const take = (to: number): void => {
      if (to <= from) return;
      if (length < most) parts.push(piece.slice(from, to));
      length += to - from;
    };
    for (let i = 0; i < piece.length; i++) {
      const byte = piece[i];
      if (byte === LF) line++;
      if (escaped) escaped = false;
      else if (inString) {
        if (byte === BACKSLASH) escaped = true;
        else if (byte === QUOTE) inString = false;
      } else if (byte === QUOTE) inString = true;
      else if (byte === OPEN || byte === BRACE) {
        depth++;
        if (depth === 1) {
          from = i + 1;
          begun = { line, byte: at + i + 1 };
        }
      } else if (byte === CLOSE || byte === BRACE_END) {
        depth--;
        if (depth === 0) {
          take(i);
          from = i + 1;
          const last = element();
          if (last) yield last;
        }
      } else if (byte === COMMA && depth === 1) {
        take(i);
        from = i + 1;
        const one = element();
        if (one) yield one;
        begun = { line, byte: at + i + 1 };
      }
    }
    take(piece.length);
    at += piece.length;
  }
  // An array that never ends: what is left is a row that was cut off.
  if (depth > 0 || length > 0) {
    const rest = element();
    if (rest) yield rest;
  }
}
