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
const scatterBody = (row: string) => /* wgsl */ `
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let first = flat_group(group, groups);
  if (first >= u.N) { return; }
  let id = ids[first];
  for (var n = 0u; n < first; n++) {
    if (ids[n] == id) { return; }
  }
  ${row}
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
      body: scatterBody('let row = u32(id) * C;'),
      workgroups: flatGrid(N),
    },
  ];
  return { passes };
};

const rowsBody = /* wgsl */ `${threadHead}
  let row = ids[i / C] - i32(u.first_row);
  if (row >= 0 && row < i32(u.rows)) { y[i] = w[u32(row) * C + i % C]; }
}`;

/** [piece [R, C], ids int32 [N], y [N, C]], {firstRow} → nothing; y changes in place. */
export const embeddingRowsWgsl: Wgsl<{ firstRow: number }> = ([w, ids], _, { firstRow }) => {
  const C = w.shape[1];
  const size = ids.shape[0] * C;
  return {
    passes: [
      {
        name: 'embedding-rows',
        constants: { C },
        bindings: [read('w', { input: 0 }), read('ids', { input: 1 }, 'i32'), write('y', { input: 2 })],
        uniforms: [u32('size', size), u32('first_row', firstRow), u32('rows', w.shape[0])],
        body: rowsBody,
        workgroups: elementGrid(size),
      },
    ],
  };
};

const scatterRowsBody = scatterBody(`let local_row = id - i32(u.first_row);
  if (local_row < 0 || local_row >= i32(u.rows)) { return; }
  let row = u32(local_row) * C;`);

/** [ids int32 [N], dy [N, C], dw [R, C]], {firstRow} → nothing; dw changes in place. */
export const embeddingGradAddWgsl: Wgsl<{ firstRow: number }> = ([ids, dy, dw], _, { firstRow }) => {
  const N = ids.shape[0];
  return {
    passes: [
      {
        name: 'embedding-grad-add',
        constants: { C: dy.shape[1] },
        bindings: [read('ids', { input: 0 }, 'i32'), read('dy', { input: 1 }), write('dw', { input: 2 })],
        uniforms: [u32('N', N), u32('first_row', firstRow), u32('rows', dw.shape[0])],
        body: scatterRowsBody,
        workgroups: flatGrid(N),
      },
    ],
  };
};
