/** WGSL form of embedding and its gradient. */
import type { WgslPass } from '../../op.ts';
import { elementGrid, FLAT_SIZE, flatGrid, read, u32, type Wgsl, write } from '../../wgsl.ts';

const threadHead = /* wgsl */ `
@compute @workgroup_size(${FLAT_SIZE})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let i = flat_thread(group, groups, t);
  if (i >= u.size) { return; }
`;

const gatherBody = /* wgsl */ `${threadHead}
  y[i] = w[u32(ids[i / C]) * C + i % C];
}`;

const zeroBody = /* wgsl */ `${threadHead}
  dw[i] = 0.0;
}`;

// One workgroup a token; the first one with an id adds up the rows of all of them, in order: no atomics, and the same
// sum on every run. `ids` is read only and its index the same for all threads, so the loops are uniform.
const scatterBody = /* wgsl */ `
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let first = flat_group(group, groups);
  if (first >= u.N) { return; }
  let id = ids[first];
  for (var n = 0u; n < first; n++) {
    if (ids[n] == id) { return; }
  }
  let row = u32(id) * C;
  for (var n = first; n < u.N; n++) {
    if (ids[n] != id) { continue; }
    for (var c = t; c < C; c += 64u) { dw[row + c] += dy[n * C + c]; }
  }
}
`;

/** [w [V, C], ids int32 [N]] → [y [N, C]] */
export const embeddingWgsl: Wgsl<object> = ([w, ids]) => {
  const C = w.shape[1];
  const size = ids.shape[0] * C;
  return {
    passes: [
      {
        name: 'embedding',
        constants: { C },
        bindings: [read('w', { input: 0 }), read('ids', { input: 1 }, 'i32'), write('y', { output: 0 })],
        uniforms: [u32('size', size)],
        body: gatherBody,
        workgroups: elementGrid(size),
      },
    ],
  };
};

/** [ids int32 [N], dy [N, C]], {V} → [dw [V, C]] */
export const embeddingGradWgsl: Wgsl<{ V: number }> = ([ids, dy], _, { V }) => {
  const N = ids.shape[0];
  const C = dy.shape[1];
  const passes: WgslPass[] = [
    {
      name: 'embedding-grad-zero',
      constants: {},
      bindings: [write('dw', { output: 0 })],
      uniforms: [u32('size', V * C)],
      body: zeroBody,
      workgroups: elementGrid(V * C),
    },
    {
      name: 'embedding-grad',
      constants: { C },
      bindings: [read('ids', { input: 0 }, 'i32'), read('dy', { input: 1 }), write('dw', { output: 0 })],
      uniforms: [u32('N', N)],
      body: scatterBody,
      workgroups: flatGrid(N),
    },
  ];
  return { passes };
};
