/**
 * Attention over a key/value cache, for decoding. One cache row holds a whole tree of thought: paths of a block write
 * into the same row under different branch codes, so a fork or a join copies nothing. Several lanes of one row may
 * be fed in one call (a prompt, the first tokens of all paths, the tags after a join): all keys are stored before any
 * query reads.
 */
import { defineOp } from '../../op.ts';
import type { Tensor } from '../../tfjs.ts';
import { type CachedAttentionAttributes, cachedAttentionReference } from './cached-attention.reference.ts';
import { cachedAttentionWgsl } from './cached-attention.wgsl.ts';

/**
 * [q [N, H·D], k [N, Hkv·D], v [N, Hkv·D], cacheK [S, Hkv·D], cacheV [S, Hkv·D], cacheBranches int32 [S],
 * cos [P, D/2], sin [P, D/2], positions int32 [N], branches int32 [N], slots int32 [N]] → [out [N, H·D]];
 * N lanes, S = rows · slotsPerRow, slot = row · slotsPerRow + index in the row. The three caches change in place.
 */
export const cachedAttentionOp = defineOp<CachedAttentionAttributes>({
  name: 'cached-attention',
  outputs: ([q]) => [{ shape: q.shape, dtype: 'float32' }],
  reference: (inputs, outputs, attributes) => cachedAttentionReference(inputs, outputs, attributes),
  wgsl: cachedAttentionWgsl,
});

export interface LayerCache {
  k: Tensor;
  v: Tensor;
}

export interface LaneTensors {
  positions: Tensor;
  branches: Tensor;
  slots: Tensor;
}

/** q, k, v of N lanes (before rotation) against the cache, which they join: (N, H·D). */
export function cachedAttention(
  [q, k, v]: readonly [Tensor, Tensor, Tensor],
  cache: LayerCache,
  cacheBranches: Tensor,
  tables: { cos: Tensor; sin: Tensor },
  lanes: LaneTensors,
  attributes: CachedAttentionAttributes,
): Tensor {
  return cachedAttentionOp(
    [
      q,
      k,
      v,
      cache.k,
      cache.v,
      cacheBranches,
      tables.cos,
      tables.sin,
      lanes.positions,
      lanes.branches,
      lanes.slots,
    ],
    attributes,
  )[0];
}
