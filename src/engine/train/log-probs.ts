/** Log-probs of finished rollouts under given weights: one forward pass, no gradients. */
import type { Example } from '../data/example.ts';
import { splitByTokens } from '../data/packing.ts';
import type { Decoder } from '../model/decoder.ts';
import type { Rollout } from '../rollout/row.ts';
import { tokenLoss } from '../tensor/ops/token-loss/token-loss.ts';
import { tf } from '../tensor/tfjs.ts';
import { disposeBatch, pack, toDevice } from './batch.ts';
import type { Metrics } from './events.ts';

/** A rollout as the training pass takes it. */
export function trainingExample(rollout: Rollout, targets: Uint8Array): Example {
  const { tokens, positions, branches, promptLength } = rollout;
  return { tokens, positions, branches, targets, promptLength };
}

/**
 * Log-prob of each token of the masks, of softmax(logits / temperature); 0 elsewhere.
 * @param masks for each rollout 1 on the tokens that are asked for; null leaves the rollout out
 */
export async function logProbs(
  model: Decoder,
  rollouts: readonly Rollout[],
  masks: readonly (Uint8Array | null)[],
  { temperature, microBatchTokens }: { temperature: number; microBatchTokens: number },
): Promise<Float32Array[]> {
  const out = rollouts.map((rollout) => new Float32Array(rollout.tokens.length));
  const examples = rollouts.flatMap((rollout, index) => {
    const mask = masks[index];
    return mask ? [{ ...trainingExample(rollout, mask), index }] : [];
  });
  for (const micro of splitByTokens(examples, microBatchTokens) as (typeof examples)[]) {
    const packed = pack(micro);
    const batch = toDevice(packed);
    const logp = tf.tidy(() => tokenLoss(model.hidden(batch), model.head, batch.targets, temperature).logp);
    const values = await logp.data();
    packed.targets.forEach((target, n) => {
      if (target >= 0) out[micro[packed.rows[n]].index][packed.slots[n] + 1] = values[n];
    });
    logp.dispose();
    disposeBatch(batch);
  }
  return out;
}

/**
 * How far the training pass is from what was sampled, over tokens that the policy sampled and that are trained: the gap of
 * the Seen variant, which reads paths otherwise than they were written (reference note, section 2).
 */
export function logProbGap(
  written: readonly Float32Array[],
  trained: readonly Float32Array[],
  rollouts: readonly Rollout[],
  masks: readonly (Uint8Array | null)[],
): Metrics {
  let sum = 0;
  let max = 0;
  let tokens = 0;
  for (const [i, { sampled }] of rollouts.entries())
    for (let t = 0; t < sampled.length; t++) {
      if (!sampled[t] || !masks[i]?.[t]) continue;
      const difference = Math.abs(written[i][t] - trained[i][t]);
      sum += difference;
      max = Math.max(max, difference);
      tokens++;
    }
  return tokens === 0
    ? {}
    : { 'sampling/logp_difference/mean': sum / tokens, 'sampling/logp_difference/max': max };
}
