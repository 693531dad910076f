/**
 * The losses of a GRPO stage, per token, as tf ops: the slow truth of `token-objective`. Names and definitions follow TRL
 * 1.x. They differ in three ways:
 *
 * | loss    | ratio                    | clip             | aggregation over tokens                       | source            |
 * | grpo    | of a token               | surrogate        | mean in a response, then over responses       | arXiv 2402.03300  |
 * | dapo    | of a token               | surrogate        | mean over the tokens of the mini-batch        | arXiv 2503.14476  |
 * | dr_grpo | of a token               | surrogate        | sum ÷ (responses × response limit)            | arXiv 2503.20783  |
 * | bnpo    | of a token               | surrogate        | mean over the tokens of a pass, then passes   | TRL               |
 * | gspo    | of a response, geometric | surrogate        | as grpo                                       | arXiv 2507.18071  |
 * | cispo   | of a token, detached     | min(ratio, cap)  | as dapo                                       | arXiv 2506.13585  |
 *
 * Surrogate: that of PPO (arXiv 1707.06347, equation 7) with a dual clip (arXiv 1912.09729). What the released code of
 * Parallel-R1 optimises is `dapo` without KL and entropy terms.
 */

import { LOG_RATIO_LIMIT } from '../tensor/ops/token-objective/token-objective.reference.ts';
import { OBJECTIVE_KINDS, OBJECTIVE_SETTINGS } from '../tensor/ops/token-objective/token-objective.ts';
import { type Tensor, tf } from '../tensor/tfjs.ts';
import type { GrpoStage } from './recipe.ts';

export type PolicyLossKind = GrpoStage['loss'];

export interface PolicyLossSettings {
  loss: PolicyLossKind;
  clipLow: number;
  clipHigh: number;
  /** Where A < 0 the loss is at most −c·A; null = no bound. */
  dualClip: number | null;
  /** Largest weight of a token in CISPO. */
  cispoCap: number;
  /** Weight of the KL term; 0 = no reference is read. */
  klBeta: number;
  /** Nats of mean entropy are worth this much loss. */
  entropyBonus: number;
}

/** The settings besides the clip that leave the clipped surrogate alone. */
export const PLAIN_TERMS = { loss: 'dapo', cispoCap: 5, klBeta: 0, entropyBonus: 0 } as const;

/** One ratio for all tokens of a response? */
export const hasSequenceRatio = ({ loss }: { loss: PolicyLossKind }): boolean => loss === 'gspo';

/** The settings as `tokenObjectiveOp` reads them; null is cross-entropy. */
export function objectiveSettings(settings: PolicyLossSettings | null, total: number): Float32Array {
  const { crossEntropy, cispo, surrogate } = OBJECTIVE_KINDS;
  const values: Partial<Record<(typeof OBJECTIVE_SETTINGS)[number], number>> = settings
    ? { ...settings, dualClip: settings.dualClip ?? 0, kind: settings.loss === 'cispo' ? cispo : surrogate }
    : { kind: crossEntropy };
  return Float32Array.from(OBJECTIVE_SETTINGS, (name) => (name === 'total' ? total : (values[name] ?? 0)));
}

/** What belongs to the slots of a batch, all (N). */
export interface PolicyTensors {
  /** Log-prob under the policy that sampled. */
  old: Tensor;
  advantages: Tensor;
  /** Weight in the sum, 0 on slots that do not count. Ratios there may overflow; they must not reach the sum. */
  weights: Tensor;
  /** Log-prob under the reference; asked for where klBeta > 0. */
  reference: Tensor | null;
  /** (E, N): 1 where a slot counts and belongs to response e; asked for by GSPO. */
  responses: Tensor | null;
}

/**
 * Loss of each token times its weight; 0 where a token does not count. The entropy bonus is not in it.
 * l = max(−A·r, −A·clamp(r, 1 − ε_low, 1 + ε_high)), and min(l, −A·c) where A < 0; for CISPO l = −sg(min(r, cap))·A·log π;
 * plus β·(exp(e) − e − 1) with e = log π_ref − log π (k3, http://joschu.net/blog/kl-approx.html).
 * @param logp (N) of the policy that is trained
 */
export function policyLoss(logp: Tensor, tokens: PolicyTensors, settings: PolicyLossSettings): Tensor {
  const { old, advantages, weights, reference } = tokens;
  // A cast to bool would make 0 of fractions on wasm.
  const inside = tf.notEqual(weights, 0);
  const nothing = tf.zerosLike(logp);
  const own = tf.where(inside, tf.sub(logp, old), nothing); // (N)
  const difference = hasSequenceRatio(settings) ? overResponses(own, tokens.responses) : own;
  const ratio = tf.exp(tf.clipByValue(difference, -LOG_RATIO_LIMIT, LOG_RATIO_LIMIT));
  let loss = settings.loss === 'cispo' ? cispo(logp, ratio) : surrogate(ratio);
  if (settings.klBeta > 0) {
    if (!reference) throw new Error('Internal error: a KL term without log-probs of the reference');
    const e = tf.minimum(tf.where(inside, tf.sub(reference, logp), nothing), LOG_RATIO_LIMIT);
    loss = tf.add(loss, tf.mul(tf.sub(tf.sub(tf.exp(e), e), 1), settings.klBeta));
  }
  return tf.mul(loss, weights); // (N)

  function surrogate(r: Tensor): Tensor {
    const minusA = tf.neg(advantages);
    const plain = tf.mul(minusA, r);
    const clipped = tf.mul(minusA, tf.clipByValue(r, 1 - settings.clipLow, 1 + settings.clipHigh));
    const larger = tf.maximum(plain, clipped);
    if (settings.dualClip === null) return larger;
    const bounded = tf.minimum(larger, tf.mul(minusA, settings.dualClip));
    return tf.where(tf.less(advantages, 0), bounded, larger);
  }

  function cispo(logProb: Tensor, r: Tensor): Tensor {
    const weight = detached(tf.minimum(r, settings.cispoCap));
    return tf.neg(tf.mul(tf.mul(weight, advantages), tf.where(inside, logProb, nothing)));
  }
}

/** The same values, through which no gradient goes. */
const detached = (x: Tensor): Tensor =>
  tf.customGrad((value) => {
    const same = (value as Tensor).clone();
    return { value: same, gradFunc: () => [tf.zerosLike(same)] };
  })(x);

/** For each slot the mean over its response's slots that count; 0 where there are none. */
function overResponses(values: Tensor, responses: Tensor | null): Tensor {
  if (!responses) throw new Error('Internal error: a ratio of responses without the responses');
  const counts = tf.maximum(tf.sum(responses, 1, true), 1); // (E, 1)
  const sums = tf.matMul(responses as tf.Tensor2D, tf.reshape(values, [-1, 1])); // (E, 1)
  const back = tf.matMul(responses as tf.Tensor2D, tf.div(sums, counts) as tf.Tensor2D, true); // (N, 1)
  return tf.reshape(back, [-1]);
}

/** For `PolicyTensors.responses`: which slots count in which response. @param rows response of each slot */
export function responseIndicator(
  rows: ArrayLike<number>,
  weights: ArrayLike<number>,
): { shape: [number, number]; values: Float32Array } {
  const N = weights.length;
  let E = 0;
  for (let n = 0; n < N; n++) E = Math.max(E, rows[n] + 1);
  const values = new Float32Array(E * N);
  for (let n = 0; n < N; n++) if (weights[n] && rows[n] >= 0) values[rows[n] * N + n] = 1;
  return { shape: [E, N], values };
}
