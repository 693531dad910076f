/** WGSL form of sequence-ratio: one workgroup a row, sums in a fixed order. */
import { flatGrid, groupReduceWgsl, read, u32, type Wgsl, write } from '../../wgsl.ts';

const THREADS = 64;

const body = /* wgsl */ `
${groupReduceWgsl(THREADS)}
@compute @workgroup_size(${THREADS})
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) t: u32,
) {
  let row = flat_group(group, groups);
  if (row >= u.B) { return; }
  let start = row * u.T;
  var sum = 0.0;
  var count = 0.0;
  for (var n = start + t; n < start + u.T; n += ${THREADS}u) {
    if (info[n].z != 0.0) {
      sum += logp[n] - info[n].x;
      count += 1.0;
    }
  }
  let mean = group_sum(sum, t) / max(1.0, group_sum(count, t));
  for (var n = start + t; n < start + u.T; n += ${THREADS}u) { ratios[n] = mean; }
}
`;

/** [logp [N], info [N, 4]], {T} → [log-ratio [N]] */
export const sequenceRatioWgsl: Wgsl<{ T: number }> = ([logp], _outputs, { T }) => ({
  passes: [
    {
      name: 'sequence-ratio',
      constants: {},
      bindings: [
        read('logp', { input: 0 }),
        read('info', { input: 1 }, 'vec4<f32>'),
        write('ratios', { output: 0 }),
      ],
      uniforms: [u32('T', T), u32('B', logp.shape[0] / T)],
      body,
      workgroups: flatGrid(logp.shape[0] / T),
    },
  ],
});
