/**
 * WGSL form of attend (one dispatch) and its gradient (two: dq, which also makes the row statistics, then dk and dv).
 * Tiled kernels are those of rope-attention.kernels.ts; direct ones, for heads of vec4s, of attend.direct.ts.
 */
import type { WgslPass } from '../../op.ts';
import { flatGrid, kernelStyle, read, u32, type Wgsl, write } from '../../wgsl.ts';
import {
  directAttendBody,
  directGroups,
  directKeyGradBody,
  directQueryGradBody,
  MOST_VECTORS,
  runOf,
} from './attend.direct.ts';
import type { AttentionAttributes } from './attend.reference.ts';
import { attendBody, keyGradBody, queryGradBody } from './rope-attention.kernels.ts';
import { type HeadShape, headShape, headType, TILE, variant } from './rope-attention.tiles.ts';

const isDirect = ({ aligned, vectors }: HeadShape): boolean =>
  kernelStyle() === 'direct' && aligned && vectors <= MOST_VECTORS;

/** Kernels by what they do; those of rope-attention bind plain log-sum-exps and ready statistics. */
const KERNELS = {
  attend: {
    name: 'attend',
    run: 'attend',
    tiled: (shape: HeadShape) => attendBody(shape, 'stats'),
    direct: (shape: HeadShape) => directAttendBody(shape, 'stats'),
  },
  ropeAttend: {
    name: 'rope-attention',
    run: 'attend',
    tiled: (shape: HeadShape) => attendBody(shape, 'lse'),
    direct: (shape: HeadShape) => directAttendBody(shape, 'lse'),
  },
  queryGrad: {
    name: 'attend-dq',
    run: 'queryGrad',
    tiled: (shape: HeadShape) => queryGradBody(shape, 'made'),
    direct: (shape: HeadShape) => directQueryGradBody(shape, 'made'),
  },
  ropeQueryGrad: {
    name: 'rope-attention-dq',
    run: 'queryGrad',
    tiled: (shape: HeadShape) => queryGradBody(shape, 'read'),
    direct: (shape: HeadShape) => directQueryGradBody(shape, 'read'),
  },
  keyGrad: { name: 'attend-dkv', run: 'keyGrad', tiled: keyGradBody, direct: directKeyGradBody },
} as const;

/** Bodies are made once per variant. */
const bodies = new Map<string, string>();
function form(name: string, shape: HeadShape, make: (shape: HeadShape) => string) {
  let body = bodies.get(name);
  if (!body) {
    body = make(shape);
    bodies.set(name, body);
  }
  return { name, body };
}

/** Name, text, size and uniforms of a pass; one tile of rows a workgroup in the tiled style. */
export function attentionPass(
  kernel: keyof typeof KERNELS,
  shape: HeadShape,
  { B, T, H, Hkv, D }: AttentionAttributes,
): Omit<WgslPass, 'bindings'> {
  const heads = kernel === 'keyGrad' ? Hkv : H;
  const { name, run, tiled, direct } = KERNELS[kernel];
  const uniforms = [u32('T', T), u32('H', H), u32('HKV', Hkv)];
  if (isDirect(shape))
    return {
      ...form(`${name}-direct-${shape.vectors}`, shape, direct),
      constants: { VECTORS: shape.vectors },
      uniforms: [...uniforms, u32('B', B)],
      workgroups: flatGrid(directGroups(B * heads, T, runOf(run, shape))),
    };
  return {
    ...form(`${name}-${variant(shape)}`, shape, tiled),
    constants: { D, VECTORS: shape.vectors, WIDTH: shape.width },
    uniforms,
    workgroups: [Math.ceil(T / TILE), heads, B],
  };
}

/** [qr, kr, v, branches] → [out, stats] */
export const attendWgsl: Wgsl<AttentionAttributes> = (_inputs, _outputs, attributes) => {
  const shape = headShape(attributes.D);
  const type = headType(shape);
  return {
    passes: [
      {
        ...attentionPass('attend', shape, attributes),
        bindings: [
          read('q', { input: 0 }, type),
          read('k', { input: 1 }, type),
          read('v', { input: 2 }, type),
          read('branches', { input: 3 }, 'i32'),
          write('out', { output: 0 }, type),
          write('stats', { output: 1 }, 'vec2<f32>'),
        ],
      },
    ],
  };
};

/** [dout, qr, kr, v, branches, out, stats] → [dqr, dkr, dv]; stats changes in place. */
export const attendGradWgsl: Wgsl<AttentionAttributes> = (_inputs, _outputs, attributes) => {
  const shape = headShape(attributes.D);
  const type = headType(shape);
  const rows = [
    read('dout', { input: 0 }, type),
    read('q', { input: 1 }, type),
    read('k', { input: 2 }, type),
    read('v', { input: 3 }, type),
    read('branches', { input: 4 }, 'i32'),
  ];
  return {
    passes: [
      {
        ...attentionPass('queryGrad', shape, attributes),
        bindings: [
          ...rows,
          read('out', { input: 5 }, type),
          write('stats', { input: 6 }, 'vec2<f32>'),
          write('dq', { output: 0 }, type),
        ],
      },
      {
        ...attentionPass('keyGrad', shape, attributes),
        bindings: [
          ...rows,
          read('stats', { input: 6 }, 'vec2<f32>'),
          write('dk', { output: 1 }, type),
          write('dv', { output: 2 }, type),
        ],
      },
    ],
  };
};
