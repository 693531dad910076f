/**
 * WGSL form of rms-norm and its gradient. Tiled: one workgroup per row (forward) or run of rows (backward). Direct
 * (forward): one thread per row.
 */
import type { Argument, WgslPass } from '../../op.ts';
import { f32, flatGrid, groupReduceWgsl, kernelStyle, read, u32, type Wgsl, write } from '../../wgsl.ts';

/** Threads of a workgroup: short rows (small models, and heads in Qwen3) would leave most of 64 idle. */
const SHORT_ROW = 128;
export type Threads = 32 | 64;
export const threadsFor = (C: number): Threads => (C <= SHORT_ROW ? 32 : 64);

/** Threads of a workgroup in the direct style: few, since a small batch has few rows and every core should get some. */
export const DIRECT_SIZE = 16;
/** Rows are read as vec4s in the direct style where C allows it. */
export type Scalar = 'f32' | 'vec4<f32>';
export const scalarFor = (C: number): Scalar => (C % 4 === 0 ? 'vec4<f32>' : 'f32');
/** The sum of a value's parts times those of another. */
export const product = (scalar: Scalar, a: string, b: string): string =>
  scalar === 'f32' ? `${a} * ${b}` : `dot(${a}, ${b})`;

// With a residual, the sum is stored first and read again by the thread that stored it.
const value = (residual: boolean) =>
  residual ? 'let v = x[row + c] + r[row + c]; sum[row + c] = v;' : 'let v = x[row + c];';
const stored = (residual: boolean) => (residual ? 'sum' : 'x');

const tiledBody = (residual: boolean, threads: Threads) => /* wgsl */ `${groupReduceWgsl(threads)}
@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let n = flat_group(group, groups);
  if (n >= u.N) { return; }
  let row = n * C;
  var squares = 0.0;
  for (var c = t; c < C; c += ${threads}u) { ${value(residual)} squares += v * v; }
  let scale = 1.0 / sqrt(group_sum(squares, t) / f32(C) + u.eps);
  if (t == 0u) { inv[n] = scale; }
  for (var c = t; c < C; c += ${threads}u) { y[row + c] = ${stored(residual)}[row + c] * scale * w[c]; }
}
`;

const directBody = (residual: boolean, scalar: Scalar) => /* wgsl */ `
@compute @workgroup_size(${DIRECT_SIZE})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let n = flat_group(group, groups) * ${DIRECT_SIZE}u + t;
  if (n >= u.N) { return; }
  let row = n * COLUMNS;
  var squares = 0.0;
  for (var c = 0u; c < COLUMNS; c++) { ${value(residual)} squares += ${product(scalar, 'v', 'v')}; }
  let scale = 1.0 / sqrt(squares / f32(C) + u.eps);
  inv[n] = scale;
  for (var c = 0u; c < COLUMNS; c++) { y[row + c] = ${stored(residual)}[row + c] * scale * w[c]; }
}
`;

type Form = Pick<WgslPass, 'name' | 'body'>;
const formsOf = (name: string, residual: boolean) => {
  const tiled = (threads: Threads): Form => ({
    name: `${name}-${threads}`,
    body: tiledBody(residual, threads),
  });
  const direct = (scalar: Scalar): Form => ({
    name: `${name}-direct-${scalar}`,
    body: directBody(residual, scalar),
  });
  return { 32: tiled(32), 64: tiled(64), f32: direct('f32'), 'vec4<f32>': direct('vec4<f32>') };
};
const NORM = formsOf('rms-norm', false);
const ADD_NORM = formsOf('add-norm', true);

/** Where a forward pass finds and leaves its rows; `r` and `sum` where there is a residual. */
export interface NormArguments {
  x: Argument;
  w: Argument;
  y: Argument;
  inv: Argument;
  residual?: { r: Argument; sum: Argument };
}

/** The only pass of rms-norm or add-norm over N rows of C. */
export function normPass(
  [N, C]: readonly number[],
  eps: number,
  { x, w, y, inv, residual }: NormArguments,
): WgslPass {
  const forms = residual ? ADD_NORM : NORM;
  const direct = kernelStyle() === 'direct';
  const scalar = direct ? scalarFor(C) : 'f32';
  return {
    ...forms[direct ? scalar : threadsFor(C)],
    constants: direct ? { C, COLUMNS: scalar === 'f32' ? C : C / 4 } : { C },
    bindings: [
      read('x', x, scalar),
      read('w', w, scalar),
      write('y', y, scalar),
      write('inv', inv),
      ...(residual ? [read('r', residual.r, scalar), write('sum', residual.sum, scalar)] : []),
    ],
    uniforms: [u32('N', N), f32('eps', eps)],
    workgroups: flatGrid(direct ? Math.ceil(N / DIRECT_SIZE) : N),
  };
}

/** [x [N, C], w [C]], {eps} → [y [N, C], inv [N]] */
export const rmsNormWgsl: Wgsl<{ eps: number }> = ([{ shape }], _, { eps }) => ({
  passes: [normPass(shape, eps, { x: { input: 0 }, w: { input: 1 }, y: { output: 0 }, inv: { output: 1 } })],
});

// A thread owns the columns t, t + threads, … of its workgroup's rows, so the sums for dw stay in registers.
const gradBody = (threads: Threads, residual: boolean) => /* wgsl */ `${groupReduceWgsl(threads)}
@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  var sums: array<f32, COLUMNS>;
  let first = group.x * u.rows;
  let end = min(first + u.rows, u.N);
  for (var n = first; n < end; n++) {
    let row = n * C;
    var dot = 0.0;
    for (var c = t; c < C; c += ${threads}u) { dot += dy[row + c] * w[c] * x[row + c]; }
    let scale = inv[n];
    let pull = group_sum(dot, t) / f32(C) * scale * scale;
    for (var i = 0u; i < COLUMNS; i++) {
      let c = t + i * ${threads}u;
      if (c < C) {
        let d = dy[row + c];
        let v = x[row + c];
        dx[row + c] = scale * (d * w[c] - v * pull)${residual ? ' + dres[row + c]' : ''};
        sums[i] += d * v * scale;
      }
    }
  }
  for (var i = 0u; i < COLUMNS; i++) {
    let c = t + i * ${threads}u;
    if (c < C) { parts[group.x * C + c] = sums[i]; }
  }
}
`;

const gradForms = (name: string, residual: boolean): Record<Threads, Form> => ({
  32: { name: `${name}-32`, body: gradBody(32, residual) },
  64: { name: `${name}-64`, body: gradBody(64, residual) },
});
const GRAD = gradForms('rms-norm-grad', false);
const GRAD_RESIDUAL = gradForms('rms-norm-grad-residual', true);

const sumBody = (assign: '=' | '+=') => /* wgsl */ `
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= C) { return; }
  var sum = 0.0;
  for (var p = 0u; p < u.parts; p++) { sum += parts[p * C + id.x]; }
  dw[id.x] ${assign} sum;
}
`;
const SUM = { name: 'rms-norm-grad-sum', body: sumBody('=') };
const SUM_ADD = { name: 'rms-norm-grad-add', body: sumBody('+=') };

/** Workgroups of the backward pass: enough to fill a GPU, few enough that adding up their parts is quick. */
const MOST_PARTS = 256;

/** Passes of the tiled gradient over N rows of C, with dy, x, w and inv as inputs 0 to 3 and dx as output 0. */
export function normGradPasses(
  [N, C]: readonly number[],
  { dw, add, dres }: { dw: Argument; add: boolean; dres?: Argument },
): ReturnType<Wgsl<object>> {
  const threads = threadsFor(C);
  const rows = Math.max(1, Math.ceil(N / MOST_PARTS));
  const parts = Math.ceil(N / rows);
  const passes: WgslPass[] = [
    {
      ...(dres ? GRAD_RESIDUAL : GRAD)[threads],
      constants: { C, COLUMNS: Math.ceil(C / threads) },
      bindings: [
        read('dy', { input: 0 }),
        read('x', { input: 1 }),
        read('w', { input: 2 }),
        read('inv', { input: 3 }),
        write('dx', { output: 0 }),
        write('parts', { scratch: 0 }),
        ...(dres ? [read('dres', dres)] : []),
      ],
      uniforms: [u32('N', N), u32('rows', rows)],
      workgroups: [parts, 1, 1],
    },
    {
      ...(add ? SUM_ADD : SUM),
      constants: { C },
      bindings: [read('parts', { scratch: 0 }), write('dw', dw)],
      uniforms: [u32('parts', parts)],
      workgroups: [Math.ceil(C / 64), 1, 1],
    },
  ];
  return { passes, scratch: [{ shape: [parts, C], dtype: 'float32' }] };
}

/** [dy [N, C], x [N, C], w [C], inv [N]] → [dx [N, C], dw [C]] */
export const rmsNormGradWgsl: Wgsl<object> = ([, x]) =>
  normGradPasses(x.shape, { dw: { output: 1 }, add: false });
