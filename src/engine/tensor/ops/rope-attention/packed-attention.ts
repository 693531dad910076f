/**
 * Attention in steps, on packed rows, for captured training steps: rotate, attend, and the way back. The rule of who
 * sees whom, and the numbers, are those of rope-attention.ts; here the rotated rows are kept for the backward pass.
 * N = B·T rows; qkv holds all query heads, then all key heads, then all value heads.
 */
import { defineOp } from '../../op.ts';
import { type AttentionAttributes, attendGradReference, attendReference } from './attend.reference.ts';
import { attendGradWgsl, attendWgsl } from './attend.wgsl.ts';
import {
  type HeadAttributes,
  rotatePackedGradReference,
  rotatePackedReference,
} from './rotate-packed.reference.ts';
import { rotatePackedGradWgsl, rotatePackedWgsl } from './rotate-packed.wgsl.ts';

export type { HeadAttributes };

/** [dqr [N, H·D], dkr [N, Hkv·D], dv [N, Hkv·D], cos, sin, positions] → [dqkv [N, (H + 2·Hkv)·D]] */
export const rotatePackedGradOp = defineOp<HeadAttributes>({
  name: 'rotate-packed-grad',
  outputs: ([dqr], { H, Hkv, D }) => [{ shape: [dqr.shape[0], (H + 2 * Hkv) * D], dtype: 'float32' }],
  reference: (inputs, outputs, attributes) => rotatePackedGradReference(inputs, outputs, attributes),
  wgsl: rotatePackedGradWgsl,
});

/**
 * [qkv [N, (H + 2·Hkv)·D], cos [P, D/2], sin [P, D/2], positions int32 [N]]
 * → [qr [N, H·D], kr [N, Hkv·D], v [N, Hkv·D]]; qr is rotated and scaled by 1/√D.
 */
export const rotatePackedOp = defineOp<HeadAttributes>({
  name: 'rotate-packed',
  outputs: ([qkv], { H, Hkv, D }) =>
    [H, Hkv, Hkv].map((heads) => ({ shape: [qkv.shape[0], heads * D], dtype: 'float32' as const })),
  reference: (inputs, outputs, attributes) => rotatePackedReference(inputs, outputs, attributes),
  wgsl: rotatePackedWgsl,
  gradient: (dys, [, cos, sin, positions], _, attributes) => [
    ...rotatePackedGradOp([...dys, cos, sin, positions], attributes),
    null,
    null,
    null,
  ],
});

/**
 * [dout [N, H·D], qr, kr, v, branches, out, stats [N, 2·H]] → [dqr [N, H·D], dkr [N, Hkv·D], dv [N, Hkv·D]]; `stats`
 * changes in place: every second number becomes Δ = dout · out.
 */
export const attendGradOp = defineOp<AttentionAttributes>({
  name: 'attend-grad',
  outputs: ([, qr, kr, v]) => [qr, kr, v].map(({ shape }) => ({ shape, dtype: 'float32' as const })),
  reference: (inputs, outputs, attributes) => attendGradReference(inputs, outputs, attributes, 2),
  wgsl: attendGradWgsl,
});

/**
 * [qr [N, H·D], kr [N, Hkv·D], v [N, Hkv·D], branches int32 [N]] → [out [N, H·D], stats [N, 2·H]]; stats holds pairs
 * (log-sum-exp, 0), the zero being room for the backward pass.
 */
export const attendOp = defineOp<AttentionAttributes>({
  name: 'attend',
  outputs: ([qr], { H }) => [
    { shape: qr.shape, dtype: 'float32' },
    { shape: [qr.shape[0], 2 * H], dtype: 'float32' },
  ],
  reference: (inputs, outputs, attributes) => attendReference(inputs, outputs, attributes, 2),
  wgsl: attendWgsl,
  gradient: ([dout], inputs, outputs, attributes) => [
    ...attendGradOp([dout, ...inputs, ...outputs], attributes),
    null,
  ],
});
