/**
 * Exact algebra for the verifier: quotients of polynomials with integer coefficients in named atoms (variables, π, the
 * imaginary unit i, roots of square-free numbers), so that a/b = c/d iff ad − cb is the zero polynomial. Work is
 * budgeted: what grows beyond it is `Unreadable`.
 */

/** Monomial ("" for 1, else "atom:power|…" in order of the atoms) → coefficient, never 0. */
export type Poly = Map<string, bigint>;
export interface Quotient {
  top: Poly;
  bottom: Poly;
}

/** Products of monomials that one comparison may take, and bits of a coefficient: together a few milliseconds. */
const WORK = 4000;
const LARGEST_BITS = 2048;
const LARGEST_POWER = 20;
/** Largest number under a root: its squares are found by trial. */
const LARGEST_ROOT = 10_000_000n;

/** Not clean, or too big: nothing is said about its value. */
export class Unreadable extends Error {}
export const unreadable = (): never => {
  throw new Unreadable();
};

export const isConstant = (p: Poly): boolean => p.size === 0 || (p.size === 1 && p.has(''));
export const isNumber = ({ top, bottom }: Quotient): boolean => isConstant(top) && isConstant(bottom);

export class Algebra {
  private work = 0;

  constant(value: bigint): Quotient {
    return { top: value === 0n ? new Map() : new Map([['', value]]), bottom: new Map([['', 1n]]) };
  }

  atom(name: string): Quotient {
    return { top: new Map([[`${name}:1`, 1n]]), bottom: new Map([['', 1n]]) };
  }

  add(a: Quotient, b: Quotient): Quotient {
    const top = new Map(this.times(a.top, b.bottom));
    for (const [key, value] of this.times(b.top, a.bottom)) accumulate(top, key, value);
    return { top, bottom: this.times(a.bottom, b.bottom) };
  }

  negate({ top, bottom }: Quotient): Quotient {
    return { top: new Map([...top].map(([key, value]) => [key, -value])), bottom };
  }

  multiply(a: Quotient, b: Quotient): Quotient {
    return { top: this.times(a.top, b.top), bottom: this.times(a.bottom, b.bottom) };
  }

  divide(a: Quotient, b: Quotient): Quotient {
    if (b.top.size === 0) unreadable();
    return this.multiply(a, { top: b.bottom, bottom: b.top });
  }

  equal(a: Quotient, b: Quotient): boolean {
    return this.add(a, this.negate(b)).top.size === 0;
  }

  power(base: Quotient, exponent: Quotient): Quotient {
    const n = integerOf(exponent);
    if (n === null) {
      if (exponent.top.get('') === 1n && exponent.bottom.get('') === 2n && isNumber(exponent))
        return this.root(base);
      return this.atom(`(${textOf(base)})^(${textOf(exponent)})`);
    }
    if (n > LARGEST_POWER || n < -LARGEST_POWER) unreadable();
    let result = this.constant(1n);
    for (let i = 0; i < Math.abs(n); i++) result = this.multiply(result, base);
    return n < 0 ? this.divide(this.constant(1n), result) : result;
  }

  /** √(a/b) = √(ab)/b, with the squares taken out; of anything but a number it is an atom of its own. */
  root(of: Quotient): Quotient {
    if (!isNumber(of)) return this.atom(`√(${textOf(of)})`);
    const down = of.bottom.get('')!;
    let under = (of.top.get('') ?? 0n) * down;
    if (under === 0n) return this.constant(0n);
    let result = this.constant(1n);
    if (under < 0n) {
      under = -under;
      result = this.atom('i');
    }
    if (under > LARGEST_ROOT) unreadable();
    const [outside, inside] = withoutSquares(Number(under));
    result = this.multiply(result, this.constant(BigInt(outside)));
    if (inside > 1) result = this.multiply(result, this.atom(`√${inside}`));
    return this.divide(result, this.constant(down));
  }

  private times(a: Poly, b: Poly): Poly {
    this.work += a.size * b.size;
    if (this.work > WORK) unreadable();
    const product: Poly = new Map();
    for (const [key, value] of a)
      for (const [other, factor] of b) {
        const [monomial, sign] = timesMonomial(key, other);
        accumulate(product, monomial, value * factor * sign);
      }
    return product;
  }
}

function accumulate(p: Poly, key: string, value: bigint): void {
  const sum = (p.get(key) ?? 0n) + value;
  if (sum.toString(2).length > LARGEST_BITS) unreadable();
  if (sum === 0n) p.delete(key);
  else p.set(key, sum);
}

/** Product of two monomials and the number that falls out of it: i² = −1, √6·√10 = 2√15. */
function timesMonomial(a: string, b: string): [key: string, factor: bigint] {
  if (a === '') return [b, 1n];
  if (b === '') return [a, 1n];
  const powers = new Map<string, number>();
  let factor = 1n;
  let root = 1;
  for (const part of [...a.split('|'), ...b.split('|')]) {
    const cut = part.lastIndexOf(':');
    const [name, power] = [part.slice(0, cut), Number(part.slice(cut + 1))];
    if (/^√\d+$/.test(name)) {
      const other = Number(name.slice(1));
      const common = gcd(root, other);
      factor *= BigInt(common);
      root = (root / common) * (other / common);
      if (root > Number.MAX_SAFE_INTEGER) unreadable();
    } else powers.set(name, (powers.get(name) ?? 0) + power);
  }
  const turns = powers.get('i') ?? 0;
  if (turns >= 2) {
    factor = -factor;
    if (turns === 2) powers.delete('i');
    else powers.set('i', turns - 2);
  }
  if (root > 1) powers.set(`√${root}`, 1);
  const parts = [...powers].map(([name, power]) => `${name}:${power}`);
  return [parts.sort().join('|'), factor];
}

function gcd(a: number, b: number): number {
  while (b > 0) [a, b] = [b, a % b];
  return a;
}

/** n = outside² · inside with no square in `inside`. */
function withoutSquares(n: number): [outside: number, inside: number] {
  let [outside, inside] = [1, n];
  for (let d = 2; d * d <= inside; d++)
    while (inside % (d * d) === 0) {
      inside /= d * d;
      outside *= d;
    }
  return [outside, inside];
}

/** The value of a whole number, or null; one beyond ±1000 is no power and no subscript. */
export function integerOf(value: Quotient): number | null {
  if (!isNumber(value)) return null;
  const [up, down] = [value.top.get('') ?? 0n, value.bottom.get('')!];
  if (up % down !== 0n) return null;
  const n = up / down;
  return n >= -1000n && n <= 1000n ? Number(n) : unreadable();
}

/** A name for a whole expression, inside an atom; different spellings of one value may get different names. */
export function textOf({ top, bottom }: Quotient): string {
  const poly = (p: Poly) =>
    [...p]
      .map(([key, value]) => `${value}·${key.replaceAll(':', '^').replaceAll('|', '*')}`)
      .sort()
      .join('+');
  return `${poly(top)}/${poly(bottom)}`;
}
