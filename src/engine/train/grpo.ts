/**
 * GRPO on fork/join rollouts, as the released code of Parallel-R1 ran it (arXiv 2509.07980 sections 3.3–3.4; reference
 * note, section 4): group-relative advantages on every token, clipped surrogate with dual clip, mean over the tokens
 * of a mini-batch, no KL and no entropy term. Other losses and terms are settings (`policy-loss.ts`).
 *
 * Departures from the released code:
 * 1. Tokens that the runtime injected (<Path>, </Parallel>, <Summary>, forced closing tags, step noise) are not in the
 *    loss; `trainInjected: true` puts the structural ones back.
 * 2. Groups with equal rewards are left out of the mini-batches instead of adding zeros to the mean;
 *    `keepEqualGroups: true` puts them back.
 * 3. Old log-probs are those of the rollout itself: rollout and training pass see the same slots, positions and
 *    branch codes, so they agree (metric `sampling/logp_difference`), and no second forward pass is needed. Only
 *    injected tokens, which were never sampled, get theirs from such a pass when they are trained, and all tokens do in
 *    the Seen variant, whose training pass reads the text otherwise than it was written.
 * 4. The clip is asymmetric by default (0.2 / 0.28, the paper's S2 setting).
 */
import { assert } from '../../base/assert.ts';
import { foldKey, Rng } from '../../base/rng.ts';
import type { Problem } from '../data/example.ts';
import { splitByTokens } from '../data/packing.ts';
import type { Task } from '../data/tasks/task.ts';
import type { Decoder } from '../model/decoder.ts';
import type { CustomRewardRunner } from '../reward/custom.ts';
import { type GenerateSettings, generate, mapRows, type RolloutRequest } from '../rollout/generate.ts';
import type { Rollout, RowView } from '../rollout/row.ts';
import { type LayoutSettings, trainingView, viewDiffers } from '../rollout/training-view.ts';
import type { SpecialIds } from '../tokenizer/tags.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import { advantagesOf, groupsWithSpread, shareOfEqualGroups } from './advantage.ts';
import { pack, perSlot } from './batch.ts';
import { groupsToTrain } from './choose-groups.ts';
import type { Metrics, RolloutRecord } from './events.ts';
import { type Judged, judge, payCustom, rolloutMetrics, rolloutRecord } from './judge.ts';
import { makeLearner } from './learner.ts';
import { logProbGap, logProbs, trainingExample } from './log-probs.ts';
import type { AdamW } from './optimizer.ts';
import { PolicyTally } from './policy-tally.ts';
import type { GrpoStage } from './recipe.ts';
import { learningRateAt } from './schedule.ts';
import { tokenWeights } from './token-weights.ts';

export interface GrpoContext {
  model: Decoder;
  optimizer: AdamW;
  /** The frozen policy that a KL term holds to; null without one. */
  reference: Decoder | null;
  stage: GrpoStage;
  /** Streams of random numbers are keyed by (seed, stage index, step, …). */
  seed: number;
  stageIndex: number;
  /** Steps that are already done (a resumed run). */
  firstStep: number;
  tokenizer: Tokenizer;
  task: Task;
  settings: GenerateSettings;
  /** How the training pass sees the rollouts. */
  layout: LayoutSettings;
  /** Runs the code of a custom reward; without it a recipe that has one is refused. */
  customReward?: CustomRewardRunner;
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
  const { model, optimizer, stage, tokenizer, reference } = context;
  assert(stage.klBeta === 0 || reference, 'a KL term needs its reference');
  const { groupSize: G, promptsPerStep: P } = stage;
  const ids = tokenizer.special;
  const temperature = stage.rollout.temperature || 1;
  const learner = makeLearner(model, optimizer, { temperature, clip: stage });

  try {
    for (let step = context.firstStep + 1; step <= stage.steps; step++) {
      const started = performance.now();

      // 1. Sample G rollouts of each of P problems, judge them, and compare each with its group. While fewer than P groups
      //    have spread, dynamic sampling (DAPO, arXiv 2503.14476, section 3.2) draws P further problems, in bounded rounds.
      const rollouts: Rollout[] = [];
      const judged: Judged[] = [];
      let advantages: Float64Array;
      let spread: boolean[];
      let rounds = 0;
      let rolloutSeconds = 0;
      do {
        const sampling = performance.now();
        const first = rounds * P;
        const problems = Array.from({ length: P }, (_, index) => context.problem(step, first + index));
        const requests: RolloutRequest[] = problems.flatMap((problem, index) => {
          const prompt = [...(ids.bos >= 0 ? [ids.bos] : []), ...tokenizer.encode(problem.prompt)];
          return Array.from({ length: G }, (_, sample) => ({
            prompt,
            key: foldKey(context.seed, context.stageIndex, step, SAMPLE, first + index, sample),
          }));
        });
        const fresh = yield* mapRows(generate(model, requests, context.settings, ids), (rows) => ({
          type: 'progress',
          step,
          prompt: problems[0].prompt,
          rows: rows.slice(0, G),
        }));
        rolloutSeconds += (performance.now() - sampling) / 1000;
        const verdicts = await payCustom(
          fresh.map((rollout, i) => judge(rollout, problems[Math.floor(i / G)], context, stage.reward, step)),
          stage.reward,
          step,
          context.customReward,
        );
        rollouts.push(...fresh);
        judged.push(...verdicts);
        advantages = advantagesOf(judged, stage);
        spread = groupsWithSpread(advantages, G);
        rounds++;
      } while (rounds <= stage.resampleRounds && spread.filter(Boolean).length < P);

      // 2. Train on P groups at most: the others get no advantage.
      const groups = groupsToTrain(spread, P, stage.keepEqualGroups);
      const isTrained = rollouts.map((_, i) => groups.includes(Math.floor(i / G)));
      advantages = advantages.map((advantage, i) => (isTrained[i] ? advantage : 0));
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
      const rewardSeconds = (performance.now() - started) / 1000 - rolloutSeconds;

      // 3. Mini-batches of optimizer steps on the same rollouts.
      const training = performance.now();
      const learningRate = learningRateAt(stage, step, stage.steps);
      const tally = new PolicyTally(stage);
      const masks = rollouts.map((rollout) =>
        stage.maskTruncated && rollout.truncated
          ? new Uint8Array(rollout.tokens.length)
          : lossMask(rollout, stage.trainInjected, ids),
      );
      const asked = masks.map((mask, i) => (isTrained[i] ? mask : null));
      const forward = { temperature, microBatchTokens: stage.microBatchTokens };
      const views = rollouts.map((rollout) => trainingView(rollout, context.layout));
      const written = rollouts.map((rollout) => rollout.logp);
      const oldLogps =
        stage.trainInjected || viewDiffers(context.layout)
          ? await logProbs(model, views, asked, forward)
          : written;
      const referenceLogps =
        stage.klBeta > 0 && reference ? await logProbs(reference, views, asked, forward) : null;
      // Which rollouts share a mini-batch must not depend on their rewards, unless there were more to choose from.
      const pool = rollouts.flatMap((_, i) => (rounds === 1 || isTrained[i] ? [i] : []));
      for (let epoch = 0; epoch < stage.innerEpochs; epoch++) {
        const order = new Rng(context.seed, context.stageIndex, step, ORDER, epoch).shuffle(pool);
        const per = Math.ceil(order.length / stage.miniBatches);
        for (let start = 0; start < order.length; start += per) {
          const chosen = order.slice(start, start + per).filter((i) => isTrained[i]);
          for await (const event of update(chosen)) yield event;
          if (learner.isEmpty) continue;
          // Only before the first update are rollout and training pass the same policy.
          tally.add(await learner.apply(learningRate), epoch === 0 && start === 0);
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
          ...tally.metrics,
          ...(viewDiffers(context.layout) && logProbGap(written, oldLogps, rollouts, asked)),
          frac_reward_zero_std: shareOfEqualGroups(
            judged.map((one) => one.reward),
            G,
          ),
          ...(stage.resampleRounds > 0 && {
            'sampling/pass_rate': spread.filter(Boolean).length / spread.length,
            'sampling/rounds': rounds,
          }),
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
        const counts = chosen.map((i) => masks[i].reduce((a, b) => a + b, 0));
        if (counts.every((count) => count === 0)) return;
        const examples = chosen
          .map((i, k) => ({ ...trainingExample(views[i], masks[i]), index: i, k }))
          .filter(({ k }) => counts[k] > 0);
        const micros = splitByTokens(examples, stage.microBatchTokens) as (typeof examples)[];
        const passes = counts.map(() => -1);
        for (const [pass, micro] of micros.entries()) for (const { k } of micro) passes[k] = pass;
        const { maxTokens } = stage.rollout;
        const { weights, total } = tokenWeights(stage.loss, { counts, passes, maxTokens });
        for (const micro of micros) {
          const batch = pack(micro);
          const slots = (of: (example: (typeof examples)[number]) => ArrayLike<number>) =>
            perSlot(batch, micro.map(of));
          const mask = slots(({ targets, k }) => Float32Array.from(targets, (target) => target * weights[k]));
          const old = slots((example) => oldLogps[example.index]);
          const same = slots(({ tokens, index }) => new Float32Array(tokens.length).fill(advantages[index]));
          const reference = referenceLogps && slots((example) => referenceLogps[example.index]);
          await learner.add({ batch, mask, policy: { old, advantages: same, reference } }, total);
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
