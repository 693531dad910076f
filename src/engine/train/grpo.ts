/**
 * GRPO on fork/join rollouts, as the released code of Parallel-R1 ran it (arXiv 2509.07980 sections 3.3–3.4; reference
 * note, section 4): group-relative advantages on every token, clipped surrogate with dual clip, mean over the tokens
 * of a mini-batch, no KL and no entropy term.
 *
 * Departures from the released code:
 * 1. Tokens that the runtime injected (<Path>, </Parallel>, <Summary>, forced closing tags, step noise) are not in the
 *    loss; `trainInjected: true` puts the structural ones back.
 * 2. Groups with equal rewards are left out of the mini-batches instead of adding zeros to the mean.
 * 3. Old log-probs are those of the rollout itself: rollout and training pass see the same slots, positions and
 *    branch codes, so they agree (metric `sampling/logp_difference`), and no second forward pass is needed. Only
 *    injected tokens, which were never sampled, get theirs from such a pass when they are trained.
 * 4. The clip is asymmetric by default (0.2 / 0.28, the paper's S2 setting).
 */
import { foldKey, Rng } from '../../base/rng.ts';
import type { Example, Problem } from '../data/example.ts';
import { splitByTokens } from '../data/packing.ts';
import type { Task } from '../data/tasks/task.ts';
import type { Decoder } from '../model/decoder.ts';
import { type GenerateSettings, generate, mapRows, type RolloutRequest } from '../rollout/generate.ts';
import type { Rollout, Row } from '../rollout/row.ts';
import { tokenLoss } from '../tensor/ops/token-loss/token-loss.ts';
import { type Tensor, tf } from '../tensor/tfjs.ts';
import type { SpecialIds } from '../tokenizer/tags.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import { groupAdvantages, shareOfEqualGroups } from './advantage.ts';
import { disposeBatch, pack, perSlot, toDevice } from './batch.ts';
import type { Metrics, RolloutRecord } from './events.ts';
import { judge, rolloutMetrics, rolloutRecord } from './judge.ts';
import { type AdamW, GradientSum } from './optimizer.ts';
import { type ClipCounts, clipCounts, policyLoss } from './policy-loss.ts';
import type { GrpoStage } from './recipe.ts';
import { learningRateAt } from './schedule.ts';

export interface GrpoContext {
  model: Decoder;
  optimizer: AdamW;
  stage: GrpoStage;
  /** Streams of random numbers are keyed by (seed, stage index, step, …). */
  seed: number;
  stageIndex: number;
  /** Steps that are already done (a resumed run). */
  firstStep: number;
  tokenizer: Tokenizer;
  task: Task;
  settings: GenerateSettings;
  /** The problem number `index` of a step. */
  problem(step: number, index: number): Problem;
}

export type GrpoEvent =
  | { type: 'progress'; step: number; prompt: string; rows: readonly Row[] }
  | { type: 'records'; records: RolloutRecord[] }
  | { type: 'step'; step: number; metrics: Metrics }
  | { type: 'tick' };

/** Salts of the streams below. */
const SAMPLE = 0x5a11;
const ORDER = 0x0cde;

export async function* grpo(context: GrpoContext): AsyncGenerator<GrpoEvent> {
  const { model, optimizer, stage, tokenizer } = context;
  const { groupSize: G, promptsPerStep: P } = stage;
  const ids = tokenizer.special;
  const gradients = new GradientSum(model);

  try {
    for (let step = context.firstStep + 1; step <= stage.steps; step++) {
      const started = performance.now();

      // 1. Sample G rollouts of each of P problems.
      const problems = Array.from({ length: P }, (_, index) => context.problem(step, index));
      const requests: RolloutRequest[] = problems.flatMap((problem, index) => {
        const prompt = [...(ids.bos >= 0 ? [ids.bos] : []), ...tokenizer.encode(problem.prompt)];
        return Array.from({ length: G }, (_, sample) => ({
          prompt,
          key: foldKey(context.seed, context.stageIndex, step, SAMPLE, index, sample),
        }));
      });
      const rollouts = yield* mapRows(generate(model, requests, context.settings, ids), (rows) => ({
        type: 'progress',
        step,
        prompt: problems[0].prompt,
        rows: rows.slice(0, G),
      }));
      const rolloutSeconds = (performance.now() - started) / 1000;

      // 2. Judge them, and compare each with its group.
      const judging = performance.now();
      const judged = rollouts.map((rollout, i) =>
        judge(rollout, problems[Math.floor(i / G)], context, stage.reward, step),
      );
      const rewards = judged.map((one) => one.reward);
      const advantages = groupAdvantages(rewards, G);
      yield {
        type: 'records',
        records: judged.map((one, i) =>
          rolloutRecord(one, {
            stage: stage.name,
            step,
            group: Math.floor(i / G),
            sample: i % G,
            advantage: advantages[i],
          }),
        ),
      };
      const rewardSeconds = (performance.now() - judging) / 1000;

      // 3. Mini-batches of optimizer steps on the same rollouts.
      const training = performance.now();
      const learningRate = learningRateAt(stage, step, stage.steps);
      const tally = newTally();
      const oldLogps = stage.trainInjected
        ? await logProbs(model, rollouts, stage, ids)
        : rollouts.map((rollout) => rollout.logp);
      for (let epoch = 0; epoch < stage.innerEpochs; epoch++) {
        const order = new Rng(context.seed, context.stageIndex, step, ORDER, epoch).shuffle(
          rollouts.map((_, i) => i),
        );
        const per = Math.ceil(order.length / stage.miniBatches);
        for (let start = 0; start < order.length; start += per) {
          const chosen = order.slice(start, start + per).filter((i) => advantages[i] !== 0);
          const first = epoch === 0 && start === 0;
          for await (const event of update(chosen, first)) yield event;
          if (gradients.isEmpty) continue;
          tally.gradNorm += await optimizer.apply(gradients.take(), learningRate);
          tally.updates++;
        }
      }
      const trainSeconds = (performance.now() - training) / 1000;

      const seconds = (performance.now() - started) / 1000;
      const tokens = rollouts.reduce((sum, rollout) => sum + rollout.tokens.length, 0);
      yield {
        type: 'step',
        step,
        metrics: {
          ...rolloutMetrics(judged, rollouts, stage.reward),
          ...tallyMetrics(tally),
          frac_reward_zero_std: shareOfEqualGroups(rewards, G),
          learning_rate: learningRate,
          num_tokens: tokens,
          step_time: seconds,
          'perf/tokens_per_second': tokens / seconds,
          'perf/rollout_seconds': rolloutSeconds,
          'perf/reward_seconds': rewardSeconds,
          'perf/train_seconds': trainSeconds,
        },
      };

      /** Adds the gradient of one mini-batch, micro-batch after micro-batch. */
      async function* update(chosen: readonly number[], first: boolean): AsyncGenerator<GrpoEvent> {
        const masks = chosen.map((i) => lossMask(rollouts[i], stage.trainInjected, ids));
        const total = masks.reduce((sum, mask) => sum + mask.reduce((a, b) => a + b, 0), 0);
        if (total === 0) return;
        const examples = chosen.map((i, k) => ({ ...exampleOf(rollouts[i], masks[k]), index: i }));
        for (const micro of splitByTokens(examples, stage.microBatchTokens) as (typeof examples)[]) {
          const packed = pack(micro);
          const batch = toDevice(packed);
          const old = perSlot(
            packed,
            micro.map((example) => oldLogps[example.index]),
          );
          const mask = perSlot(
            packed,
            micro.map((example) => example.targets),
          );
          const advantage = perSlot(
            packed,
            micro.map((example) => new Float32Array(example.tokens.length).fill(advantages[example.index])),
          );
          const tensors = [old, advantage, mask].map((values) => tf.tensor1d(values));
          let aside: Tensor[] = [];
          const value = gradients.add(() => {
            const { logp, entropy } = tokenLoss(
              model.hidden(batch),
              model.head,
              batch.targets,
              stage.rollout.temperature || 1,
            ); // (N)
            aside = [tf.keep(logp.clone()), tf.keep(entropy.clone())];
            return tf.div(tf.sum(policyLoss(logp, tensors[0], tensors[1], tensors[2], stage)), total);
          });
          tally.loss += (await value.data())[0];
          const [logp, entropy] = await Promise.all(aside.map((t) => t.data()));
          addToTally(tally, { logp, entropy, old, advantage, mask }, stage, first);
          tf.dispose([value, ...aside, ...tensors]);
          disposeBatch(batch);
          yield { type: 'tick' };
        }
      }
    }
  } finally {
    gradients.dispose();
  }
}

/**
 * 1 on the tokens that count in the loss: those that the policy sampled, and with `trainInjected` the tags that the
 * runtime wrote for it, but never a number that step noise put in.
 */
export function lossMask(rollout: Rollout, trainInjected: boolean, ids: SpecialIds): Uint8Array {
  if (!trainInjected) return rollout.sampled;
  const { path, pathEnd, parallelEnd, summary, summaryEnd, beforeSummary } = ids;
  const injected = new Set([path, pathEnd, parallelEnd, summary, summaryEnd, ...beforeSummary]);
  return rollout.sampled.map((own, i) =>
    own || (i >= rollout.promptLength && injected.has(rollout.tokens[i])) ? 1 : 0,
  );
}

function exampleOf(rollout: Rollout, mask: Uint8Array): Example {
  const { tokens, positions, branches, promptLength } = rollout;
  return { tokens, positions, branches, targets: mask, promptLength };
}

/** Log-prob of every response token of each rollout under the present weights. */
async function logProbs(
  model: Decoder,
  rollouts: readonly Rollout[],
  stage: GrpoStage,
  ids: SpecialIds,
): Promise<Float32Array[]> {
  const out = rollouts.map((rollout) => new Float32Array(rollout.tokens.length));
  const examples = rollouts.map((rollout, index) => ({
    ...exampleOf(rollout, lossMask(rollout, true, ids)),
    index,
  }));
  for (const micro of splitByTokens(examples, stage.microBatchTokens) as (typeof examples)[]) {
    const packed = pack(micro);
    const batch = toDevice(packed);
    const logp = tf.tidy(
      () => tokenLoss(model.hidden(batch), model.head, batch.targets, stage.rollout.temperature || 1).logp,
    );
    const values = await logp.data();
    packed.targets.forEach((target, n) => {
      if (target >= 0) out[micro[packed.rows[n]].index][packed.slots[n] + 1] = values[n];
    });
    logp.dispose();
    disposeBatch(batch);
  }
  return out;
}

interface Tally extends ClipCounts {
  loss: number;
  gradNorm: number;
  updates: number;
  entropy: number;
  differenceSum: number;
  differenceMax: number;
  differenceTokens: number;
}

function newTally(): Tally {
  return {
    loss: 0,
    gradNorm: 0,
    updates: 0,
    entropy: 0,
    differenceSum: 0,
    differenceMax: 0,
    differenceTokens: 0,
    tokens: 0,
    low: 0,
    high: 0,
    dual: 0,
  };
}

type Arrays = Record<'logp' | 'entropy' | 'old' | 'advantage' | 'mask', ArrayLike<number>>;

function addToTally(tally: Tally, arrays: Arrays, stage: GrpoStage, first: boolean): void {
  const { logp, entropy, old, advantage, mask } = arrays;
  const counts = clipCounts(logp, old, advantage, mask, stage);
  for (const key of ['tokens', 'low', 'high', 'dual'] as const) tally[key] += counts[key];
  for (let n = 0; n < mask.length; n++) {
    if (!mask[n]) continue;
    tally.entropy += entropy[n];
    // Only before the first update are rollout and training pass the same policy.
    if (first) {
      const difference = Math.abs(logp[n] - old[n]);
      tally.differenceSum += difference;
      tally.differenceMax = Math.max(tally.differenceMax, difference);
      tally.differenceTokens++;
    }
  }
}

function tallyMetrics(tally: Tally): Metrics {
  const tokens = Math.max(1, tally.tokens);
  if (tally.updates === 0) return { loss: 0, grad_norm: 0 };
  return {
    loss: tally.loss / tally.updates,
    grad_norm: tally.gradNorm / tally.updates,
    entropy: tally.entropy / tokens,
    'clip_ratio/low_mean': tally.low / tokens,
    'clip_ratio/high_mean': tally.high / tokens,
    'clip_ratio/region_mean': (tally.low + tally.high) / tokens,
    ...(tally.differenceTokens > 0 && {
      'sampling/logp_difference/mean': tally.differenceSum / tally.differenceTokens,
      'sampling/logp_difference/max': tally.differenceMax,
    }),
  };
}
