/**
 * When two written answers are the same (trainers.md, "Answers"): exact rationals first, then decimals with a tolerance,
 * then the normalised texts. Symbols are compared as written, never evaluated: `2+3` is not 5.
 */

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

export function equivalent(a: string, b: string): boolean {
  const [left, right] = withoutLoneName(normalise(a), normalise(b));
  if (left === '' || right === '') return false;
  const [p, q] = [rationalOf(left), rationalOf(right)];
  if (p && q) return sameNumber(p, q);
  return canonicalText(left) === canonicalText(right);
}

/** `x=5` is 5, but where both sides name a variable it must be the same one. */
function withoutLoneName(a: string, b: string): [string, string] {
  const name = /^\\?[a-z]+\s*=\s*(?=[^=]+$)/i;
  const single = (text: string) => /^(?:[a-z]|\\[a-z]+)\s*=/i.test(text);
  if (single(a) && !b.includes('=')) return [a.replace(name, ''), b];
  if (single(b) && !a.includes('=')) return [a, b.replace(name, '')];
  return [a, b];
}

/** One spelling for what means the same; spaces stay, since `2 2/3` is not 22/3. */
export function normalise(written: string): string {
  let text = written
    // NFKC would make 52 of 5² and 51/2 of 5½.
    .replace(/[⁰¹²³⁴-⁹]+/g, (digits) => `^${digits}`)
    .replace(/[₀-₉]+/g, (digits) => `_${digits}`)
    .replace(/(\d)([¼½¾⅐-⅞])/g, '$1 $2')
    .normalize('NFKC')
    .replaceAll('−', '-')
    .replaceAll('⁄', '/')
    // A blank in place of what goes: 4**2 and 5$7 are not 42 and 57. Thin spaces mark thousands.
    .replaceAll('**', ' ')
    .replace(/\\boxed\s*\{([^{}]*)\}/g, ' $1 ')
    .replace(/\\[()[\]]/g, ' ')
    .replace(/\\[!,](?=\d{3}(?!\d))/g, '')
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
  text = fractions(text).replace(/\s+/g, ' ').replace(/\.$/, '').trim();
  const words = /^([+-]?[\d.,/ ]*\d)\s+([a-z]+(?: [a-z]+)*)$/i.exec(text);
  if (words?.[2].split(' ').every((word) => UNITS.has(word.toLowerCase()))) text = words[1];
  return text.trim();
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
  const tight = text.replace(/\\sqrt\s*([\da-z])/gi, '\\sqrt{$1}').replace(/(?<!\d) | (?!\d)/g, '');
  return /^[a-z]{2,}$/i.test(tight) ? tight.toLowerCase() : tight;
}
