/** cached-attention on packed rows, for captured decoding steps: two dispatches, and lanes that may be idle. */
import { defineOp } from '../../op.ts';
import {
  type CachedAttentionAttributes,
  cachedAttentionPackedReference,
} from './cached-attention.reference.ts';
import { cachedAttentionPackedWgsl } from './cached-attention-packed.wgsl.ts';

/**
 * [qkv [N, (H + 2·Hkv)·D], cacheK [S, Hkv·D], cacheV [S, Hkv·D], cacheBranches int32 [S], cos [P, D/2], sin [P, D/2],
 * lanes int32 [3, stride]] → [out [N, H·D]]; the first N numbers of the planes of `lanes` are positions, branch codes
 * and slots (of `cachedAttentionOp`; one tensor, because a pass binds 8 at most). The three caches change in place. A
 * lane whose slot is negative is idle: it stores nothing and its output is zeros.
 */
export const cachedAttentionPackedOp = defineOp<CachedAttentionAttributes>({
  name: 'cached-attention-packed',
  outputs: ([qkv], { H, D }) => [{ shape: [qkv.shape[0], H * D], dtype: 'float32' }],
  reference: (inputs, outputs, attributes, shapes) =>
    cachedAttentionPackedReference(inputs, outputs, attributes, shapes[6][1]),
  wgsl: cachedAttentionPackedWgsl,
});
