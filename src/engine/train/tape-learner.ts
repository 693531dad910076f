/** The slow truth of `captured-learner.ts`: every micro-batch goes through tfjs's tape, on any backend. */
import type { Decoder } from '../model/decoder.ts';
import { tokenLoss } from '../tensor/ops/token-loss/token-loss.ts';
import { type Tensor, tf } from '../tensor/tfjs.ts';
import { disposeBatch, toDevice } from './batch.ts';
import { type Learner, type MicroBatch, noSums, type Objective, type ObjectiveSums } from './learner.ts';
import { type AdamW, GradientSum } from './optimizer.ts';
import { clipCounts, policyLoss } from './policy-loss.ts';

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
    const perSlot = [mask, ...(policy ? [policy.old, policy.advantages] : [])].map((values) =>
      tf.tensor1d(values),
    );
    let aside: Tensor[] = [];
    const value = this.sum.add(() => {
      const { logp, entropy } = tokenLoss(model.hidden(batch), model.head, batch.targets, temperature); // (N)
      aside = [tf.keep(logp.clone()), tf.keep(entropy.clone())];
      const [maskTensor, old, advantages] = perSlot;
      const losses =
        clip && policy
          ? policyLoss(logp, old, advantages, maskTensor, clip)
          : tf.neg(tf.mul(logp, maskTensor));
      return tf.div(tf.sum(losses), total);
    });
    sums.loss += (await value.data())[0];
    const [logp, entropy] = await Promise.all(aside.map((t) => t.data()));
    tf.dispose([value, ...aside, ...perSlot]);
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
      const counts = clipCounts(logp, policy.old, policy.advantages, mask, clip);
      for (const key of ['tokens', 'low', 'high', 'dual'] as const) sums[key] += counts[key];
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
