/**
 * A JSON parser that says what is wrong instead of giving up: it takes what people's files have (single quotes, trailing
 * commas, NaN, raw line breaks, LaTeX with one backslash) and tells which of these it met. Slower than JSON.parse, which
 * comes first; this one is for the rows that it refuses or that it would change in silence.
 */
import type { Repair } from '../report.ts';

export interface Tolerant {
  value: unknown;
  /** What a strict parser would have refused, or read as something else. */
  repairs: Set<Repair>;
  /** Keys that came twice in one object: the last one wins, as in JSON.parse. */
  duplicates: number;
  /** Where the value ended. */
  end: number;
}

/** The text ended within a value. */
export class CutOff extends Error {}

/** Deeper nesting is no data set, and would end the stack. */
const MOST_DEPTH = 200;

/**
 * Commands whose first letter makes a JSON escape (\b \f \n \r \t) of one backslash: "\frac" would be a form feed and
 * "rac". Only whole words: "\nu" may be a line break and "u".
 */
const COMMANDS =
  'frac|boxed|text|textbf|textit|times|theta|tan|to|triangle|tfrac|tau|top|right|rightarrow|rho|rangle|rceil|rfloor|ref|begin|beta|binom|bar|big|Big|bigl|bigr|bmod|bullet|bmatrix|forall|neq|neg|nabla|not|notin|natural|nmid|ne';
const LATEX = new RegExp(`^(?:${COMMANDS})(?![a-zA-Z])`);
const LONGEST = 12;
/** Escapes that strict JSON knows. */
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};
const WORDS: readonly (readonly [string, unknown, Repair | null])[] = [
  ['true', true, null],
  ['false', false, null],
  ['null', null, null],
  ['NaN', null, 'bare-number'],
  ['Infinity', null, 'bare-number'],
  ['-Infinity', null, 'bare-number'],
  // Python's own words come with its single quotes.
  ['True', true, 'single-quotes'],
  ['False', false, 'single-quotes'],
  ['None', null, 'single-quotes'],
];
const NUMBER = /-?\d+(\.\d+)?([eE][+-]?\d+)?/y;

/** Whether one backslash stands before a LaTeX command that strict JSON would read as an escape. */
export const mayHideLatex = (text: string): boolean => HIDDEN.test(text);
const HIDDEN = new RegExp(`(?<!\\\\)(?:\\\\\\\\)*\\\\(?:${COMMANDS})(?![a-zA-Z])`);

/** @throws CutOff where the text ends too early, SyntaxError with a place where nothing helps */
export function parseTolerant(text: string, start = 0): Tolerant {
  const repairs = new Set<Repair>();
  let duplicates = 0;
  let at = start;

  const fail = (): never => {
    if (at >= text.length) throw new CutOff('it ends within a value');
    throw new SyntaxError(`unexpected ${JSON.stringify(text[at])} at character ${at + 1}`);
  };
  const space = (): void => {
    while (at < text.length && /\s|\ufeff/.test(text[at])) at++;
  };

  function escaped(quote: string): string {
    const letter = text[at + 1];
    if (letter === undefined) {
      at = text.length;
      return fail();
    }
    if (LATEX.test(text.slice(at + 1, at + 1 + LONGEST + 1))) {
      repairs.add('latex');
      at++;
      return '\\';
    }
    if (letter === 'u' && /^[0-9a-fA-F]{4}$/.test(text.slice(at + 2, at + 6))) {
      const code = Number.parseInt(text.slice(at + 2, at + 6), 16);
      at += 6;
      return String.fromCharCode(code);
    }
    if (letter in ESCAPES || letter === quote) {
      at += 2;
      return ESCAPES[letter] ?? letter;
    }
    // "\sqrt", "\(": no escape of JSON, so the backslash was meant.
    repairs.add('latex');
    at++;
    return '\\';
  }

  function string(): string {
    const quote = text[at];
    if (quote === "'") repairs.add('single-quotes');
    at++;
    let out = '';
    let from = at;
    for (;;) {
      if (at >= text.length) fail();
      const letter = text[at];
      if (letter === quote) break;
      if (letter === '\\') {
        out += text.slice(from, at) + escaped(quote);
        from = at;
        continue;
      }
      if (letter < ' ') repairs.add('raw-newline');
      at++;
    }
    out += text.slice(from, at);
    at++;
    return out;
  }

  function number(): unknown {
    NUMBER.lastIndex = at;
    const found = NUMBER.exec(text)?.[0];
    if (!found) return fail();
    at += found.length;
    // Above 2⁵³ a number would lose digits: it stays the text that it was.
    return /^-?\d{16,}$/.test(found) && !Number.isSafeInteger(Number(found)) ? found : Number(found);
  }

  function list(depth: number): unknown[] {
    const out: unknown[] = [];
    at++;
    for (;;) {
      space();
      if (text[at] === ']') break;
      out.push(value(depth + 1));
      space();
      if (text[at] === ',') {
        at++;
        space();
        if (text[at] === ']') repairs.add('trailing-comma');
      } else if (text[at] !== ']') fail();
    }
    at++;
    return out;
  }

  function object(depth: number): Record<string, unknown> {
    // No prototype: a column named __proto__ is a column.
    const out = Object.create(null) as Record<string, unknown>;
    at++;
    for (;;) {
      space();
      if (text[at] === '}') break;
      if (text[at] !== '"' && text[at] !== "'") fail();
      const key = string();
      space();
      if (text[at] !== ':') fail();
      at++;
      if (key in out) duplicates++;
      out[key] = value(depth + 1);
      space();
      if (text[at] === ',') {
        at++;
        space();
        if (text[at] === '}') repairs.add('trailing-comma');
      } else if (text[at] !== '}') fail();
    }
    at++;
    return out;
  }

  function value(depth: number): unknown {
    if (depth > MOST_DEPTH) throw new SyntaxError(`it is nested deeper than ${MOST_DEPTH} levels`);
    space();
    const letter = text[at];
    if (letter === '{') return object(depth);
    if (letter === '[') return list(depth);
    if (letter === '"' || letter === "'") return string();
    for (const [word, meaning, repair] of WORDS)
      if (text.startsWith(word, at)) {
        at += word.length;
        if (repair) repairs.add(repair);
        return meaning;
      }
    return number();
  }

  const result = value(0);
  return { value: result, repairs, duplicates, end: at };
}
