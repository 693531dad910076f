/**
 * The log of GSPO's ratio (arXiv 2507.18071, equation 7): the mean of log π − log π_old over the tokens of a sequence that
 * count, for each of its tokens. It goes before `tokenObjectiveOp`, which takes the place of the ratio of each token.
 */
import { defineOp } from '../../op.ts';
import { sequenceRatioReference } from './sequence-ratio.reference.ts';
import { sequenceRatioWgsl } from './sequence-ratio.wgsl.ts';

/**
 * [logp [N], info [N, 4]], {T} → [log-ratio [N]]; `info` as in `tokenObjectiveOp`. A sequence is a row of T slots; one
 * without a token that counts gets 0.
 */
export const sequenceRatioOp = defineOp<{ T: number }>({
  name: 'sequence-ratio',
  outputs: ([logp]) => [{ shape: logp.shape, dtype: 'float32' }],
  reference: (inputs, outputs, { T }) => sequenceRatioReference(inputs, outputs, T),
  wgsl: sequenceRatioWgsl,
});
