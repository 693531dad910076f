/**
 * The token loss over a vocabulary that comes in pieces (a head that is split over bindings, or simply too large for
 * its logits to exist at once): running log-sum-exp as in FlashAttention (arXiv 2205.14135), one call a piece.
 */
import { defineOp } from '../../op.ts';
import {
  logitChunkGradReference,
  logitChunkReference,
  logitFinishReference,
} from './logit-chunk.reference.ts';
import { logitChunkGradWgsl, logitChunkWgsl, logitFinishWgsl } from './logit-chunk.wgsl.ts';

export interface LogitChunk {
  temperature: number;
  /** Id of the piece's first column. */
  firstId: number;
}

/**
 * [logits [N, R] of ids firstId …, targets int32 [N], state [N, 4]] → nothing. `state` changes in place: largest logit,
 * Σ e, Σ e·s (both relative to it) and the target's logit, all divided by the temperature. The piece with firstId 0 starts
 * it, so it must come first.
 */
export const logitChunkOp = defineOp<LogitChunk>({
  name: 'logit-chunk',
  outputs: () => [],
  reference: (inputs, _, attributes, shapes) => logitChunkReference(inputs, shapes[0][1], attributes),
  wgsl: logitChunkWgsl,
});

/** [state [N, 4], targets int32 [N]] → [logp [N], entropy [N], lse [N]] */
export const logitFinishOp = defineOp<object>({
  name: 'logit-finish',
  outputs: ([, targets]) => [0, 1, 2].map(() => ({ shape: targets.shape, dtype: 'float32' as const })),
  reference: (inputs, outputs) => logitFinishReference(inputs, outputs),
  wgsl: logitFinishWgsl,
});

/**
 * [logits [N, R], targets, lse, entropy, dlogp, dentropy (each [N])] → nothing: logits turn into their gradients in
 * place, so that a piece needs its memory once.
 */
export const logitChunkGradOp = defineOp<LogitChunk>({
  name: 'logit-chunk-grad',
  outputs: () => [],
  reference: (inputs, _, attributes, shapes) => logitChunkGradReference(inputs, shapes[0][1], attributes),
  wgsl: logitChunkGradWgsl,
});
