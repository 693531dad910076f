/**
 * The product for software WebGPU, without workgroup memory: a thread keeps a block of R × C sums in registers and adds
 * 4 numbers of k at a time from R + C vec4s that it reads straight from storage.
 */
import type { WgslPass } from '../../op.ts';
import { flatGrid, read } from '../../wgsl.ts';
import {
  accessor,
  bodyOf,
  type Ending,
  elementType,
  endingBindings,
  endingName,
  endingStatement,
  inVectors,
  type Operand,
  operandName,
  type Product,
  sizes,
} from './product.ts';

/** Threads of a workgroup: one subgroup, so that workgroups spread evenly over few cores. */
const THREADS = 4;

const XYZW = 'xyzw';
const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
const lines = (count: number, line: (i: number) => string): string => range(count).map(line).join('\n');

interface Side {
  name: 'a' | 'b';
  operand: Operand;
  vectors: boolean;
  /** Rows of the block, and its first row and the number of all rows in WGSL. */
  rows: number;
  first: string;
  count: string;
}

/** Distance of neighbouring k in a column operand. */
const stride = ({ vectors, count }: Side): string => (vectors ? `(${count} / 4u)` : count);

/** Statements before the loop: where the rows of the block begin. Rows past the end read the last one and are dropped. */
function places({ name, operand, vectors, rows, first, count }: Side): string {
  if (operand.layout === 'row')
    return lines(
      rows,
      (r) => `let at_${name}${r} = min(${first} + ${r}u, ${count} - 1u) * ${vectors ? '(u.K / 4u)' : 'u.K'};`,
    );
  if (vectors)
    return lines(rows / 4, (p) => `let at_${name}${p} = min(${first} / 4u + ${p}u, ${count} / 4u - 1u);`);
  return lines(rows, (r) => `let at_${name}${r} = min(${first} + ${r}u, ${count} - 1u);`);
}

/**
 * Statement: reads vec4 number i of the step. Of a row operand that is `<name><i>`, four numbers of k of row i; of a
 * column operand `<name><j>_<p>` (i = 4·p + j), rows 4·p … 4·p + 3 at number j of k. `k` holds the step's numbers of
 * k and `k_<name>` where they begin.
 */
function load({ name, operand, vectors }: Side, i: number, ragged: boolean): string {
  let value: string;
  let into: string;
  let live: string;
  if (operand.layout === 'row') {
    into = `${name}${i}`;
    live = 'live';
    value = vectors
      ? `${name}_at(at_${name}${i} + step)`
      : `vec4<f32>(${range(4).map((j) => `${name}_at(at_${name}${i} + k.${XYZW[j]})`)})`;
  } else {
    const [p, j] = [Math.floor(i / 4), i % 4];
    into = `${name}${j}_${p}`;
    live = `live.${XYZW[j]}`;
    value = vectors
      ? `${name}_at(k_${name}.${XYZW[j]} + at_${name}${p})`
      : `vec4<f32>(${range(4).map((r) => `${name}_at(k_${name}.${XYZW[j]} + at_${name}${4 * p + r})`)})`;
  }
  // Numbers of k past the end read the last one; it is enough that one operand is zero there.
  if (ragged && name === 'a') value = `select(vec4<f32>(), ${value}, ${live})`;
  return `let ${into} = ${value};`;
}

interface Shape {
  a: Operand;
  b: Operand;
  vectorsA: boolean;
  vectorsB: boolean;
  vectorsOut: boolean;
  /** K is no multiple of 4. */
  ragged: boolean;
}

function body(
  [R, C]: Block,
  { a, b, vectorsA, vectorsB, vectorsOut, ragged }: Shape,
  ending: Ending,
): string {
  const sideA: Side = { name: 'a', operand: a, vectors: vectorsA, rows: R, first: 'm0', count: 'u.M' };
  const sideB: Side = { name: 'b', operand: b, vectors: vectorsB, rows: C, first: 'n0', count: 'u.N' };
  const A = (r: number, j: number) =>
    a.layout === 'row' ? `a${r}.${XYZW[j]}` : `a${j}_${r >> 2}.${XYZW[r & 3]}`;
  const term = (r: number, q: number) =>
    b.layout === 'row'
      ? `vec4<f32>(${range(4).map((c) => `dot(a${r}, b${4 * q + c})`)})`
      : range(4)
          .map((j) => `${A(r, j)} * b${j}_${q}`)
          .join(' + ');
  const store = vectorsOut
    ? `if (m < u.M && n < u.N) { let at = m * (u.N / 4u) + n / 4u; ${endingStatement(ending, ['value', 'n / 4u', 'at'])} }`
    : lines(
        4,
        (c) =>
          `if (m < u.M && n + ${c}u < u.N) { let at = m * u.N + n + ${c}u; ${endingStatement(ending, [`value.${XYZW[c]}`, `n + ${c}u`, 'at'])} }`,
      );
  return /* wgsl */ `${accessor('a', a, vectorsA)}${accessor('b', b, vectorsB)}
fn store(m: u32, n: u32, value: vec4<f32>) {
  ${store}
}
@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let block = flat_group(group, groups) * ${THREADS}u + t;
  let blocks = (u.M + ${R - 1}u) / ${R}u;
  let m0 = (block % blocks) * ${R}u;
  let n0 = (block / blocks) * ${C}u;
  if (n0 >= u.N) { return; }
${places(sideA)}
${places(sideB)}
${lines(R, (r) =>
  range(C / 4)
    .map((q) => `var c${r}_${q} = vec4<f32>();`)
    .join(' '),
)}
${ending.sums ? lines(R / 4, (p) => `var s${p} = vec4<f32>();`) : ''}
  for (var step = 0u; 4u * step < u.K; step++) {
    let k${ragged ? 's' : ''} = 4u * step + vec4<u32>(0, 1, 2, 3);
${ragged ? 'let live = ks < vec4<u32>(u.K);\nlet k = min(ks, vec4<u32>(u.K - 1u));' : ''}
${[sideA, sideB].map((side) => (side.operand.layout === 'column' ? `let k_${side.name} = k * ${stride(side)};` : '')).join('\n')}
${lines(R, (i) => load(sideA, i, ragged))}
${ending.sums ? lines(R / 4, (p) => `s${p} += a0_${p} + a1_${p} + a2_${p} + a3_${p};`) : ''}
${lines(
  C / 4,
  (q) =>
    `${range(4)
      .map((j) => load(sideB, 4 * q + j, ragged))
      .join('\n')}\n${lines(R, (r) => `c${r}_${q} += ${term(r, q)};`)}`,
)}
  }
${lines(R, (r) =>
  range(C / 4)
    .map((q) => `store(m0 + ${r}u, n0 + ${4 * q}u, c${r}_${q});`)
    .join(' '),
)}
${ending.sums ? `if (n0 == 0u) {\n${lines(R, (r) => `if (m0 + ${r}u < u.M) { sums[m0 + ${r}u] += s${r >> 2}.${XYZW[r & 3]}; }`)}\n}` : ''}
}
`;
}

/** Rows and columns of a thread's block. */
export type Block = readonly [R: number, C: number];

/**
 * Nanoseconds, measured on SwiftShader: reading a vec4 takes as long as 64 multiply-adds, so large blocks win where there
 * are enough of them for the cores and the product is worth the time to compile them (about 4 ms a number of the block,
 * spread here over 10,000 products).
 */
const READ_VECTOR = 80;
const ADD_VECTOR = 5;
const COMPILE = 400;
const CORES = 2;
/** Most numbers of a block: where all is read and written in vectors, and elsewhere, where the text is far longer. */
const MOST_VECTORS = 256;
const MOST_NUMBERS = 64;

function blockFor({ a, M, N, K }: Product, most: number): Block {
  let best: Block = [4, 4];
  let least = Infinity;
  for (const R of a.layout === 'column' ? [4, 8, 16] : [1, 4, 8, 16])
    for (const C of [4, 8, 16]) {
      const groups = Math.ceil((Math.ceil(M / R) * Math.ceil(N / C)) / THREADS);
      const step = READ_VECTOR * (R + C) + ADD_VECTOR * R * C;
      const cost = Math.ceil(groups / CORES) * Math.ceil(K / 4) * step + COMPILE * R * C;
      if (R * C > most || cost >= least) continue;
      best = [R, C];
      least = cost;
    }
  return best;
}

export function directProduct(product: Product, chosen?: Block): { passes: WgslPass[] } {
  const { a, b, M, N, K } = product;
  const shape: Shape = {
    a,
    b,
    vectorsA: inVectors(a, M, K),
    vectorsB: inVectors(b, N, K),
    vectorsOut: N % 4 === 0,
    ragged: K % 4 !== 0,
  };
  const vectors = shape.vectorsA && shape.vectorsB && shape.vectorsOut;
  const block = chosen ?? blockFor(product, vectors ? MOST_VECTORS : MOST_NUMBERS);
  const [R, C] = block;
  const name = `linear-direct-${R}x${C}-${operandName(a, shape.vectorsA)}-${operandName(b, shape.vectorsB)}${shape.vectorsOut ? '-4' : ''}${shape.ragged ? '-ragged' : ''}${endingName(product)}`;
  return {
    passes: [
      {
        ...bodyOf(name, () => body(block, shape, product)),
        constants: {},
        bindings: [
          read('a', a.arg, elementType(a, shape.vectorsA)),
          read('b', b.arg, elementType(b, shape.vectorsB)),
          ...endingBindings(product, shape.vectorsOut ? 'vec4<f32>' : 'f32'),
        ],
        uniforms: sizes(product),
        workgroups: flatGrid(Math.ceil((Math.ceil(M / R) * Math.ceil(N / C)) / THREADS)),
      },
    ],
  };
}
