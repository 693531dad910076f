/**
 * WGSL form of the rotation of packed rows, one dispatch each way. It goes by pairs (i, i + D/2) of a head, or by four
 * neighbouring pairs where D is a multiple of 8: the text is the same, the bindings are of f32 or vec4. A thread takes
 * one of them in either style (a head a thread, tried for the direct style, took 1.2 times as long in SwiftShader).
 */
import { flatGrid, read, u32, type Wgsl, write } from '../../wgsl.ts';
import type { HeadAttributes } from './rotate-packed.reference.ts';

const SIZE = 64;

/**
 * Kernel over the pairs of N rows of H + 2·HKV heads. `body` has in scope: n, head, pair, and `packed`, the place
 * of the pair's first half in rows of all heads.
 */
export const overPairs = (body: string) => /* wgsl */ `
@compute @workgroup_size(${SIZE})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let id = flat_group(group, groups) * ${SIZE}u + t;
  let pair = id % HALF;
  let head = id / HALF % (H + 2u * HKV);
  let n = id / (HALF * (H + 2u * HKV));
  if (n >= u.N) { return; }
  let packed = id / HALF * 2u * HALF + pair;
  ${body}
}
`;

/** Element type, constants and workgroups of such a kernel. */
export function pairsOf(N: number, { H, Hkv, D }: HeadAttributes) {
  const wide = D % 8 === 0;
  const HALF = wide ? D / 8 : D / 2;
  return {
    type: wide ? 'vec4<f32>' : 'f32',
    constants: { H, HKV: Hkv, HALF, SCALE: 1 / Math.sqrt(D) },
    workgroups: flatGrid(Math.ceil((N * (H + 2 * Hkv) * HALF) / SIZE)),
  };
}

const angles = /* wgsl */ `
    let angle = u32(positions[n]) * HALF + pair;
    let c = cos_table[angle];
    let s = sin_table[angle];
    let q_at = (n * H + head) * 2u * HALF + pair;
    let k_at = (n * HKV + head - H) * 2u * HALF + pair;
    let v_at = (n * HKV + head - H - HKV) * 2u * HALF + pair;`;

const forwardPair = /* wgsl */ `${angles}
    let a = qkv[packed];
    let b = qkv[packed + HALF];
    if (head < H) {
      qr[q_at] = (a * c - b * s) * SCALE;
      qr[q_at + HALF] = (b * c + a * s) * SCALE;
    } else if (head < H + HKV) {
      kr[k_at] = a * c - b * s;
      kr[k_at + HALF] = b * c + a * s;
    } else {
      v[v_at] = a;
      v[v_at + HALF] = b;
    }`;

const backPair = /* wgsl */ `${angles}
    if (head < H) {
      let a = dqr[q_at] * SCALE;
      let b = dqr[q_at + HALF] * SCALE;
      dqkv[packed] = a * c + b * s;
      dqkv[packed + HALF] = b * c - a * s;
    } else if (head < H + HKV) {
      let a = dkr[k_at];
      let b = dkr[k_at + HALF];
      dqkv[packed] = a * c + b * s;
      dqkv[packed + HALF] = b * c - a * s;
    } else {
      dqkv[packed] = dv[v_at];
      dqkv[packed + HALF] = dv[v_at + HALF];
    }`;

const forwardBody = overPairs(forwardPair);
const backBody = overPairs(backPair);

/** [qkv, cos, sin, positions] → [qr, kr, v] */
export const rotatePackedWgsl: Wgsl<HeadAttributes> = ([qkv], _, attributes) => {
  const N = qkv.shape[0];
  const { type, ...pass } = pairsOf(N, attributes);
  return {
    passes: [
      {
        ...pass,
        name: 'rotate-packed',
        body: forwardBody,
        uniforms: [u32('N', N)],
        bindings: [
          read('qkv', { input: 0 }, type),
          read('cos_table', { input: 1 }, type),
          read('sin_table', { input: 2 }, type),
          read('positions', { input: 3 }, 'i32'),
          write('qr', { output: 0 }, type),
          write('kr', { output: 1 }, type),
          write('v', { output: 2 }, type),
        ],
      },
    ],
  };
};

/** [dqr, dkr, dv, cos, sin, positions] → [dqkv] */
export const rotatePackedGradWgsl: Wgsl<HeadAttributes> = ([dqr], _, attributes) => {
  const N = dqr.shape[0];
  const { type, ...pass } = pairsOf(N, attributes);
  return {
    passes: [
      {
        ...pass,
        name: 'rotate-packed-grad',
        body: backBody,
        uniforms: [u32('N', N)],
        bindings: [
          read('dqr', { input: 0 }, type),
          read('dkr', { input: 1 }, type),
          read('dv', { input: 2 }, type),
          read('cos_table', { input: 3 }, type),
          read('sin_table', { input: 4 }, type),
          read('positions', { input: 5 }, 'i32'),
          write('dqkv', { output: 0 }, type),
        ],
      },
    ],
  };
};
