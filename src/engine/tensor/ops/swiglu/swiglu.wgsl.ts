/** WGSL form of swiglu and its gradient, element by element. */
import { elementGrid, FLAT_SIZE, read, u32, type Wgsl, write } from '../../wgsl.ts';

// e^80 is finite in float32; below −80 the sigmoid is 0 to all digits that matter.
const head = /* wgsl */ `
fn sigmoid(z: f32) -> f32 { return 1.0 / (1.0 + exp(-max(z, -80.0))); }
@compute @workgroup_size(${FLAT_SIZE})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let i = flat_thread(group, groups, t);
  if (i >= u.size) { return; }
`;

const forwardBody = /* wgsl */ `${head}
  y[i] = gate[i] * sigmoid(gate[i]) * up[i];
}`;

const gradBody = /* wgsl */ `${head}
  let z = gate[i];
  let s = sigmoid(z);
  dgate[i] = dy[i] * up[i] * s * (1.0 + z * (1.0 - s));
  dup[i] = dy[i] * z * s;
}`;

const sizeOf = (shape: number[]) => shape.reduce((a, b) => a * b, 1);

/** [gate, up] → [y] */
export const swigluWgsl: Wgsl<object> = ([gate]) => {
  const size = sizeOf(gate.shape);
  return {
    passes: [
      {
        name: 'swiglu',
        constants: {},
        bindings: [read('gate', { input: 0 }), read('up', { input: 1 }), write('y', { output: 0 })],
        uniforms: [u32('size', size)],
        body: forwardBody,
        workgroups: elementGrid(size),
      },
    ],
  };
};

/** [dy, gate, up] → [dgate, dup] */
export const swigluGradWgsl: Wgsl<object> = ([dy]) => {
  const size = sizeOf(dy.shape);
  return {
    passes: [
      {
        name: 'swiglu-grad',
        constants: {},
        bindings: [
          read('dy', { input: 0 }),
          read('gate', { input: 1 }),
          read('up', { input: 2 }),
          write('dgate', { output: 0 }),
          write('dup', { output: 1 }),
        ],
        uniforms: [u32('size', size)],
        body: gradBody,
        workgroups: elementGrid(size),
      },
    ],
  };
};
