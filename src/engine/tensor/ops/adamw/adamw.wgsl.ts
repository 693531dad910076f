/** WGSL form of the gradient norm and of AdamW: one dispatch per tensor. */
import { assert } from '../../../../base/assert.ts';
import type { WgslPass } from '../../op.ts';
import { elementGrid, FLAT_SIZE, f32, groupReduceWgsl, read, u32, type Wgsl, write } from '../../wgsl.ts';
import type { RateRange } from './adamw.reference.ts';

const sizeOf = (shape: number[]) => shape.reduce((a, b) => a * b, 1);

/** Partial sums of squares of one array, into `parts` from `u.offset` on. */
export const squaresBody = /* wgsl */ `${groupReduceWgsl(FLAT_SIZE)}
@compute @workgroup_size(${FLAT_SIZE})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  var sum = 0.0;
  for (var i = group.x * ${FLAT_SIZE}u + t; i < u.size; i += groups.x * ${FLAT_SIZE}u) { sum += g[i] * g[i]; }
  sum = group_sum(sum, t);
  if (t == 0u) { parts[u.offset + group.x] = sum; }
}
`;

const normBody = /* wgsl */ `${groupReduceWgsl(FLAT_SIZE)}
@compute @workgroup_size(${FLAT_SIZE})
fn main(@builtin(local_invocation_index) t: u32) {
  var sum = 0.0;
  for (var i = t; i < u.count; i += ${FLAT_SIZE}u) { sum += parts[i]; }
  sum = group_sum(sum, t);
  if (t == 0u) { norm[0] = sqrt(sum); }
}
`;

/** Workgroups that add up the squares of one tensor: about 16 elements a thread, at most 256 workgroups. */
const groupsFor = (size: number) => Math.min(256, Math.max(1, Math.ceil(size / (16 * FLAT_SIZE))));

/** [g0, g1, …] → [norm [1]] */
export const globalNormWgsl: Wgsl<object> = (gradients) => {
  let count = 0;
  const passes = gradients.map(({ shape }, i): WgslPass => {
    const size = sizeOf(shape);
    const groups = groupsFor(size);
    count += groups;
    return {
      name: 'global-norm-squares',
      constants: {},
      bindings: [read('g', { input: i }), write('parts', { scratch: 0 })],
      uniforms: [u32('size', size), u32('offset', count - groups)],
      body: squaresBody,
      workgroups: [groups, 1, 1],
    };
  });
  passes.push({
    name: 'global-norm',
    constants: {},
    bindings: [read('parts', { scratch: 0 }), write('norm', { output: 0 })],
    uniforms: [u32('count', count)],
    body: normBody,
    workgroups: [1, 1, 1],
  });
  return { passes, scratch: [{ shape: [count], dtype: 'float32' }] };
};

/** Uniforms of up to two ranges that learn at rates of their own. */
export function rangeUniforms(ranges: readonly RateRange[] = []) {
  assert(ranges.length <= 2, `${ranges.length} ranges of one tensor with rates of their own`);
  return [0, 1].flatMap((i) => [
    u32(`from${i}`, ranges[i]?.from ?? 0),
    u32(`to${i}`, ranges[i]?.to ?? 0),
    f32(`times${i}`, ranges[i]?.multiplier ?? 1),
  ]);
}

/** `rate_of(i)`: the learning rate of number i. */
export const rateWgsl = /* wgsl */ `
fn rate_of(i: u32) -> f32 {
  if (i >= u.from0 && i < u.to0) { return hyper[0] * u.times0; }
  if (i >= u.from1 && i < u.to1) { return hyper[0] * u.times1; }
  return hyper[0];
}
`;

const adamwBody = /* wgsl */ `${rateWgsl}
@compute @workgroup_size(${FLAT_SIZE})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let i = flat_thread(group, groups, t);
  if (i >= u.size) { return; }
  // hyper: learning rate, β1, β2, ε, weight decay, largest norm, 1 − β1ⁿ, 1 − β2ⁿ
  let rate = rate_of(i);
  let gradient = g[i] * min(1.0, hyper[5] / (norm[0] + 1e-6));
  let mean = hyper[1] * m[i] + (1.0 - hyper[1]) * gradient;
  let square = hyper[2] * v[i] + (1.0 - hyper[2]) * gradient * gradient;
  m[i] = mean;
  v[i] = square;
  let keep = select(1.0, 1.0 - rate * hyper[4], u.decay == 1u);
  p[i] = p[i] * keep - rate * (mean / hyper[6]) / (sqrt(square / hyper[7]) + hyper[3]);
}
`;

/** [norm [1], hyper [8], p0, g0, m0, v0, p1, …], {decay, ranges} → nothing; p, m and v change in place. */
export const adamwWgsl: Wgsl<{ decay: readonly boolean[]; ranges?: readonly (readonly RateRange[])[] }> = (
  inputs,
  _,
  { decay, ranges },
) => ({
  passes: decay.map((decays, tensor): WgslPass => {
    const first = 2 + 4 * tensor;
    const size = sizeOf(inputs[first].shape);
    return {
      name: 'adamw',
      constants: {},
      bindings: [
        read('norm', { input: 0 }),
        read('hyper', { input: 1 }),
        write('p', { input: first }),
        read('g', { input: first + 1 }),
        write('m', { input: first + 2 }),
        write('v', { input: first + 3 }),
      ],
      uniforms: [u32('size', size), u32('decay', decays ? 1 : 0), ...rangeUniforms(ranges?.[tensor])],
      body: adamwBody,
      workgroups: elementGrid(size),
    };
  }),
});
