/** A matrix product as the WGSL forms see it, and what their texts share. */
import type { Argument, WgslPass } from '../../op.ts';
import { f32, read, u32, write } from '../../wgsl.ts';

/** How an operand lies in memory: `row` has k contiguous, `column` has m (or n) contiguous. */
export type Layout = 'row' | 'column';

export interface Operand {
  arg: Argument;
  layout: Layout;
  /** Two f16 a word; rows hold an even number of them. */
  half?: boolean;
}

/** out[m, n] = alpha·Σ_k a(m, k)·b(n, k) (+ bias[n]) (+ residual[m, n]). */
export interface Product {
  a: Operand;
  b: Operand;
  M: number;
  N: number;
  K: number;
  alpha: number;
  bias: Argument | null;
  residual: Argument | null;
  out: Argument;
  /** Add to what `out` holds. */
  add: boolean;
  /** Where Σ_k a(m, k) is added, for each m. */
  sums: Argument | null;
}

/** The operand can be read four contiguous numbers at a time. */
export const inVectors = ({ layout }: Operand, rows: number, K: number): boolean =>
  (layout === 'row' ? K : rows) % 4 === 0;

export const elementType = ({ half }: Operand, vectors: boolean): string =>
  half ? (vectors ? 'vec2<u32>' : 'u32') : vectors ? 'vec4<f32>' : 'f32';

/** Part of a pass's name that tells how an operand is read. */
export const operandName = ({ layout, half }: Operand, vectors: boolean): string =>
  `${layout}${vectors ? '4' : ''}${half ? 'h' : ''}`;

/** WGSL function `<name>_at(i)`: number i of an operand, or numbers 4·i … 4·i + 3 of one that is read in vectors. */
export function accessor(name: 'a' | 'b', { half }: Operand, vectors: boolean): string {
  const [type, body] = half
    ? vectors
      ? ['vec4<f32>', `let w = ${name}[i]; return vec4<f32>(unpack2x16float(w.x), unpack2x16float(w.y));`]
      : ['f32', `let pair = unpack2x16float(${name}[i / 2u]); return select(pair.x, pair.y, i % 2u == 1u);`]
    : [vectors ? 'vec4<f32>' : 'f32', `return ${name}[i];`];
  return `\nfn ${name}_at(i: u32) -> ${type} { ${body} }`;
}

/** What is done with a finished sum. */
export type Ending = Pick<Product, 'bias' | 'residual' | 'out' | 'add' | 'sums' | 'alpha'>;

export const endingName = ({ bias, residual, add, sums }: Ending): string =>
  `${bias ? '-bias' : ''}${residual ? '-residual' : ''}${add ? '-add' : ''}${sums ? '-sums' : ''}`;

/** Bindings of an ending; `type` is that of bias, residual and out. */
export const endingBindings = (
  { bias, residual, out, sums }: Ending,
  type = 'f32',
): WgslPass['bindings'][number][] => [
  ...(bias ? [read('bias', bias, type)] : []),
  ...(residual ? [read('residual', residual, type)] : []),
  write('out', out, type),
  ...(sums ? [write('sums', sums)] : []),
];

/** WGSL statement: ends sum `value` of column `n` at place `at` (both in units of the binding's type). */
export const endingStatement = (
  { bias, residual, add }: Ending,
  [value, n, at]: readonly [string, string, string],
): string =>
  `out[${at}] ${add ? '+=' : '='} u.alpha * ${value}${bias ? ` + bias[${n}]` : ''}${residual ? ` + residual[${at}]` : ''};`;

export const sizes = ({ M, N, K, alpha }: Product): WgslPass['uniforms'] => [
  u32('M', M),
  u32('N', N),
  u32('K', K),
  f32('alpha', alpha),
];

/** Bodies are made once per name. */
const bodies = new Map<string, string>();
export function bodyOf(name: string, make: () => string): { name: string; body: string } {
  let body = bodies.get(name);
  if (!body) {
    body = make();
    bodies.set(name, body);
  }
  return { name, body };
}
