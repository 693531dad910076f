/**
 * WGSL form of AdamW over whole arenas: one dispatch for the partial sums of squares of an arena, one that adds them up
 * (every workgroup for itself, which is cheaper than a dispatch of its own), clips and updates.
 */
import {
  elementGrid,
  FLAT_SIZE,
  groupReduceWgsl,
  kernelStyle,
  read,
  u32,
  type Wgsl,
  write,
} from '../../wgsl.ts';

import type { RateRange } from './adamw.reference.ts';
import { rangeUniforms, rateWgsl, squaresBody } from './adamw.wgsl.ts';

/** Numbers that a thread updates in the direct style: it pays for adding up all parts itself. */
const RUN = 64;
const DIRECT_SIZE = 16;

const directSquaresBody = /* wgsl */ `
@compute @workgroup_size(${DIRECT_SIZE})
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= u.parts) { return; }
  let stretch = (u.size / 4u + u.parts - 1u) / u.parts;
  let end = min((id.x + 1u) * stretch, u.size / 4u);
  var sum = vec4<f32>();
  for (var i = id.x * stretch; i < end; i++) { sum += g[i] * g[i]; }
  parts[u.offset + id.x] = sum.x + sum.y + sum.z + sum.w;
}
`;

// hyper: learning rate, β1, β2, ε, weight decay, largest norm, 1 − β1ⁿ, 1 − β2ⁿ
const update = (type: string, mask: string) => /* wgsl */ `${rateWgsl}
fn is_finite(x: f32) -> bool { return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u; }
fn update(i: u32, clip: f32, finite: bool, rate: ${type}, decays: ${mask}) {
  let gradient = g[i] * clip;
  g[i] = ${type}();
  if (!finite) { return; }
  let mean = hyper[1] * m[i] + (1.0 - hyper[1]) * gradient;
  let square = hyper[2] * v[i] + (1.0 - hyper[2]) * gradient * gradient;
  m[i] = mean;
  v[i] = square;
  let keep = select(${type}(1.0), ${type}(1.0) - rate * hyper[4], decays);
  p[i] = p[i] * keep - rate * (mean / hyper[6]) / (sqrt(square / hyper[7]) + ${type}(hyper[3]));
}
`;

const tiledUpdateBody = /* wgsl */ `${groupReduceWgsl(FLAT_SIZE)}${update('f32', 'bool')}
@compute @workgroup_size(${FLAT_SIZE})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  var squares = 0.0;
  for (var i = t; i < u.parts; i += ${FLAT_SIZE}u) { squares += parts[i]; }
  let total = sqrt(group_sum(squares, t));
  let i = flat_thread(group, groups, t);
  if (i == 0u) { norm[0] = total; }
  if (i >= u.size) { return; }
  update(i, min(1.0, hyper[5] / (total + 1e-6)), is_finite(total), rate_of(i), i < u.decay_end);
}
`;

const directUpdateBody = /* wgsl */ `${update('vec4<f32>', 'vec4<bool>')}
@compute @workgroup_size(${DIRECT_SIZE})
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let first = id.x * ${RUN / 4}u;
  if (first >= u.size / 4u) { return; }
  var squares = 0.0;
  for (var i = 0u; i < u.parts; i++) { squares += parts[i]; }
  let total = sqrt(squares);
  if (id.x == 0u) { norm[0] = total; }
  let clip = min(1.0, hyper[5] / (total + 1e-6));
  let finite = is_finite(total);
  let end = min(first + ${RUN / 4}u, u.size / 4u);
  for (var i = first; i < end; i++) {
    let n = vec4<u32>(4u * i) + vec4<u32>(0u, 1u, 2u, 3u);
    let rate = vec4<f32>(rate_of(n.x), rate_of(n.y), rate_of(n.z), rate_of(n.w));
    update(i, clip, finite, rate, n < vec4<u32>(u.decay_end));
  }
}
`;

/** [hyper [8], norm [1], p0, g0, m0, v0, p1, …], {decayEnds, ranges} → nothing; arenas hold multiples of 4 numbers. */
export const arenaAdamwWgsl: Wgsl<{
  decayEnds: readonly number[];
  ranges?: readonly (readonly RateRange[])[];
}> = (inputs, _, { decayEnds, ranges }) => {
  const direct =
    kernelStyle() === 'direct' &&
    inputs.slice(2).every(({ shape: [size] }) => size % 4 === 0 && size < 65535 * RUN * DIRECT_SIZE);
  const type = direct ? 'vec4<f32>' : 'f32';
  const suffix = direct ? '-direct' : '';
  const sizes = decayEnds.map((_, i) => inputs[2 + 4 * i].shape[0]);
  // Many parts keep a graphics card busy; a thread that adds them up alone wants few.
  const partsOf = (size: number) =>
    Math.max(1, Math.min(direct ? 32 : 256, Math.ceil(size / (direct ? 256 : 16 * FLAT_SIZE))));
  const counts = sizes.map(partsOf);
  const all = counts.reduce((a, b) => a + b, 0);
  const offsets = counts.map((_, i) => counts.slice(0, i).reduce((a, b) => a + b, 0));
  return {
    scratch: [{ shape: [all], dtype: 'float32' }],
    passes: [
      ...sizes.map((size, i) => ({
        name: `arena-squares${suffix}`,
        constants: {},
        bindings: [read('g', { input: 3 + 4 * i }, type), write('parts', { scratch: 0 })],
        uniforms: [u32('size', size), u32('offset', offsets[i]), u32('parts', counts[i])],
        body: direct ? directSquaresBody : squaresBody,
        workgroups: [direct ? Math.ceil(counts[i] / DIRECT_SIZE) : counts[i], 1, 1] as const,
      })),
      ...sizes.map((size, i) => ({
        name: `arena-adamw${suffix}`,
        constants: {},
        bindings: [
          read('parts', { scratch: 0 }),
          read('hyper', { input: 0 }),
          write('norm', { input: 1 }),
          write('p', { input: 2 + 4 * i }, type),
          write('g', { input: 3 + 4 * i }, type),
          write('m', { input: 4 + 4 * i }, type),
          write('v', { input: 5 + 4 * i }, type),
        ],
        uniforms: [
          u32('size', size),
          u32('parts', all),
          u32('decay_end', decayEnds[i]),
          ...rangeUniforms(ranges?.[i]),
        ],
        body: direct ? directUpdateBody : tiledUpdateBody,
        workgroups: direct ? ([Math.ceil(size / (RUN * DIRECT_SIZE)), 1, 1] as const) : elementGrid(size),
      })),
    ],
  };
};
