/** WGSL form of packed swiglu and its gradient, element by element, by vec4s where F allows it. */
import { elementGrid, FLAT_SIZE, read, u32, type Wgsl, write } from '../../wgsl.ts';

type Scalar = 'f32' | 'vec4<f32>';

// Row n of gu holds the gate's COLUMNS elements and then those of up.
const packedHead = (scalar: Scalar) => /* wgsl */ `
alias Value = ${scalar};
fn sigmoid(z: Value) -> Value { return 1.0 / (1.0 + exp(-max(z, Value(-80.0)))); }
@compute @workgroup_size(${FLAT_SIZE})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let i = flat_thread(group, groups, t);
  if (i >= u.N * COLUMNS) { return; }
  let gate = i + i / COLUMNS * COLUMNS;
  let z = gu[gate];
  let s = sigmoid(z);
`;

const packedForms = (scalar: Scalar) => ({
  forward: {
    name: `swiglu-packed-${scalar}`,
    body: /* wgsl */ `${packedHead(scalar)}
  y[i] = z * s * gu[gate + COLUMNS];
}`,
  },
  gradient: {
    name: `swiglu-packed-grad-${scalar}`,
    body: /* wgsl */ `${packedHead(scalar)}
  dgu[gate] = dy[i] * gu[gate + COLUMNS] * s * (1.0 + z * (1.0 - s));
  dgu[gate + COLUMNS] = dy[i] * z * s;
}`,
  },
});
const PACKED = { f32: packedForms('f32'), 'vec4<f32>': packedForms('vec4<f32>') };

function packedShape([N, F]: readonly number[]) {
  const scalar: Scalar = F % 4 === 0 ? 'vec4<f32>' : 'f32';
  const COLUMNS = scalar === 'f32' ? F : F / 4;
  const shared = {
    constants: { COLUMNS },
    uniforms: [u32('N', N)],
    workgroups: elementGrid(N * COLUMNS),
  };
  return { scalar, shared };
}

/** [gu [N, 2F]] → [y [N, F]] */
export const swigluPackedWgsl: Wgsl<object> = (_, [y]) => {
  const { scalar, shared } = packedShape(y.shape);
  return {
    passes: [
      {
        ...PACKED[scalar].forward,
        ...shared,
        bindings: [read('gu', { input: 0 }, scalar), write('y', { output: 0 }, scalar)],
      },
    ],
  };
};

/** [dy [N, F], gu [N, 2F]] → [dgu [N, 2F]] */
export const swigluPackedGradWgsl: Wgsl<object> = ([dy]) => {
  const { scalar, shared } = packedShape(dy.shape);
  return {
    passes: [
      {
        ...PACKED[scalar].gradient,
        ...shared,
        bindings: [
          read('dy', { input: 0 }, scalar),
          read('gu', { input: 1 }, scalar),
          write('dgu', { output: 0 }, scalar),
        ],
      },
    ],
  };
};
