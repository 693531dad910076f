/**
 * WGSL form of rope-attention and its gradient (FlashAttention, arXiv 2205.14135: online softmax forward, scores made
 * again from the log-sum-exp backward). Forward: rotate, attend. Backward: rotate, row statistics, dq, dk and dv,
 * rotate back. At most 8 storage buffers a pass, which every device takes.
 */
import { elementGrid, read, u32, type Wgsl, write } from '../../wgsl.ts';
import type { AttentionAttributes } from './attend.reference.ts';
import { attentionPass } from './attend.wgsl.ts';
import { rotateBackBody, rotateForwardBody, statsBody } from './rope-attention.kernels.ts';
import { headShape, headType } from './rope-attention.tiles.ts';

const rotateConstants = ({ H, Hkv, D }: AttentionAttributes) => ({
  H,
  HKV: Hkv,
  HALF: D / 2,
  SCALE: 1 / Math.sqrt(D),
});

/** [q, k, v, cos, sin, positions, branches] → [out [N, H·D], lse [N, H]] */
export const ropeAttentionWgsl: Wgsl<AttentionAttributes> = ([q, k], _, attributes) => {
  const { B, T, H, Hkv, D } = attributes;
  const shape = headShape(D);
  const type = headType(shape);
  return {
    scratch: [q, k],
    passes: [
      {
        name: 'rope-attention-rotate',
        constants: rotateConstants(attributes),
        bindings: [
          read('q', { input: 0 }),
          read('k', { input: 1 }),
          read('cos_table', { input: 3 }),
          read('sin_table', { input: 4 }),
          read('positions', { input: 5 }, 'i32'),
          write('qr', { scratch: 0 }),
          write('kr', { scratch: 1 }),
        ],
        uniforms: [u32('N', B * T)],
        body: rotateForwardBody,
        workgroups: elementGrid((B * T * (H + Hkv) * D) / 2),
      },
      {
        ...attentionPass('ropeAttend', shape, attributes),
        bindings: [
          read('q', { scratch: 0 }, type),
          read('k', { scratch: 1 }, type),
          read('v', { input: 2 }, type),
          read('branches', { input: 6 }, 'i32'),
          write('out', { output: 0 }, type),
          write('lse', { output: 1 }),
        ],
      },
    ],
  };
};

/** [dout, q, k, v, cos, sin, positions, branches, out, lse] → [dq, dk, dv] */
export const ropeAttentionGradWgsl: Wgsl<AttentionAttributes> = ([, q, k], _, attributes) => {
  const { B, T, H, Hkv, D } = attributes;
  const shape = headShape(D);
  const type = headType(shape);
  const N = B * T;
  const tables = [
    read('cos_table', { input: 4 }),
    read('sin_table', { input: 5 }),
    read('positions', { input: 6 }, 'i32'),
  ];
  const rotate = {
    constants: rotateConstants(attributes),
    uniforms: [u32('N', N)],
    workgroups: elementGrid((N * (H + Hkv) * D) / 2),
  };
  const tileInputs = [
    read('q', { scratch: 0 }, type),
    read('k', { scratch: 1 }, type),
    read('v', { input: 3 }, type),
    read('dout', { input: 0 }, type),
    read('branches', { input: 7 }, 'i32'),
    read('stats', { scratch: 2 }, 'vec2<f32>'),
  ];
  return {
    scratch: [q, k, { shape: [N, H, 2], dtype: 'float32' }],
    passes: [
      {
        ...rotate,
        name: 'rope-attention-rotate',
        bindings: [
          read('q', { input: 1 }),
          read('k', { input: 2 }),
          ...tables,
          write('qr', { scratch: 0 }),
          write('kr', { scratch: 1 }),
        ],
        body: rotateForwardBody,
      },
      {
        name: 'rope-attention-stats',
        constants: { H, D },
        bindings: [
          read('dout', { input: 0 }),
          read('out', { input: 8 }),
          read('lse', { input: 9 }),
          write('stats', { scratch: 2 }, 'vec2<f32>'),
        ],
        uniforms: [u32('N', N)],
        body: statsBody,
        workgroups: elementGrid(N * H),
      },
      {
        ...attentionPass('ropeQueryGrad', shape, attributes),
        bindings: [...tileInputs, write('dq', { output: 0 }, type)],
      },
      {
        ...attentionPass('keyGrad', shape, attributes),
        bindings: [...tileInputs, write('dk', { output: 1 }, type), write('dv', { output: 2 }, type)],
      },
      {
        ...rotate,
        name: 'rope-attention-rotate-back',
        bindings: [...tables, write('dq', { output: 0 }), write('dk', { output: 1 })],
        body: rotateBackBody,
      },
    ],
  };
};
