/** Draws the next token of every lane, with counter-based random numbers (base/rng.ts). */
import { defineOp } from '../../op.ts';
import type { Tensor } from '../../tfjs.ts';
import { type SampleAttributes, sampleReference } from './sample.reference.ts';
import { sampleWgsl } from './sample.wgsl.ts';

/**
 * [logits [N, V], keys int32 [N], counters int32 [N], banned int32 [N]] → [ids int32 [N], logp [N]].
 * Random number `counters[n]` of the stream `keys[n]` decides; `banned[n]` (−1 = none) is never drawn.
 * `logp` is that of the drawn token under the full softmax at this temperature, before filters and ban: the number
 * which the training pass computes.
 */
export const sampleOp = defineOp<SampleAttributes>({
  name: 'sample',
  outputs: ([, keys]) => [
    { shape: keys.shape, dtype: 'int32' },
    { shape: keys.shape, dtype: 'float32' },
  ],
  reference: (inputs, outputs, attributes, shapes) =>
    sampleReference(inputs, outputs, shapes[0][1], attributes),
  wgsl: sampleWgsl,
});

export function sample(
  logits: Tensor,
  lanes: { keys: Tensor; counters: Tensor; banned: Tensor },
  attributes: SampleAttributes,
): { ids: Tensor; logp: Tensor } {
  const [ids, logp] = sampleOp([logits, lanes.keys, lanes.counters, lanes.banned], attributes);
  return { ids, logp };
}
