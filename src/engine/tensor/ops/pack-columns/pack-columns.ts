/** Puts matrices side by side: what three products of q, k and v make becomes what one product would have made. */
import { defineOp } from '../../op.ts';
import { elementGrid, FLAT_SIZE, read, u32, type Wgsl, write } from '../../wgsl.ts';

const body = /* wgsl */ `
@compute @workgroup_size(${FLAT_SIZE})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let i = flat_thread(group, groups, t);
  let width = u.a + u.b + u.c;
  let n = i / width;
  if (n >= u.N) { return; }
  let column = i % width;
  if (column < u.a) { y[i] = a[n * u.a + column]; }
  else if (column < u.a + u.b) { y[i] = b[n * u.b + column - u.a]; }
  else { y[i] = c[n * u.c + column - u.a - u.b]; }
}
`;

const packColumnsWgsl: Wgsl<object> = ([a, b, c]) => {
  const N = a.shape[0];
  const widths = [a, b, c].map(({ shape }) => shape[1]);
  return {
    passes: [
      {
        name: 'pack-columns',
        constants: {},
        bindings: [...['a', 'b', 'c'].map((name, input) => read(name, { input })), write('y', { output: 0 })],
        uniforms: [u32('N', N), u32('a', widths[0]), u32('b', widths[1]), u32('c', widths[2])],
        body,
        workgroups: elementGrid(N * (widths[0] + widths[1] + widths[2])),
      },
    ],
  };
};

/** [a [N, A], b [N, B], c [N, C]] → [y [N, A + B + C]] */
export const packColumnsOp = defineOp<object>({
  name: 'pack-columns',
  outputs: ([a, b, c]) => [{ shape: [a.shape[0], a.shape[1] + b.shape[1] + c.shape[1]], dtype: 'float32' }],
  reference: (inputs, [y], _, shapes) => {
    const widths = shapes.map(([, width]) => width);
    const width = widths.reduce((sum, w) => sum + w, 0);
    for (let n = 0; n < shapes[0][0]; n++) {
      let at = n * width;
      inputs.forEach((x, i) => {
        y.set(x.subarray(n * widths[i], (n + 1) * widths[i]), at);
        at += widths[i];
      });
    }
  },
  wgsl: packColumnsWgsl,
});
