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
import type { Rollout, RowView } from '../rollout/row.ts';
import { tokenLoss } from '../tensor/ops/token-loss/token-loss.ts';
import { tf } from '../tensor/tfjs.ts';
import type { SpecialIds } from '../tokenizer/tags.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import { groupAdvantages, shareOfEqualGroups } from './advantage.ts';
import { disposeBatch, pack, perSlot, toDevice } from './batch.ts';
import type { Metrics, RolloutRecord } from './events.ts';
import { judge, rolloutMetrics, rolloutRecord } from './judge.ts';
import { makeLearner, noSums, type ObjectiveSums } from './learner.ts';
import type { AdamW } from './optimizer.ts';
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
  | { type: 'progress'; step: number; prompt: string; rows: readonly RowView[] }
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
  const learner = makeLearner(model, optimizer, { temperature: stage.rollout.temperature || 1, clip: stage });

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
          for await (const event of update(chosen)) yield event;
          if (learner.isEmpty) continue;
          // Only before the first update are rollout and training pass the same policy.
          addToTally(tally, await learner.apply(learningRate), epoch === 0 && start === 0);
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
      async function* update(chosen: readonly number[]): AsyncGenerator<GrpoEvent> {
        const masks = chosen.map((i) => lossMask(rollouts[i], stage.trainInjected, ids));
        const total = masks.reduce((sum, mask) => sum + mask.reduce((a, b) => a + b, 0), 0);
        if (total === 0) return;
        const examples = chosen.map((i, k) => ({ ...exampleOf(rollouts[i], masks[k]), index: i }));
        for (const micro of splitByTokens(examples, stage.microBatchTokens) as (typeof examples)[]) {
          const batch = pack(micro);
          const slots = (of: (example: (typeof examples)[number]) => ArrayLike<number>) =>
            perSlot(batch, micro.map(of));
          const mask = slots((example) => example.targets);
          const old = slots((example) => oldLogps[example.index]);
          const same = slots(({ tokens, index }) => new Float32Array(tokens.length).fill(advantages[index]));
          await learner.add({ batch, mask, policy: { old, advantages: same } }, total);
          yield { type: 'tick' };
        }
      }
    }
  } finally {
    learner.dispose();
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

interface Tally extends ObjectiveSums {
  gradNorm: number;
  updates: number;
  /** Tokens of the first update, which the differences of log-probs are from. */
  differenceTokens: number;
}

const newTally = (): Tally => ({ ...noSums(), gradNorm: 0, updates: 0, differenceTokens: 0 });

function addToTally(tally: Tally, sums: ObjectiveSums & { gradNorm: number }, first: boolean): void {
  for (const key of ['loss', 'entropy', 'tokens', 'low', 'high', 'dual', 'gradNorm'] as const)
    tally[key] += sums[key];
  tally.updates++;
  if (!first) return;
  tally.differenceSum = sums.differenceSum;
  tally.differenceMax = sums.differenceMax;
  tally.differenceTokens = sums.tokens;
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
