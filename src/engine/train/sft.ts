/**
 * Supervised fine-tuning: next-token cross-entropy on given documents. It serves the base stages (sequential
 * solutions) and the cold start (parallel trajectories, Parallel-R1 section 3.2).
 *
 * Departures from the paper:
 * 1. The loss is a mean over all trained tokens of the batch, also when micro-batches split it (the paper's trainer
 *    averages micro-batch means, which weighs short micro-batches too much).
 * 2. Only the response is trained unless the recipe says `loss: "all"`.
 */

import type { Example } from '../data/example.ts';
import { splitByTokens } from '../data/packing.ts';
import type { Decoder } from '../model/decoder.ts';
import { tokenLoss } from '../tensor/ops/token-loss/token-loss.ts';
import { type Tensor, tf } from '../tensor/tfjs.ts';
import { disposeBatch, pack, toDevice } from './batch.ts';
import type { Metrics } from './events.ts';
import { type AdamW, GradientSum } from './optimizer.ts';
import type { SftStage } from './recipe.ts';
import { learningRateAt } from './schedule.ts';

export interface SftContext {
  model: Decoder;
  optimizer: AdamW;
  stage: SftStage;
  /** Steps that are already done (a resumed run). */
  firstStep: number;
  /** The batch of a step (1-based): the same for the same step, whenever it is asked for. */
  examples(step: number): Example[];
}

/** Yields the metrics of each step, and `null` between micro-batches so that the caller can look at its commands. */
export async function* sft(context: SftContext): AsyncGenerator<{ step: number; metrics: Metrics } | null> {
  const { model, optimizer, stage } = context;
  const gradients = new GradientSum(model);

  try {
    for (let step = context.firstStep + 1; step <= stage.steps; step++) {
      const started = performance.now();
      const examples = context.examples(step);
      const trained = examples.reduce((sum, example) => sum + count(example.targets), 0);
      const tokens = examples.reduce((sum, example) => sum + example.tokens.length, 0);

      let loss = 0;
      let entropy = 0;
      for (const micro of splitByTokens(examples, stage.microBatchTokens)) {
        const packed = pack(micro);
        const batch = toDevice(packed);
        const mask = tf.tensor1d(Float32Array.from(packed.targets, (target) => (target >= 0 ? 1 : 0)));
        let entropies: Tensor | null = null;
        const value = gradients.add(() => {
          const { logp, entropy: h } = tokenLoss(model.hidden(batch), model.head, batch.targets); // (N)
          entropies = tf.keep(tf.sum(tf.mul(h, mask)));
          // log-probs are 0 where there is no target
          return tf.div(tf.neg(tf.sum(logp)), trained);
        });
        loss += (await value.data())[0];
        entropy += (await entropies!.data())[0];
        tf.dispose([value, entropies!, mask]);
        disposeBatch(batch);
        yield null;
      }

      const learningRate = learningRateAt(stage, step, stage.steps);
      const gradNorm = await optimizer.apply(gradients.take(), learningRate);
      const seconds = (performance.now() - started) / 1000;
      yield {
        step,
        metrics: {
          loss,
          grad_norm: gradNorm,
          learning_rate: learningRate,
          entropy: entropy / trained,
          step_time: seconds,
          num_tokens: tokens,
          'perf/tokens_per_second': tokens / seconds,
          'perf/train_seconds': seconds,
        },
      };
    }
  } finally {
    gradients.dispose();
  }
}

function count(flags: Uint8Array): number {
  let sum = 0;
  for (const flag of flags) sum += flag;
  return sum;
}
