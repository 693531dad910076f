/**
 * Supervised fine-tuning: next-token cross-entropy on given documents. It serves the base stages (sequential
 * solutions) and the cold start (parallel trajectories, Parallel-R1 section 3.2).
 *
 * Departures from the paper:
 * 1. The loss is a mean over all trained tokens of the batch, also when micro-batches split it (the paper's trainer
 *    averages micro-batch means, which weighs short micro-batches too much).
 * 2. Only the response is trained unless the recipe says `loss: "all"`.
 */

import { UserError } from '../../base/assert.ts';
import type { Example } from '../data/example.ts';
import { splitByTokens } from '../data/packing.ts';
import type { Decoder } from '../model/decoder.ts';
import { pack } from './batch.ts';
import type { Metrics } from './events.ts';
import { makeLearner } from './learner.ts';
import type { AdamW } from './optimizer.ts';
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
  const learner = makeLearner(model, optimizer, { temperature: 1, clip: null });

  try {
    for (let step = context.firstStep + 1; step <= stage.steps; step++) {
      const started = performance.now();
      const examples = context.examples(step);
      checkPositions(examples, model.config.maxPositions, stage.name);
      const trained = examples.reduce((sum, example) => sum + count(example.targets), 0);
      const tokens = examples.reduce((sum, example) => sum + example.tokens.length, 0);
      if (trained === 0)
        throw new UserError(
          `Stage "${stage.name}", step ${step}: none of its ${examples.length} texts has a token to learn, because each prompt alone fills the limit of ${stage.maxTokens} tokens. Raise the stage's maxTokens.`,
        );

      for (const micro of splitByTokens(examples, stage.microBatchTokens)) {
        const batch = pack(micro);
        const mask = Float32Array.from(batch.targets, (target) => (target >= 0 ? 1 : 0));
        await learner.add({ batch, mask, policy: null }, trained);
        yield null;
      }

      const learningRate = learningRateAt(stage, step, stage.steps);
      const { loss, entropy, gradNorm } = await learner.apply(learningRate);
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
    learner.dispose();
  }
}

/** Positions beyond the model's rotation tables would be read as garbage. */
function checkPositions(examples: readonly Example[], most: number, stage: string): void {
  for (const { positions, tokens } of examples)
    for (const position of positions)
      if (position >= most)
        throw new UserError(
          `A text of ${tokens.length} tokens in stage "${stage}" reaches position ${position}, but the model has ${most}. Lower the stage's maxTokens, gapMax or structure.pathStride, or use a model with more positions.`,
        );
}

function count(flags: Uint8Array): number {
  let sum = 0;
  for (const flag of flags) sum += flag;
  return sum;
}
