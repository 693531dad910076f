/**
 * When two written answers are the same (trainers.md, "Answers"): exact rationals first, then decimals with a tolerance,
 * then the normalised texts, then lists part by part, then symbols exactly (verifier-symbols.ts). Arithmetic is never
 * done for the policy: `2+3` is not 5.
 */
import { sameEquation, sameSymbols } from './verifier-symbols.ts';

/** A rational number: denominator > 0, not reduced. */
interface Rational {
  top: bigint;
  bottom: bigint;
  /** Written with a decimal point: it may be a rounded value. */
  decimal: boolean;
}

/** Largest power of ten that is written out: bounds the size of the numbers. */
const LARGEST_EXPONENT = 300;

/** Words behind a number that don't change it. "3 million" and "2 dozen" do, so only known units are dropped. */
const UNITS = new Set(
  (
    'dollar dollars cent cents usd euro euros pound pounds percent degree degrees radians ' +
    'mm cm m km meter meters metre metres inch inches foot feet yard yards mile miles square cubic ' +
    'second seconds minute minutes hour hours day days week weeks month months year years ' +
    'g kg gram grams kilogram kilograms liter liters litre litres ml units unit mph'
  ).split(' '),
);
/** Words that do change it, also inside \text{…}, where any other word is a unit. */
const SCALES =
  /\b(?:hundred|thousand|million|billion|trillion|dozen|half|halves|thirds?|quarters?|fourths?|fifths?|tenths?|score|or|and|not|times|plus|minus|pairs?|squared|cubed)s?\b/i;

/** Longest text that is looked into, in characters: longer ones are equal only as written. */
export const LONGEST = 500;
/** Lists in lists, and parts of a list. */
const DEEPEST_LIST = 3;
const MOST_PARTS = 50;

/** How two answers came to be equal. */
export type Sameness = 'number' | 'text' | 'symbols';

export const equivalent = (a: string, b: string): boolean => sameness(a, b) !== null;

/** How two written answers are equal, or null. */
export function sameness(a: string, b: string, depth = 0): Sameness | null {
  if (a.length > LONGEST || b.length > LONGEST)
    return a.trim() !== '' && a.trim() === b.trim() ? 'text' : null;
  const [left, right] = withoutLoneName(normalise(a), normalise(b));
  if (left === '' || right === '') return null;
  const [p, q] = [rationalOf(left), rationalOf(right)];
  if (p && q) return sameNumber(p, q) ? 'number' : null;
  if (canonicalText(left) === canonicalText(right)) return 'text';
  // A number is no list and no symbol.
  if (p || q) return null;
  const [v, w] = withoutLoneName(normalise(a, false), normalise(b, false));
  const [parts, others] = [partsOf(v), partsOf(w)];
  if (parts || others)
    return parts && others && depth < DEEPEST_LIST ? sameParts(parts, others, depth) : null;
  return (v.includes('=') && w.includes('=') ? sameEquation(v, w) : sameSymbols(v, w)) ? 'symbols' : null;
}

interface Parts {
  /** Brackets and separators; sets, bare lists and unions come in any order. */
  shape: string;
  ordered: boolean;
  items: string[];
}

/** What a tuple, interval, matrix, set, union or list consists of; null for a single thing. */
function partsOf(text: string): Parts | null {
  const [union] = split(text, /^\\cup(?![a-z])/);
  if (union.length > 1) return { shape: 'union', ordered: false, items: union };
  const bracketed = /^([([⟦]|\\?\{)([\s\S]*?)([)\]⟧]|\\?\})$/.exec(text.trim());
  if (bracketed && closesAtEnd(text.trim())) {
    const [, open, inside, close] = bracketed;
    const [items, separators] = split(inside, /^[,;]/);
    if (open.endsWith('{')) return { shape: 'set', ordered: false, items: items.flatMap(bothSigns) };
    // (x + 1) is no tuple of one.
    if (items.length === 1 && open !== '⟦') return null;
    return { shape: `${open}${separators.join('')}${close}`, ordered: true, items };
  }
  const [list] = split(text, /^(?:,|(?<![a-z\\])(?:and|or)(?![a-z]))/i);
  const items = list.flatMap(bothSigns);
  return items.length > 1 ? { shape: 'set', ordered: false, items } : null;
}

/** 1 ± √2 is two numbers. */
function bothSigns(item: string): string[] {
  const signs = item.split(/\\pm(?![a-z])|±/);
  return signs.length === 2 ? [signs.join('+'), signs.join('-')] : [item];
}

/** Splits outside brackets; a comma in a number that marks thousands is no separator. */
function split(text: string, separator: RegExp): [items: string[], separators: string[]] {
  const items = [''];
  const separators: string[] = [];
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    if ('([{⟦'.includes(text[i])) depth++;
    else if (')]}⟧'.includes(text[i])) depth--;
    const found = depth === 0 ? separator.exec(text.slice(i, i + 4)) : null;
    if (!found) items[items.length - 1] += text[i];
    else {
      items.push('');
      separators.push(found[0]);
      i += found[0].length - 1;
    }
  }
  return [items.map((item) => item.trim()), separators];
}

/** Does the bracket at the beginning close with the one at the end? */
function closesAtEnd(text: string): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    if ('([{⟦'.includes(text[i])) depth++;
    else if (')]}⟧'.includes(text[i]) && --depth === 0) return i === text.length - 1;
  }
  return false;
}

function sameParts(a: Parts, b: Parts, depth: number): Sameness | null {
  if (a.shape !== b.shape || a.items.length !== b.items.length || a.items.length > MOST_PARTS) return null;
  const rest = [...b.items];
  const how = a.items.map((item) => {
    const place = a.ordered
      ? sameness(item, rest[0], depth + 1) && 0
      : rest.findIndex((other) => sameness(item, other, depth + 1) !== null);
    if (place === null || place < 0) return null;
    const [other] = rest.splice(place, 1);
    return sameness(item, other, depth + 1);
  });
  if (how.includes(null)) return null;
  return how.includes('symbols') ? 'symbols' : 'text';
}

/** `x=5` is 5, but where both sides name a variable it must be the same one. */
function withoutLoneName(a: string, b: string): [string, string] {
  const named = /^(?:([a-z])|\\([a-z]+))\s*(?:=|\\in(?![a-z]))\s*([^=]+)$/i;
  const [p, q] = [named.exec(a), named.exec(b)];
  if (p && q) return p[1] === q[1] && p[2] === q[2] ? [p[3], q[3]] : [a, b];
  if (p && !b.includes('=')) return [p[3], b];
  if (q && !a.includes('=')) return [a, q[3]];
  return [a, b];
}

/**
 * One spelling for what means the same; spaces stay, since `2 2/3` is not 22/3.
 * @param flat writes \\frac{a}{b} as a/b, which only a whole number or fraction may be: a/b x is ambiguous
 */
export function normalise(written: string, flat = true): string {
  let text = written
    .replace(
      /\\begin\s*\{([pb]?matrix)\}([\s\S]*?)\\end\s*\{\1\}/g,
      (_, __, body: string) => `⟦${body.replaceAll('\\\\', ';').replaceAll('&', ',')}⟧`,
    )
    // NFKC would make 52 of 5² and 51/2 of 5½.
    .replace(/[⁰¹²³⁴-⁹]+/g, (digits) => `^${digits}`)
    .replace(/[₀-₉]+/g, (digits) => `_${digits}`)
    .replace(/(\d)([¼½¾⅐-⅞])/g, '$1 $2')
    .normalize('NFKC')
    .replace(/(?![0-9])\p{Nd}/gu, (digit) => `${digitValue(digit)}`)
    .replaceAll('−', '-')
    .replaceAll('⁄', '/')
    // A blank in place of what goes: 4**2 and 5$7 are not 42 and 57. Thin spaces mark thousands.
    .replaceAll('**', ' ')
    .replace(/\\boxed\s*\{([^{}]*)\}/g, ' $1 ')
    .replace(/\\[()[\]]/g, ' ')
    .replace(/\\[!,]\s*(?=\d{3}(?!\d))/g, '')
    .replace(/\\[!,;:]|\\(?:left|right|displaystyle)(?![a-z])/gi, ' ')
    .replaceAll('\\ ', ' ')
    .replace(/\\?\$|\\?%|\^\s*(?:\\circ|\{\s*\\circ\s*\})|°/g, ' ')
    .replaceAll('{,}', ',')
    .replace(/\\[dt]frac(?![a-z])/g, '\\frac')
    .trim();
  text = text
    .replace(
      /^([+-]?[\d.,/]+)\s*\\(?:text|mathrm|mbox)\s*\{([^{}]*)\}(?:\^\{?[23]\}?)?\.?$/,
      (whole, number, unit) => (SCALES.test(unit) || /\d/.test(unit) ? whole : number),
    )
    .replace(/\\(?:text|textbf|mathbf|mathrm|mbox)\s*\{([^{}]*)\}/g, ' $1 ');
  text = (flat ? fractions(text) : text).replace(/\s+/g, ' ').replace(/\.$/, '').trim();
  const words = /^(.*(?:\d|\\pi|\}))\s+([a-z]+(?: [a-z]+)*)$/i.exec(text);
  // Behind a symbol, one letter may be a factor.
  const isUnit = (word: string) =>
    UNITS.has(word.toLowerCase()) && (word.length > 1 || /^[+-]?[\d.,/ ]+$/.test(words?.[1] ?? ''));
  if (words?.[2].split(' ').every(isUnit)) text = words[1];
  return text.trim();
}

/** Decimal digits of a script stand in a row, from its zero to its nine. */
function digitValue(digit: string): number {
  const code = digit.codePointAt(0) ?? 0;
  let value = 0;
  while (value < 9 && /^\p{Nd}$/u.test(String.fromCodePoint(code - value - 1))) value++;
  return value;
}

/** \frac{a}{b}, \frac12 and mixtures as a/b; behind a digit it is the rest of a mixed number. */
function fractions(text: string): string {
  return text.replace(
    /(\d)?\s*\\frac\s*(?:\{([^{}]*)\}|(\d|[a-z]))\s*(?:\{([^{}]*)\}|(\d|[a-z]))/gi,
    (_, before, a, a1, b, b1) => {
      const [top, bottom] = [a ?? a1, b ?? b1].map((part: string) =>
        /^[+-]?[\w.\\]+$/.test(part.trim()) ? part.trim() : `(${part.trim()})`,
      );
      return before === undefined ? `${top}/${bottom}` : `${before} ${top}/${bottom}`;
    },
  );
}

const THOUSANDS = /^\d{1,3}(?:,\d{3})+(?:\.\d+)?$/;

/** Digits with at most one point, thousands marked or not; the number is digits / 10^scale. */
function decimalOf(written: string): Rational | null {
  const plain = THOUSANDS.test(written) ? written.replaceAll(',', '') : written;
  const parts = /^(\d*)(?:\.(\d*))?$/.exec(plain);
  if (!parts || !/\d/.test(plain)) return null;
  const [, whole, rest = ''] = parts;
  return { top: BigInt(whole + rest), bottom: 10n ** BigInt(rest.length), decimal: plain.includes('.') };
}

/** An integer, decimal, fraction, mixed number or power-of-ten notation; null for anything else. */
function rationalOf(text: string): Rational | null {
  const [, sign, body] = /^([+-]?)\s*(.*)$/.exec(text) ?? [];
  if (!body) return null;
  const value = unsignedOf(body);
  return value && (sign === '-' ? { ...value, top: -value.top } : value);
}

function unsignedOf(body: string): Rational | null {
  const scientific = /^([\d.,]+)\s*(?:e|(?:\\times|\\cdot|×|\*)\s*10\s*\^)\s*\{?([+-]?\d{1,3})\}?$/i.exec(
    body,
  );
  if (scientific) {
    const value = decimalOf(scientific[1]);
    const exponent = Number(scientific[2]);
    if (!value || Math.abs(exponent) > LARGEST_EXPONENT) return null;
    const factor = 10n ** BigInt(Math.abs(exponent));
    return exponent < 0 ? { ...value, bottom: value.bottom * factor } : { ...value, top: value.top * factor };
  }
  const fraction = /^(?:(\d+) )?([\d.,]+) ?\/ ?([+-]?)([\d.,]+)$/.exec(body);
  if (!fraction) return decimalOf(body);
  const [, whole = '0', a, sign, b] = fraction;
  const [top, bottom] = [decimalOf(a), decimalOf(b)];
  if (!top || !bottom || bottom.top === 0n) return null;
  const down = top.bottom * bottom.top;
  const up = top.top * bottom.bottom + BigInt(whole) * down;
  return { top: sign === '-' ? -up : up, bottom: down, decimal: top.decimal || bottom.decimal };
}

/** Equal, or where a decimal point says that one may be rounded, apart by at most 1e-6 · min(1, |b|). */
function sameNumber(a: Rational, b: Rational): boolean {
  const [p, q] = [a.top * b.bottom, b.top * a.bottom];
  if (p === q) return true;
  if (!a.decimal && !b.decimal) return false;
  const size = (x: bigint) => (x < 0n ? -x : x);
  // |p − q| / (a.bottom · b.bottom) against one, and against |b| = |q| / (a.bottom · b.bottom)
  const apart = size(p - q) * 1_000_000n;
  return apart <= size(q) && apart <= a.bottom * b.bottom;
}

/** For texts: without spaces (except between digits), one spelling of roots, names without regard to case. */
function canonicalText(text: string): string {
  const tight = text
    .replace(/\\sqrt\s*([\da-z])/gi, '\\sqrt{$1}')
    .replace(/([_^])\{(\w)\}/g, '$1$2')
    .replace(/(?<!\d) | (?!\d)/g, '')
    // (C) is choice C.
    .replace(/^\(([A-Z])\)$/, '$1');
  return /^[a-z]{2,}$/i.test(tight) ? tight.toLowerCase() : tight;
}
