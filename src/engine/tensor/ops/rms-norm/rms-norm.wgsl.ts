/** WGSL form of rms-norm and its gradient. One workgroup per row (forward) or run of rows (backward). */
import type { WgslPass } from '../../op.ts';
import { f32, flatGrid, groupReduceWgsl, read, u32, type Wgsl, write } from '../../wgsl.ts';

/** Threads of a workgroup: short rows (small models, and heads in Qwen3) would leave most of 64 idle. */
const SHORT_ROW = 128;
type Threads = 32 | 64;
const threadsFor = (C: number): Threads => (C <= SHORT_ROW ? 32 : 64);

const forwardBody = (threads: Threads) => /* wgsl */ `${groupReduceWgsl(threads)}
@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let n = flat_group(group, groups);
  if (n >= u.N) { return; }
  let row = n * C;
  var squares = 0.0;
  for (var c = t; c < C; c += ${threads}u) { squares += x[row + c] * x[row + c]; }
  let scale = 1.0 / sqrt(group_sum(squares, t) / f32(C) + u.eps);
  if (t == 0u) { inv[n] = scale; }
  for (var c = t; c < C; c += ${threads}u) { y[row + c] = x[row + c] * scale * w[c]; }
}
`;

const FORWARD = {
  32: { name: 'rms-norm-32', body: forwardBody(32) },
  64: { name: 'rms-norm-64', body: forwardBody(64) },
};

/** [x [N, C], w [C]], {eps} → [y [N, C], inv [N]] */
export const rmsNormWgsl: Wgsl<{ eps: number }> = ([x], _, { eps }) => {
  const [N, C] = x.shape;
  return {
    passes: [
      {
        ...FORWARD[threadsFor(C)],
        constants: { C },
        bindings: [
          read('x', { input: 0 }),
          read('w', { input: 1 }),
          write('y', { output: 0 }),
          write('inv', { output: 1 }),
        ],
        uniforms: [u32('N', N), f32('eps', eps)],
        workgroups: flatGrid(N),
      },
    ],
  };
};

// A thread owns the columns t, t + threads, … of its workgroup's rows, so the sums for dw stay in registers.
const gradBody = (threads: Threads) => /* wgsl */ `${groupReduceWgsl(threads)}
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
        dx[row + c] = scale * (d * w[c] - v * pull);
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

const GRAD = {
  32: { name: 'rms-norm-grad-32', body: gradBody(32) },
  64: { name: 'rms-norm-grad-64', body: gradBody(64) },
};

const gradSumBody = /* wgsl */ `
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= C) { return; }
  var sum = 0.0;
  for (var p = 0u; p < u.parts; p++) { sum += parts[p * C + id.x]; }
  dw[id.x] = sum;
}
`;

/** Workgroups of the backward pass: enough to fill a GPU, few enough that adding up their parts is quick. */
const MOST_PARTS = 256;

/** [dy [N, C], x [N, C], w [C], inv [N]] → [dx [N, C], dw [C]] */
export const rmsNormGradWgsl: Wgsl<object> = ([, x]) => {
  const [N, C] = x.shape;
  const threads = threadsFor(C);
  const rows = Math.max(1, Math.ceil(N / MOST_PARTS));
  const parts = Math.ceil(N / rows);
  const passes: WgslPass[] = [
    {
      ...GRAD[threads],
      constants: { C, COLUMNS: Math.ceil(C / threads) },
      bindings: [
        read('dy', { input: 0 }),
        read('x', { input: 1 }),
        read('w', { input: 2 }),
        read('inv', { input: 3 }),
        write('dx', { output: 0 }),
        write('parts', { scratch: 0 }),
      ],
      uniforms: [u32('N', N), u32('rows', rows)],
      workgroups: [parts, 1, 1],
    },
    {
      name: 'rms-norm-grad-sum',
      constants: { C },
      bindings: [read('parts', { scratch: 0 }), write('dw', { output: 1 })],
      uniforms: [u32('parts', parts)],
      body: gradSumBody,
      workgroups: [Math.ceil(C / 64), 1, 1],
    },
  ];
  return { passes, scratch: [{ shape: [parts, C], dtype: 'float32' }] };
};
