/**
 * Causal attention with rotary positions (Su et al. 2021, arXiv 2104.09864, half-split pairs as in Hugging Face),
 * grouped key/value heads and the branch rule, which is the path-window mask of Parallel-R1 (section 3.3) without a
 * mask: token i sees token j of its row iff j ≤ i and `branchSees(code_i, code_j)`. No T × T array is kept.
 */
import { defineOp } from '../../op.ts';
import { type Tensor, tf } from '../../tfjs.ts';
import type { AttentionAttributes } from './attend.reference.ts';
import { ropeAttentionGradReference, ropeAttentionReference } from './rope-attention.reference.ts';
import { ropeAttentionGradWgsl, ropeAttentionWgsl } from './rope-attention.wgsl.ts';
import { ropeTableValues } from './rope-tables.ts';

export type { AttentionAttributes };

/** [dout [N, H·D], q, k, v, cos, sin, positions, branches, out, lse] → [dq [N, H·D], dk [N, Hkv·D], dv [N, Hkv·D]] */
export const ropeAttentionGradOp = defineOp<AttentionAttributes>({
  name: 'rope-attention-grad',
  outputs: ([, q, k, v]) => [q, k, v].map(({ shape }) => ({ shape, dtype: 'float32' as const })),
  reference: (inputs, outputs, attributes) => ropeAttentionGradReference(inputs, outputs, attributes),
  wgsl: ropeAttentionGradWgsl,
});

/**
 * [q [N, H·D], k [N, Hkv·D], v [N, Hkv·D], cos [P, D/2], sin [P, D/2], positions int32 [N], branches int32 [N]]
 * → [out [N, H·D], lse [N, H]], N = B·T.
 */
export const ropeAttentionOp = defineOp<AttentionAttributes>({
  name: 'rope-attention',
  outputs: ([q], { H }) => [
    { shape: q.shape, dtype: 'float32' },
    { shape: [q.shape[0], H], dtype: 'float32' },
  ],
  reference: (inputs, outputs, attributes) => ropeAttentionReference(inputs, outputs, attributes),
  wgsl: ropeAttentionWgsl,
  gradient: ([dout], inputs, [out, lse], attributes) => [
    ...ropeAttentionGradOp([dout, ...inputs, out, lse], attributes),
    null,
    null,
    null,
    null,
  ],
});

/** Rotation tables as tensors: cos and sin (P, D/2). */
export function ropeTables(maxPositions: number, D: number, theta: number): { cos: Tensor; sin: Tensor } {
  const { cos, sin } = ropeTableValues(maxPositions, D, theta);
  return { cos: tf.tensor2d(cos, [maxPositions, D / 2]), sin: tf.tensor2d(sin, [maxPositions, D / 2]) };
}
