/**
 * The part of a trainer that touches weights: it adds up gradients of micro-batches and takes optimizer steps. Two of
 * them give the same numbers: the captured one replays a step that was worked out once (WebGPU), the tape's is its slow
 * truth and runs on every backend.
 */
import type { Batch } from '../data/packing.ts';
import type { Decoder } from '../model/decoder.ts';
import { OBJECTIVE_SUMS } from '../tensor/ops/token-objective/token-objective.ts';
import { captureLearner } from './captured-learner.ts';
import type { AdamW } from './optimizer.ts';
import type { PolicyLossSettings } from './policy-loss.ts';
import { TapeLearner } from './tape-learner.ts';

/** What is minimised. */
export interface Objective {
  /** Logits are divided by it before the softmax. */
  temperature: number;
  /** Settings of the policy loss, read at each micro-batch; null for cross-entropy. */
  clip: PolicyLossSettings | null;
}

/** What a policy loss needs of each slot, all (N). */
export interface SlotPolicy {
  /** Log-prob of the target when it was sampled. */
  old: Float32Array;
  advantages: Float32Array;
  /** Log-prob of the target under the frozen reference; only a KL term reads it. */
  reference?: Float32Array | null;
}

/** Packed tokens with what belongs to the prediction of each slot, all (N). */
export interface MicroBatch {
  batch: Batch;
  /** Weight of each slot in the loss, 0 where it does not count. */
  mask: Float32Array;
  policy: SlotPolicy | null;
}

/** Sums over the tokens that counted, since the last step; the loss is divided by the step's total already. */
export type ObjectiveSums = Record<(typeof OBJECTIVE_SUMS)[number], number>;

export interface Learner {
  /** Whether nothing was added since the last step. */
  readonly isEmpty: boolean;
  /**
   * Adds the gradient of one micro-batch.
   * @param total what the sum over tokens is divided by: that of the whole batch, so that micro-batches add up to it
   */
  add(micro: MicroBatch, total: number): Promise<void>;
  /** Clips, takes an AdamW step, and starts anew. The norm is that before clipping. */
  apply(learningRate: number): Promise<ObjectiveSums & { gradNorm: number }>;
  /** Copies of the gradients that were added up so far, by weight: for tests. */
  gradients(): Promise<Map<string, Float32Array>>;
  dispose(): void;
}

export function noSums(): ObjectiveSums {
  return Object.fromEntries(OBJECTIVE_SUMS.map((name) => [name, 0])) as ObjectiveSums;
}

/** The fastest learner that the model's backend allows. */
export function makeLearner(model: Decoder, optimizer: AdamW, objective: Objective): Learner {
  return model.device && optimizer.arenas
    ? captureLearner(model, optimizer, objective, {
        checkpointing: optimizer.settings.gradientCheckpointing,
      })
    : new TapeLearner(model, optimizer, objective);
}
