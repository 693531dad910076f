/** The slow truth of `captured-learner.ts`: every micro-batch goes through tfjs's tape, on any backend. */
import { assert } from '../../base/assert.ts';
import type { Decoder } from '../model/decoder.ts';
import { tokenLoss } from '../tensor/ops/token-loss/token-loss.ts';
import { type Tensor, tf } from '../tensor/tfjs.ts';
import { disposeBatch, toDevice } from './batch.ts';
import {
  type Learner,
  type MicroBatch,
  noSums,
  type Objective,
  type ObjectiveSums,
  type SlotPolicy,
} from './learner.ts';
import { type AdamW, GradientSum } from './optimizer.ts';
import { policyCounts } from './policy-counts.ts';
import {
  hasSequenceRatio,
  type PolicyLossSettings,
  type PolicyTensors,
  policyLoss,
  responseIndicator,
} from './policy-loss.ts';

export class TapeLearner implements Learner {
  private readonly sum: GradientSum;
  private sums: ObjectiveSums = noSums();

  constructor(
    private readonly model: Decoder,
    private readonly optimizer: AdamW,
    private readonly objective: Objective,
  ) {
    this.sum = new GradientSum(model);
  }

  get isEmpty(): boolean {
    return this.sum.isEmpty;
  }

  async add({ batch: packed, mask, policy }: MicroBatch, total: number): Promise<void> {
    const { model, sums } = this;
    const { temperature, clip } = this.objective;
    const batch = toDevice(packed);
    const weights = tf.tensor1d(mask);
    const tensors = policy && clip && policyTensors({ batch: packed, mask, policy }, weights, clip);
    let aside: Tensor[] = [];
    const value = this.sum.add(() => {
      const { logp, entropy } = tokenLoss(model.hidden(batch), model.head, batch.targets, temperature); // (N)
      aside = [tf.keep(logp.clone()), tf.keep(entropy.clone())];
      let losses = tensors ? policyLoss(logp, tensors, clip) : tf.neg(tf.mul(logp, weights)); // (N)
      if (clip && clip.entropyBonus > 0)
        losses = tf.sub(losses, tf.mul(tf.mul(entropy, weights), clip.entropyBonus));
      return tf.div(tf.sum(losses), total);
    });
    sums.loss += (await value.data())[0];
    const [logp, entropy] = await Promise.all(aside.map((t) => t.data()));
    tf.dispose([value, ...aside, ...Object.values(tensors ?? { weights }).filter((t) => t !== null)]);
    disposeBatch(batch);
    for (let n = 0; n < mask.length; n++) {
      if (!mask[n]) continue;
      sums.entropy += entropy[n];
      if (!policy) {
        sums.tokens++;
        continue;
      }
      const difference = Math.abs(logp[n] - policy.old[n]);
      sums.differenceSum += difference;
      sums.differenceMax = Math.max(sums.differenceMax, difference);
    }
    if (clip && policy) {
      const { old, advantages, reference = null } = policy;
      const values = { logp, old, advantages, weights: mask, reference, rows: packed.rows };
      const counts = policyCounts(values, clip);
      for (const key of ['tokens', 'low', 'high', 'dual', 'kl'] as const) sums[key] += counts[key];
    }
  }

  async apply(learningRate: number): Promise<ObjectiveSums & { gradNorm: number }> {
    const gradNorm = await this.optimizer.apply(this.sum.take(), learningRate);
    const { sums } = this;
    this.sums = noSums();
    return { ...sums, gradNorm };
  }

  async gradients(): Promise<Map<string, Float32Array>> {
    return this.sum.copies();
  }

  dispose(): void {
    this.sum.dispose();
  }
}

/** What the policy loss reads; the caller disposes them. */
function policyTensors(
  { batch, mask, policy }: MicroBatch & { policy: SlotPolicy },
  weights: Tensor,
  settings: PolicyLossSettings,
): PolicyTensors {
  const { old, advantages, reference } = policy;
  assert(settings.klBeta === 0 || reference, 'a KL term needs the log-probs of the reference');
  const indicator = hasSequenceRatio(settings) ? responseIndicator(batch.rows, mask) : null;
  return {
    weights,
    old: tf.tensor1d(old),
    advantages: tf.tensor1d(advantages),
    reference: settings.klBeta > 0 ? tf.tensor1d(reference!) : null,
    responses: indicator && tf.tensor2d(indicator.values, indicator.shape),
  };
}
