/**
 * The product for graphics cards. A workgroup of 8 × 8 threads makes a tile of 32 × 32 numbers (8 × 32 where there are few
 * rows, as in decoding), 4 × 4 a thread, from 32 numbers of k at a time in workgroup memory (vec4s of k, rows of 8 with a
 * stride of 9 against bank conflicts). Where tiles are few and k is long, workgroups share k and a second pass adds up
 * their parts in order.
 */
import type { Argument, WgslPass } from '../../op.ts';
import { elementGrid, FLAT_SIZE, read, u32, type Wgsl, write } from '../../wgsl.ts';
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

/** Rows per thread: 4, or 1 for products of up to 8 rows. */
type RowsPerThread = 1 | 4;

/** Statement: fills `rows` rows of a tile from row `first` on; neighbouring threads read neighbouring numbers. */
function fill(
  name: 'a' | 'b',
  { layout }: Operand,
  vectors: boolean,
  { rows, first, count }: { rows: number; first: string; count: string },
): string {
  const tile = `tile_${name}`;
  // Four vec4s along the rows, turned round.
  if (layout === 'column' && vectors)
    return /* wgsl */ `
    for (var e = t; e < ${2 * rows}u; e += 64u) {
      let i = 4u * (e % ${rows / 4}u);
      let k4 = e / ${rows / 4}u;
      var v: array<vec4<f32>, 4>;
      for (var j = 0u; j < 4u; j++) {
        let k = 32u * step + 4u * k4 + j;
        v[j] = vec4<f32>();
        if (k < u.K && ${first} + i < ${count}) { v[j] = ${name}_at(k * (${count} / 4u) + (${first} + i) / 4u); }
      }
      for (var j = 0u; j < 4u; j++) {
        ${tile}[(i + j) * 9u + k4] = vec4<f32>(v[0][j], v[1][j], v[2][j], v[3][j]);
      }
    }`;
  const [i, k4] = layout === 'row' ? ['e / 8u', 'e % 8u'] : [`e % ${rows}u`, `e / ${rows}u`];
  const value = vectors
    ? `if (i < ${count} && k < u.K) { value = ${name}_at(i * (u.K / 4u) + k / 4u); }`
    : [0, 1, 2, 3]
        .map(
          (j) =>
            `if (i < ${count} && k + ${j}u < u.K) { value[${j}] = ${name}_at(${layout === 'row' ? `i * u.K + k + ${j}u` : `(k + ${j}u) * ${count} + i`}); }`,
        )
        .join('\n      ');
  return /* wgsl */ `
    for (var e = t; e < ${8 * rows}u; e += 64u) {
      let i = ${first} + ${i};
      let k = 32u * step + 4u * (${k4});
      var value = vec4<f32>();
      ${value}
      ${tile}[(${i}) * 9u + ${k4}] = value;
    }`;
}

/** `split`: the sums are parts that a second pass ends. */
function productBody(
  { a, b, vectorsA, vectorsB }: { a: Operand; b: Operand; vectorsA: boolean; vectorsB: boolean },
  rowsPerThread: RowsPerThread,
  split: boolean,
  ending: Ending,
): string {
  const rows = 8 * rowsPerThread;
  const each = (text: (r: number) => string) =>
    Array.from({ length: rowsPerThread }, (_, r) => text(r)).join('\n');
  const part = ending.sums ? '(u.M * u.N + u.M)' : '(u.M * u.N)';
  const store = split
    ? `out[part * ${part} + m * u.N + n] = value;`
    : endingStatement(ending, ['value', 'n', 'm * u.N + n']);
  const storeSum = split ? `out[group.z * ${part} + u.M * u.N + m0 + t] = sum;` : 'sums[m0 + t] += sum;';
  return /* wgsl */ `${accessor('a', a, vectorsA)}${accessor('b', b, vectorsB)}
var<workgroup> tile_a: array<vec4<f32>, ${9 * rows}>;
var<workgroup> tile_b: array<vec4<f32>, 288>;
fn store(part: u32, m: u32, n: u32, value: f32) {
  if (m < u.M && n < u.N) { ${store} }
}
@compute @workgroup_size(8, 8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let tx = local.x;
  let ty = local.y;
  let m0 = group.y * ${rows}u;
  let n0 = group.x * 32u;
${each((r) => `  var acc${r} = vec4<f32>();`)}
  ${ending.sums ? 'var sum = 0.0;' : ''}
  let end = min((group.z + 1u) * u.steps, (u.K + 31u) / 32u);
  for (var step = group.z * u.steps; step < end; step++) {
    ${fill('a', a, vectorsA, { rows, first: 'm0', count: 'u.M' })}
    ${fill('b', b, vectorsB, { rows: 32, first: 'n0', count: 'u.N' })}
    workgroupBarrier();
    for (var k = 0u; k < 8u; k++) {
      let b0 = tile_b[tx * 9u + k];
      let b1 = tile_b[(tx + 8u) * 9u + k];
      let b2 = tile_b[(tx + 16u) * 9u + k];
      let b3 = tile_b[(tx + 24u) * 9u + k];
${each(
  (r) => `
      let a${r} = tile_a[(ty + ${8 * r}u) * 9u + k];
      acc${r} += vec4<f32>(dot(a${r}, b0), dot(a${r}, b1), dot(a${r}, b2), dot(a${r}, b3));`,
)}
    }
    ${
      ending.sums
        ? `if (group.x == 0u && t < ${rows}u) {
      for (var k = 0u; k < 8u; k++) { sum += dot(tile_a[t * 9u + k], vec4<f32>(1.0)); }
    }`
        : ''
    }
    workgroupBarrier();
  }
${each((r) => [0, 1, 2, 3].map((c) => `  store(group.z, m0 + ty + ${8 * r}u, n0 + tx + ${8 * c}u, acc${r}[${c}]);`).join('\n'))}
${ending.sums ? `  if (group.x == 0u && t < ${rows}u && m0 + t < u.M) { ${storeSum} }` : ''}
}
`;
}

const addPartsBody = (ending: Ending) => /* wgsl */ `
@compute @workgroup_size(${FLAT_SIZE})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let i = flat_thread(group, groups, t);
  if (i >= u.size) { return; }
  var sum = 0.0;
  for (var part = 0u; part < u.parts; part++) { sum += parts[part * u.size + i]; }
  ${ending.sums ? 'if (i >= u.M * u.N) { sums[i - u.M * u.N] += sum; return; }' : ''}
  ${endingStatement(ending, ['sum', 'i % u.N', 'i'])}
}
`;

/** Workgroups that fill a GPU; fewer tiles than a quarter of it share k, in stretches of at least 512. */
const FULL = 256;
function partsFor(tiles: number, K: number): number {
  if (4 * tiles > FULL) return 1;
  return Math.max(1, Math.min(Math.floor(FULL / tiles), Math.floor(K / 512)));
}

const NO_ENDING = { bias: null, residual: null, add: false };

export function tiledProduct(product: Product): ReturnType<Wgsl<object>> {
  const { a, b, M, N, K, sums } = product;
  const rowsPerThread: RowsPerThread = M <= 8 ? 1 : 4;
  const grid = [Math.ceil(N / 32), Math.ceil(M / (8 * rowsPerThread))] as const;
  const wanted = partsFor(grid[0] * grid[1], K);
  const allSteps = Math.ceil(K / 32);
  const steps = Math.ceil(allSteps / wanted);
  const parts = Math.max(1, Math.ceil(allSteps / steps));
  const split = parts > 1;
  const vectorsA = inVectors(a, M, K);
  const vectorsB = inVectors(b, N, K);
  const scratch: Argument = { scratch: 0 };
  const ending: Ending = split ? { ...product, ...NO_ENDING, out: scratch } : product;
  const name = `linear-${operandName(a, vectorsA)}-${operandName(b, vectorsB)}-${rowsPerThread}${endingName(ending)}${split ? '-split' : ''}`;
  const bindings = split ? [write('out', scratch)] : endingBindings(product);
  const passes: WgslPass[] = [
    {
      ...bodyOf(name, () => productBody({ a, b, vectorsA, vectorsB }, rowsPerThread, split, ending)),
      constants: {},
      bindings: [
        read('a', a.arg, elementType(a, vectorsA)),
        read('b', b.arg, elementType(b, vectorsB)),
        ...bindings,
      ],
      uniforms: [...sizes(product), u32('steps', steps)],
      workgroups: [...grid, parts],
    },
  ];
  if (!split) return { passes };
  const size = M * N + (sums ? M : 0);
  passes.push({
    ...bodyOf(`linear-add-parts${endingName(product)}`, () => addPartsBody(product)),
    constants: {},
    bindings: [read('parts', scratch), ...endingBindings(product)],
    uniforms: [...sizes(product), u32('size', size), u32('parts', parts)],
    workgroups: elementGrid(size),
  });
  return { passes, scratch: [{ shape: [parts, size], dtype: 'float32' }] };
}
