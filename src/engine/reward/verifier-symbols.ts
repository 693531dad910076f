/**
 * Whether two expressions with variables, roots, π or i are the same, exactly: both are read into quotients of
 * polynomials (verifier-polynomials.ts). Nothing is approximated, and what can't be read cleanly, or grows beyond a
 * budget, is null: then the caller compares texts.
 *
 * Instead of @cortex-js/compute-engine, which ARCHITECTURE names for this: its smallest build is 3.4 MB minified (all of
 * our page is less), it evaluates (5^(5^(5^5)) needs a killable worker), and it simplifies by heuristics.
 */
import {
  Algebra,
  integerOf,
  isConstant,
  isNumber,
  type Poly,
  type Quotient,
  textOf,
  Unreadable,
  unreadable,
} from './verifier-polynomials.ts';

/** Brackets in brackets; the reader calls itself. */
const DEEPEST = 20;
const FUNCTIONS = new Set(
  'sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh ln log exp'.split(' '),
);
/** Names that stand for one atom. `i` is the imaginary unit. */
const NAMES = new Set(
  (
    'pi alpha beta gamma delta epsilon varepsilon theta phi varphi lambda mu nu rho sigma tau omega kappa zeta eta ' +
    'psi chi xi infty Delta Omega Sigma Gamma Theta Lambda Phi Psi'
  ).split(' '),
);

/**
 * Same value for all values of the variables; null if either side can't be read cleanly, or is a plain number: 2+3 is
 * unfinished arithmetic, not 5. Texts come from `normalise`.
 */
export function sameSymbols(a: string, b: string): boolean | null {
  try {
    const algebra = new Algebra();
    const [p, q] = [read(a, algebra), read(b, algebra)];
    if (isNumber(p) || isNumber(q)) return null;
    return algebra.equal(p, q);
  } catch (error) {
    if (error instanceof Unreadable) return null;
    throw error;
  }
}

/**
 * Same equation up to a number that all of it is multiplied by. Only with two or more variables: "2x = 10" is the
 * question again, not x = 5.
 */
export function sameEquation(a: string, b: string): boolean | null {
  try {
    const algebra = new Algebra();
    const [p, q] = [a, b].map((text) => {
      const sides = text.split('=');
      if (sides.length !== 2) unreadable();
      const [left, right] = sides.map((side) => read(side, algebra));
      const { top, bottom } = algebra.add(left, algebra.negate(right));
      if (!isConstant(bottom)) unreadable();
      return top;
    });
    if (variables(p) < 2 || variables(q) < 2) return null;
    const lead = [...p.keys()].sort()[0];
    const scale = q.get(lead);
    if (scale === undefined || p.size !== q.size) return false;
    return [...p].every(([key, value]) => value * scale === (q.get(key) ?? 0n) * p.get(lead)!);
  } catch (error) {
    if (error instanceof Unreadable) return null;
    throw error;
  }
}

function variables(p: Poly): number {
  const names = [...p.keys()].flatMap((key) => key.split('|')).map((factor) => factor.split(':')[0]);
  return new Set(names.filter((name) => /^[a-z]$/i.test(name))).size;
}

const TOKEN = /\s*(?:(\d+(?:\.\d+)?|\.\d+)|\\([a-z]+)|([a-z]+)|([-+*/^_(){}[\]·×|]))/iy;

type Token = { kind: 'number' | 'name' | 'mark'; text: string };

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  const end = text.trimEnd().length;
  // "cat" is a word, "ab" and "3abc" are products; what spells four letters together is no product.
  if (/^[a-z]+$/i.test(text.trim()) && end > 2) unreadable();
  while (TOKEN.lastIndex < end) {
    const match = TOKEN.exec(text) ?? unreadable();
    const [, number, command, letters, mark] = match as RegExpExecArray;
    if (number !== undefined) tokens.push({ kind: 'number', text: number });
    else if (mark !== undefined) tokens.push({ kind: 'mark', text: mark });
    else if (command !== undefined) tokens.push({ kind: 'name', text: command });
    else if (FUNCTIONS.has(letters) || letters === 'pi' || letters === 'sqrt')
      tokens.push({ kind: 'name', text: letters });
    else if (letters.length > 3) unreadable();
    else for (const letter of letters) tokens.push({ kind: 'name', text: letter });
  }
  return tokens;
}

function read(text: string, algebra: Algebra): Quotient {
  const tokens = tokensOf(text.replaceAll('π', '\\pi').replaceAll('√', '\\sqrt '));
  let at = 0;
  let depth = 0;
  const is = (...marks: string[]): boolean => tokens[at]?.kind === 'mark' && marks.includes(tokens[at].text);
  const isName = (...names: string[]): boolean =>
    tokens[at]?.kind === 'name' && names.includes(tokens[at].text);
  const take = (mark: string): void => {
    if (!is(mark)) unreadable();
    at++;
  };

  function sum(): Quotient {
    if (++depth > DEEPEST) unreadable();
    let value: Quotient | null = null;
    do {
      let minus = false;
      const first = at;
      while (is('+', '-')) if (tokens[at++].text === '-') minus = !minus;
      // "3--2" and "3+-2" are read, "3+--2" is not clean.
      if (at - first > 2) unreadable();
      const next = product();
      const signed = minus ? algebra.negate(next) : next;
      value = value ? algebra.add(value, signed) : signed;
    } while (is('+', '-'));
    depth--;
    return value;
  }

  function product(): Quotient {
    let value = factor();
    for (;;) {
      if (is('*', '·', '×') || isName('cdot', 'times')) {
        at++;
        value = algebra.multiply(value, factor());
      } else if (is('/')) {
        at++;
        const under = factor();
        // 1/2x may be (1/2)x or 1/(2x), 1/2(x) too.
        if (startsFactor() && !isName('cdot', 'times')) unreadable();
        value = algebra.divide(value, under);
      } else if (startsFactor()) {
        // "2 3" is no product; "x 2" is a slip.
        if (tokens[at].kind === 'number') unreadable();
        const mixed = isName('frac') && tokens[at - 1]?.kind === 'number';
        const next = factor();
        // 2\\frac{2}{3} is a mixed number, 2\\frac{x}{3} a product.
        value = mixed && isNumber(next) ? algebra.add(value, next) : algebra.multiply(value, next);
      } else return value;
    }
  }

  function startsFactor(): boolean {
    const token = tokens[at];
    if (!token || isName('cdot', 'times')) return false;
    return token.kind !== 'mark' || token.text === '(' || token.text === '{' || token.text === '[';
  }

  function factor(): Quotient {
    const base = primary();
    if (!is('^')) return base;
    at++;
    return algebra.power(base, exponent());
  }

  function exponent(): Quotient {
    if (is('{', '(')) return primary();
    if (is('-')) {
      at++;
      return algebra.negate(exponent());
    }
    // x^23 is x²·3 in LaTeX and x to the 23 in plain text.
    if (tokens[at]?.kind === 'number' && tokens[at].text.length > 1) unreadable();
    const value = primary();
    if (is('^')) unreadable();
    return value;
  }

  function bracketed(open: string, close: string): Quotient {
    take(open);
    const value = sum();
    take(close);
    return value;
  }

  function primary(): Quotient {
    const token = tokens[at] ?? unreadable();
    if (token.kind === 'number') {
      at++;
      const [whole, rest = ''] = token.text.split('.');
      const value = algebra.constant(BigInt(whole + rest));
      return algebra.divide(value, algebra.constant(10n ** BigInt(rest.length)));
    }
    if (is('(')) return bracketed('(', ')');
    if (is('{')) return bracketed('{', '}');
    if (is('[')) return bracketed('[', ']');
    if (token.kind === 'mark') return unreadable();
    at++;
    if (token.text === 'sqrt') return root();
    if (token.text === 'frac') {
      const up = argument();
      return algebra.divide(up, argument());
    }
    if (FUNCTIONS.has(token.text)) return call(token.text);
    if (token.text.length > 1 && !NAMES.has(token.text)) return unreadable();
    return algebra.atom(token.text + subscript());
  }

  function root(): Quotient {
    if (is('[')) {
      const degree = bracketed('[', ']');
      return algebra.atom(`root${textOf(degree)}(${textOf(bracketed('{', '}'))})`);
    }
    return algebra.root(is('(') ? primary() : argument());
  }

  /** x_1 and x_{1} are one name. */
  function subscript(): string {
    if (!is('_')) return '';
    at++;
    const value = argument();
    return `_${integerOf(value) ?? textOf(value)}`;
  }

  /** What TeX takes as an argument: a group, or one digit, letter or command. */
  function argument(): Quotient {
    const token = tokens[at] ?? unreadable();
    if (token.kind === 'number' && token.text.length > 1) {
      if (!/^\d/.test(token.text)) unreadable();
      tokens.splice(
        at,
        1,
        { kind: 'number', text: token.text[0] },
        { kind: 'number', text: token.text.slice(1) },
      );
    }
    return is('(', '[') ? unreadable() : primary();
  }

  /** sin x, sin(x), sin² x, log_2 x; without brackets one factor is the argument, which 2x is not. */
  function call(name: string): Quotient {
    const base = subscript();
    let power: Quotient | null = null;
    if (is('^')) {
      at++;
      power = exponent();
      // sin⁻¹ is the inverse function, not 1/sin.
      if ((integerOf(power) ?? 0) < 1) unreadable();
    }
    const of = primary();
    const clean = !startsFactor() && !is('^', '/');
    if (!clean && tokens[at - 1].text !== ')') unreadable();
    const value = algebra.atom(`${name}${base}(${textOf(of)})`);
    return power ? algebra.power(value, power) : value;
  }

  const value = sum();
  if (at < tokens.length) unreadable();
  return value;
}
