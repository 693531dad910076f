/** Bytes to lines of text. A line ends with LF, CRLF or CR; U+2028 inside a string does not end one. */
import type { ByteSource } from './bytes.ts';

export interface TextLine {
  /** Without its end. */
  text: string;
  /** 1-based. */
  line: number;
  /** Where it begins, in the text as UTF-8. */
  byte: number;
  /** Its bytes are not UTF-8; they were read as Latin-1 (windows-1252). */
  latin1: boolean;
  /** It was longer than allowed: this is its beginning. */
  cut: boolean;
}

const LF = 10;
const CR = 13;

/** UTF-16 by its mark, or null: then it is taken for UTF-8. */
export function utf16Of([a, b]: Uint8Array): 'utf-16le' | 'utf-16be' | null {
  if (a === 0xff && b === 0xfe) return 'utf-16le';
  if (a === 0xfe && b === 0xff) return 'utf-16be';
  return null;
}

/** The same text as UTF-8. */
export async function* asUtf8(
  pieces: AsyncIterable<Uint8Array>,
  encoding: 'utf-16le' | 'utf-16be',
): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder(encoding);
  const encoder = new TextEncoder();
  for await (const piece of pieces) yield encoder.encode(decoder.decode(piece, { stream: true }));
  yield encoder.encode(decoder.decode());
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  if (pieces.length === 1) return pieces[0];
  const all = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

/** @param most bytes of a line that are kept */
export async function* linesOf(
  source: Pick<ByteSource, 'stream'>,
  most = Number.POSITIVE_INFINITY,
): AsyncGenerator<TextLine> {
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const latin = new TextDecoder('windows-1252');
  let line = 0;
  let start = 0;
  let open: Uint8Array[] = [];
  let length = 0;
  let cut = false;
  const take = (bytes: Uint8Array): void => {
    if (bytes.length === 0) return;
    const room = most - length;
    if (bytes.length > room) cut = true;
    if (room > 0) open.push(bytes.subarray(0, Math.min(room, bytes.length)));
    length += bytes.length;
  };
  const finish = (): TextLine => {
    let bytes = joined(open);
    if (line === 0 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) bytes = bytes.subarray(3);
    let text: string;
    let latin1 = false;
    try {
      text = utf8.decode(bytes);
    } catch {
      // A cut may fall within a character; that is no other encoding.
      latin1 = !cut;
      text = cut ? new TextDecoder().decode(bytes) : latin.decode(bytes);
    }
    line++;
    const done = { text, line, byte: start, latin1, cut };
    open = [];
    length = 0;
    cut = false;
    return done;
  };
  let at = 0;
  // CRLF may be split between two pieces.
  let afterReturn = false;
  for await (const piece of source.stream()) {
    let from = 0;
    if (afterReturn && piece.length > 0) {
      if (piece[0] === LF) from = 1;
      start = at + from;
      afterReturn = false;
    }
    // indexOf over bytes runs at memory speed; a loop over each byte does not.
    let lf = piece.indexOf(LF, from);
    let cr = piece.indexOf(CR, from);
    while (lf >= 0 || cr >= 0) {
      const isReturn = cr >= 0 && (lf < 0 || cr < lf);
      const end = isReturn ? cr : lf;
      take(piece.subarray(from, end));
      yield finish();
      from = end + 1;
      if (isReturn) {
        if (from === piece.length) afterReturn = true;
        else if (piece[from] === LF) from++;
      }
      start = at + from;
      if (lf >= 0 && lf < from) lf = piece.indexOf(LF, from);
      if (cr >= 0 && cr < from) cr = piece.indexOf(CR, from);
    }
    // The piece may be reused or large: what stays of it is copied.
    take(piece.slice(from));
    at += piece.length;
  }
  if (length > 0) yield finish();
}
