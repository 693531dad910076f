/**
 * WGSL form of linear and its two gradients: one tiled matrix product out[m, n] = Σ_k a(m, k)·b(n, k) (+ bias[n]).
 * A workgroup of 8 × 8 threads makes a tile of 32 × 32 numbers (8 × 32 where there are few rows, as in decoding), 4 × 4 a
 * thread, from 32 numbers of k at a time in workgroup memory (vec4s of k, rows of 8 with a stride of 9 against bank
 * conflicts). Where tiles are few and k is long, workgroups share k and a second pass adds up their parts in order.
 */
import type { Argument, WgslPass } from '../../op.ts';
import { elementGrid, FLAT_SIZE, read, u32, type Wgsl, write } from '../../wgsl.ts';

/** How an operand lies in memory: `row` has k contiguous, `column` has m (or n) contiguous. */
type Layout = 'row' | 'column';

interface Operand {
  arg: Argument;
  layout: Layout;
  /** Rows can be read as vec4s. */
  aligned: boolean;
}

/** Rows per thread: 4, or 1 for products of up to 8 rows. */
type RowsPerThread = 1 | 4;

/** `load_<name>(i, k4)`: numbers 4·k4 … 4·k4 + 3 of row i, zeros outside. `count` is the number of rows. */
function loader(name: 'a' | 'b', { layout, aligned }: Operand, count: string): string {
  const element = layout === 'row' ? `${name}[i * u.K + k]` : `${name}[k * ${count} + i]`;
  const body =
    layout === 'row' && aligned
      ? `if (i < ${count} && 4u * k4 < u.K) { value = ${name}[i * (u.K / 4u) + k4]; }`
      : [0, 1, 2, 3]
          .map(
            (j) => `{ let k = 4u * k4 + ${j}u; if (i < ${count} && k < u.K) { value[${j}] = ${element}; } }`,
          )
          .join('\n  ');
  return /* wgsl */ `
fn load_${name}(i: u32, k4: u32) -> vec4<f32> {
  var value = vec4<f32>();
  ${body}
  return value;
}`;
}

/** Statement: fills `rows` rows of a tile from row `first` on; neighbouring threads read neighbouring numbers. */
function fill(name: 'a' | 'b', { layout }: Operand, rows: number, first: string): string {
  const [i, k] = layout === 'row' ? ['e / 8u', 'e % 8u'] : [`e % ${rows}u`, `e / ${rows}u`];
  return /* wgsl */ `
    for (var e = t; e < ${8 * rows}u; e += 64u) {
      tile_${name}[${i} * 9u + ${k}] = load_${name}(${first} + ${i}, 8u * step + ${k});
    }`;
}

function productBody(a: Operand, b: Operand, rowsPerThread: RowsPerThread, bias: boolean): string {
  const rows = 8 * rowsPerThread;
  const each = (text: (r: number) => string) =>
    Array.from({ length: rowsPerThread }, (_, r) => text(r)).join('\n');
  return /* wgsl */ `
${loader('a', a, 'u.M')}${loader('b', b, 'u.N')}
var<workgroup> tile_a: array<vec4<f32>, ${9 * rows}>;
var<workgroup> tile_b: array<vec4<f32>, 288>;
fn store(part: u32, m: u32, n: u32, value: f32) {
  if (m < u.M && n < u.N) { out[(part * u.M + m) * u.N + n] = value${bias ? ' + bias[n]' : ''}; }
}
@compute @workgroup_size(8, 8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let tx = local.x;
  let ty = local.y;
  let m0 = group.y * ${rows}u;
  let n0 = group.x * 32u;
${each((r) => `  var acc${r} = vec4<f32>();`)}
  let end = min((group.z + 1u) * u.steps, (u.K + 31u) / 32u);
  for (var step = group.z * u.steps; step < end; step++) {
    ${fill('a', a, rows, 'm0')}
    ${fill('b', b, 32, 'n0')}
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
    workgroupBarrier();
  }
${each((r) => [0, 1, 2, 3].map((c) => `  store(group.z, m0 + ty + ${8 * r}u, n0 + tx + ${8 * c}u, acc${r}[${c}]);`).join('\n'))}
}
`;
}

const addPartsBody = (bias: boolean) => /* wgsl */ `
@compute @workgroup_size(${FLAT_SIZE})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let i = flat_thread(group, groups, t);
  if (i >= u.size) { return; }
  var sum = ${bias ? 'bias[i % u.N]' : '0.0'};
  for (var part = 0u; part < u.parts; part++) { sum += parts[part * u.size + i]; }
  out[i] = sum;
}
`;

/** Bodies are made once per name. */
const bodies = new Map<string, string>();
function bodyOf(name: string, make: () => string): { name: string; body: string } {
  let body = bodies.get(name);
  if (!body) {
    body = make();
    bodies.set(name, body);
  }
  return { name, body };
}

/** Workgroups that fill a GPU; fewer tiles than a quarter of it share k, in stretches of at least 512. */
const FULL = 256;
function partsFor(tiles: number, K: number): number {
  if (4 * tiles > FULL) return 1;
  return Math.max(1, Math.min(Math.floor(FULL / tiles), Math.floor(K / 512)));
}

interface Product {
  a: Operand;
  b: Operand;
  bias: Argument | null;
  M: number;
  N: number;
  K: number;
}

function product({ a, b, bias, M, N, K }: Product): ReturnType<Wgsl<object>> {
  const rowsPerThread: RowsPerThread = M <= 8 ? 1 : 4;
  const grid = [Math.ceil(N / 32), Math.ceil(M / (8 * rowsPerThread))] as const;
  const wanted = partsFor(grid[0] * grid[1], K);
  const allSteps = Math.ceil(K / 32);
  const steps = Math.ceil(allSteps / wanted);
  const parts = Math.ceil(allSteps / steps);
  const out: Argument = parts === 1 ? { output: 0 } : { scratch: 0 };
  const biasHere = parts === 1 ? bias : null;
  const type = ({ layout, aligned }: Operand) => (layout === 'row' && aligned ? 'vec4<f32>' : 'f32');
  const operand = ({ layout, aligned }: Operand) => (layout === 'row' && aligned ? 'vectors' : layout);
  const passes: WgslPass[] = [
    {
      ...bodyOf(`linear-${operand(a)}-${operand(b)}-${rowsPerThread}${biasHere ? '-bias' : ''}`, () =>
        productBody(a, b, rowsPerThread, biasHere !== null),
      ),
      constants: {},
      bindings: [
        read('a', a.arg, type(a)),
        read('b', b.arg, type(b)),
        ...(biasHere ? [read('bias', biasHere)] : []),
        write('out', out),
      ],
      uniforms: [u32('M', M), u32('N', N), u32('K', K), u32('steps', steps)],
      workgroups: [...grid, parts],
    },
  ];
  if (parts === 1) return { passes };
  passes.push({
    ...bodyOf(`linear-add-parts${bias ? '-bias' : ''}`, () => addPartsBody(bias !== null)),
    constants: {},
    bindings: [
      read('parts', { scratch: 0 }),
      ...(bias ? [read('bias', bias)] : []),
      write('out', { output: 0 }),
    ],
    uniforms: [u32('size', M * N), u32('parts', parts), u32('N', N)],
    workgroups: elementGrid(M * N),
  });
  return { passes, scratch: [{ shape: [parts, M, N], dtype: 'float32' }] };
}

/** [x [N, I], w [O, I], b [O] (optional)] → [y [N, O]] */
export const linearWgsl: Wgsl<object> = ([x, w, b]) => {
  const [N, I] = x.shape;
  const aligned = I % 4 === 0;
  return product({
    a: { arg: { input: 0 }, layout: 'row', aligned },
    b: { arg: { input: 1 }, layout: 'row', aligned },
    bias: b ? { input: 2 } : null,
    M: N,
    N: w.shape[0],
    K: I,
  });
};

/** [dy [N, O], w [O, I]] → [dx [N, I]] */
export const linearInputGradWgsl: Wgsl<object> = ([dy, w]) => {
  const [N, O] = dy.shape;
  return product({
    a: { arg: { input: 0 }, layout: 'row', aligned: O % 4 === 0 },
    b: { arg: { input: 1 }, layout: 'column', aligned: false },
    bias: null,
    M: N,
    N: w.shape[1],
    K: O,
  });
};

/** [dy [N, O], x [N, I]] → [dw [O, I]] */
export const linearWeightGradWgsl: Wgsl<object> = ([dy, x]) => {
  const [N, O] = dy.shape;
  return product({
    a: { arg: { input: 0 }, layout: 'column', aligned: false },
    b: { arg: { input: 1 }, layout: 'column', aligned: false },
    bias: null,
    M: O,
    N: x.shape[1],
    K: N,
  });
};
