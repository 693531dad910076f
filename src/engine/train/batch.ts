/** From packed host arrays to tensors of the current backend. */

import type { Example } from '../data/example.ts';
import { type Batch, packPadded, packRagged } from '../data/packing.ts';
import type { BatchTensors } from '../model/decoder.ts';
import { type Tensor, tf } from '../tensor/tfjs.ts';
import { LENGTH_MULTIPLE } from './buckets.ts';

/**
 * One micro-batch. On the host a single row without padding is best (the reference attention skips other examples);
 * on a GPU rows of one length are.
 */
export function pack(examples: readonly Example[]): Batch {
  return tf.getBackend() === 'webgpu' ? packPadded(examples, LENGTH_MULTIPLE) : packRagged(examples);
}

/** Uploads a batch; the caller disposes with `disposeBatch`. */
export function toDevice(batch: Batch): BatchTensors & { targets: Tensor } {
  const int = (values: Int32Array) => tf.tensor1d(values, 'int32');
  return {
    B: batch.B,
    T: batch.T,
    tokens: int(batch.tokens),
    positions: int(batch.positions),
    branches: int(batch.branches),
    targets: int(batch.targets),
  };
}

export function disposeBatch(batch: BatchTensors & { targets: Tensor }): void {
  tf.dispose([batch.tokens, batch.positions, batch.branches, batch.targets]);
}

/** Spreads a value per token of each example over the slots that *predict* those tokens: (N). */
export function perSlot(batch: Batch, values: readonly ArrayLike<number>[]): Float32Array {
  const out = new Float32Array(batch.B * batch.T);
  for (let n = 0; n < out.length; n++)
    if (batch.targets[n] >= 0) out[n] = values[batch.rows[n]][batch.slots[n] + 1];
  return out;
}
