/**
 * Token embedding. Its gradient is deterministic on every backend: tfjs's own `gather` has float atomics on webgpu
 * and no gradient on wasm (UnsortedSegmentSum is missing there).
 */
import { defineOp } from '../../op.ts';
import type { Tensor } from '../../tfjs.ts';
import {
  embeddingGradAddReference,
  embeddingGradReference,
  embeddingReference,
  embeddingRowsReference,
} from './embedding.reference.ts';
import {
  embeddingGradAddWgsl,
  embeddingGradWgsl,
  embeddingRowsWgsl,
  embeddingWgsl,
} from './embedding.wgsl.ts';

/** [ids int32 [N], dy [N, C]], {V} → [dw [V, C]] */
export const embeddingGradOp = defineOp<{ V: number }>({
  name: 'embedding-grad',
  outputs: ([, dy], { V }) => [{ shape: [V, dy.shape[1]], dtype: 'float32' }],
  reference: (inputs, outputs, _, shapes) => embeddingGradReference(inputs, outputs, shapes[1][1]),
  wgsl: embeddingGradWgsl,
});

/** [w [V, C], ids int32 [N]] → [y [N, C]] */
export const embeddingOp = defineOp<object>({
  name: 'embedding',
  outputs: ([w, ids]) => [{ shape: [ids.shape[0], w.shape[1]], dtype: 'float32' }],
  reference: (inputs, outputs, _, shapes) => embeddingReference(inputs, outputs, shapes[0][1]),
  wgsl: embeddingWgsl,
  gradient: ([dy], [w, ids]) => [() => embeddingGradOp([ids, dy], { V: w.shape[0] })[0], null],
});

/** Rows of `w` (V, C) for `ids` (N): (N, C). */
export function embedding(w: Tensor, ids: Tensor): Tensor {
  return embeddingOp([w, ids], {})[0];
}

/** What part of the vocabulary a piece of a split embedding holds: its rows are ids firstRow, firstRow + 1, … */
export interface EmbeddingPiece {
  firstRow: number;
}

/** [piece [R, C], ids int32 [N], y [N, C]], {firstRow} → nothing: rows of y whose id lies in the piece are written. */
export const embeddingRowsOp = defineOp<EmbeddingPiece>({
  name: 'embedding-rows',
  outputs: () => [],
  reference: (inputs, _, { firstRow }, shapes) => embeddingRowsReference(inputs, firstRow, shapes[0][1]),
  wgsl: embeddingRowsWgsl,
});

/** [ids int32 [N], dy [N, C], dw [R, C]], {firstRow} → nothing: dw, a piece of the gradient, grows by its part. */
export const embeddingGradAddOp = defineOp<EmbeddingPiece>({
  name: 'embedding-grad-add',
  outputs: () => [],
  reference: (inputs, _, { firstRow }, shapes) => embeddingGradAddReference(inputs, firstRow, shapes[1][1]),
  wgsl: embeddingGradAddWgsl,
});
