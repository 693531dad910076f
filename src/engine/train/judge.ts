/** From finished rollouts to rewards, log lines and metrics: the same for training and evaluation. */
import { UserError } from '../../base/assert.ts';
import type { Problem } from '../data/example.ts';
import { isRight, type Task } from '../data/tasks/task.ts';
import { type Behaviour, behaviourOf } from '../reward/behaviour.ts';
import { CustomRewardError, type CustomRewardRunner, type CustomRow, describeRow } from '../reward/custom.ts';
import { checkFormat, type FormatReport, HOLLOW } from '../reward/format.ts';
import { HACKS, type Hack, spokenHacks } from '../reward/hacks.ts';
import {
  addPart,
  type CustomReward,
  customPart,
  partNames,
  type Reward,
  type RewardSettings,
  reward,
} from '../reward/rewards.ts';
import type { Rollout } from '../rollout/row.ts';
import { type RolloutTree, treeOf } from '../rollout/tree.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import type { Metrics, RolloutRecord } from './events.ts';

export interface Judged {
  problem: Problem;
  text: string;
  tree: RolloutTree;
  answer: string | null;
  correct: boolean;
  format: FormatReport;
  /** Of its structure and of what it says. */
  hacks: readonly Hack[];
  behaviour: Behaviour;
  /** Main and auxiliary rewards together, and each sum by itself (split advantages compare them apart). */
  reward: number;
  main: number;
  auxiliary: number;
  /** Value of each part that applies, before its weight. */
  parts: Reward['parts'];
}

export interface JudgeContext {
  tokenizer: Tokenizer;
  task: Task;
  /** Those of the rollout; without a response limit nothing is too long. */
  settings?: { maxTokens: number };
  /** The stage says how strict the format check is; 'structure' by default. */
  stage?: { format?: 'structure' | 'strict' };
}

/**
 * A custom part is not paid yet: see `payCustom`.
 * @param step 1-based step of the stage, for rewards with a schedule
 */
export function judge(
  rollout: Rollout,
  problem: Problem,
  { tokenizer, task, settings: limits, stage }: JudgeContext,
  settings: RewardSettings,
  step: number,
): Judged {
  const ids = tokenizer.special;
  const response = rollout.tokens.subarray(rollout.promptLength);
  const text = tokenizer.decode(response);
  const tree = treeOf(rollout.tokens, rollout.promptLength, ids, (list) => tokenizer.decode(list));
  const answer = rollout.truncated ? null : taskAnswer(response, tokenizer, task);
  const isGold = (given: string | null) => isRight(task, problem, given);
  const correct = isGold(answer);
  const strict = stage?.format === 'strict';
  const format = checkFormat(response, ids, {
    isBlank: (token) => isBlank(tokenizer, token, strict),
    refuse: strict ? HOLLOW : [],
  });
  const prompt = rollout.tokens.subarray(0, rollout.promptLength);
  const hacks = [...format.hacks, ...spokenHacks({ prompt, response, text, tree, answer }, ids, task)];
  const behaviour = behaviourOf(response, tree, ids, task, isGold, answer);
  const { blocks, validBlocks, valid: formatValid } = format;
  const { critical } = rollout;
  const maxTokens = limits?.maxTokens ?? Number.POSITIVE_INFINITY;
  const facts = { correct, blocks, validBlocks, formatValid, tree, behaviour, critical, maxTokens };
  return { problem, text, tree, answer, correct, format, hacks, behaviour, ...reward(settings, facts, step) };
}

const tokenTexts = new WeakMap<Tokenizer, Map<number, string>>();

/** Is a token only space? Strictly, also one that is not shown at all, such as padding. */
function isBlank(tokenizer: Tokenizer, token: number, strict: boolean): boolean {
  const texts = tokenTexts.get(tokenizer) ?? new Map<number, string>();
  tokenTexts.set(tokenizer, texts);
  const text = texts.get(token) ?? tokenizer.decode([token]);
  texts.set(token, text);
  return text.trim() === '' && (strict || text !== '');
}

/** The answer of a response to a problem of a task; without <eos> it was cut and has none, whatever it says. */
export function taskAnswer(response: ArrayLike<number>, tokenizer: Tokenizer, task: Task): string | null {
  if (response[response.length - 1] !== tokenizer.special.eos) return null;
  const written = task.extractAnswer(tokenizer.decode(response));
  // Two number tokens that read as one ("1", "5") are no answer: the model must not be paid for how text is glued.
  const whole = written !== null && endsWith(response, tokenizer.encode(task.answerMarker + written));
  return whole ? written : null;
}

/** What the code of a custom reward is given about a response. */
export const customRow = ({ problem, text, answer, tree, correct }: Judged, step: number): CustomRow => ({
  prompt: problem.prompt,
  response: text,
  answer,
  gold: problem.answer,
  tree,
  step,
  correct,
});

/**
 * What the code of a custom reward pays for each response; null = not applicable. Code that fails on a row throws with
 * that row: going on without the part would train on another reward than the recipe says.
 * @param where when it happened, in words
 */
export async function customValues(
  judged: readonly Judged[],
  part: CustomReward,
  step: number,
  runner: CustomRewardRunner | undefined,
  where: string,
): Promise<(number | null)[]> {
  if (!runner)
    throw new UserError(
      'The recipe has a custom reward, and nothing here can run its code. Train it on the page or with "npm run train", or take the part out.',
    );
  const rows = judged.map((one) => customRow(one, step));
  try {
    return await runner.run(part.code, rows, part.timeLimitMs);
  } catch (error) {
    if (!(error instanceof CustomRewardError)) throw error;
    const on = error.row === null ? '' : ` The row: ${describeRow(rows[error.row])}.`;
    throw new UserError(
      `The custom reward failed ${where}: ${error.reason}.${on} Mend its code in the recipe ("code") and start again.`,
    );
  }
}

/** Adds what the custom part of a reward pays, where it has one; its code runs elsewhere, so this waits. */
export async function payCustom(
  judged: Judged[],
  settings: RewardSettings,
  step: number,
  runner: CustomRewardRunner | undefined,
): Promise<Judged[]> {
  const part = customPart(settings);
  if (!part) return judged;
  const values = await customValues(judged, part, step, runner, `in step ${step}`);
  return judged.map((one, i) => ({ ...one, ...addPart(one, part, values[i], step) }));
}

/** Does a response end in these tokens and <eos>? */
function endsWith(response: ArrayLike<number>, tail: readonly number[]): boolean {
  const start = response.length - 1 - tail.length;
  return start >= 0 && tail.every((token, i) => response[start + i] === token);
}

/** A line of `rollouts.jsonl`. */
export function rolloutRecord(
  judged: Judged,
  place: Pick<RolloutRecord, 'stage' | 'step' | 'group' | 'sample' | 'advantage'>,
): RolloutRecord {
  const { stage, step, group, sample, advantage } = place;
  return {
    stage,
    step,
    prompt: judged.problem.prompt,
    group,
    sample,
    text: judged.text,
    tree: judged.tree,
    blocks: judged.behaviour.perBlock,
    answer: judged.answer,
    gold: judged.problem.answer,
    rewards: judged.parts,
    reward: judged.reward,
    advantage,
  };
}

const mean = (values: readonly number[]): number =>
  values.length === 0 ? Number.NaN : values.reduce((a, b) => a + b, 0) / values.length;

/** Standard deviation, ddof 1. */
function deviation(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const m = mean(values);
  return Math.sqrt(values.reduce((sum, x) => sum + (x - m) ** 2, 0) / (values.length - 1));
}

const share = <T>(items: readonly T[], test: (item: T) => boolean): number =>
  mean(items.map((item) => (test(item) ? 1 : 0)));

/** Mean and spread of each part over the rollouts that it applies to, before its weight. */
function partMetrics(judged: readonly Judged[], settings: RewardSettings): Metrics {
  const metrics: Metrics = {};
  for (const name of partNames(settings)) {
    const values = judged.flatMap(({ parts }) => (Object.hasOwn(parts, name) ? [parts[name]] : []));
    if (values.length === 0) continue;
    metrics[`rewards/${name}/mean`] = mean(values);
    metrics[`rewards/${name}/std`] = deviation(values);
  }
  if (settings.kind !== 'sum') return metrics;
  return {
    ...metrics,
    reward_main: mean(judged.map((one) => one.main)),
    reward_auxiliary: mean(judged.map((one) => one.auxiliary)),
  };
}

/** Means over rollouts; a metric that no rollout has a value for is left out. */
export function rolloutMetrics(
  judged: readonly Judged[],
  rollouts: readonly Rollout[],
  settings: RewardSettings,
): Metrics {
  const rewards = judged.map((one) => one.reward);
  const lengths = judged.map((one) => one.behaviour.length);
  const finished = lengths.filter((_, i) => !rollouts[i].truncated);
  const of = (value: (behaviour: Behaviour) => number | null) =>
    mean(judged.map((one) => value(one.behaviour)).filter((x) => x !== null));
  const total = mean(lengths);
  const critical = mean(rollouts.map((rollout) => rollout.critical));
  const metrics: Metrics = {
    reward: mean(rewards),
    reward_std: deviation(rewards),
    ...partMetrics(judged, settings),
    accuracy: share(judged, (one) => one.correct),
    'completions/mean_length': total,
    'completions/min_length': Math.min(...lengths),
    'completions/max_length': Math.max(...lengths),
    'completions/mean_terminated_length': mean(finished),
    'completions/clipped_ratio': share(rollouts, (rollout) => rollout.truncated),
    'completions/no_answer_ratio': share(judged, (one) => one.answer === null),
    'parallel/ratio': share(judged, (one) => one.behaviour.blocks > 0),
    'parallel/blocks': mean(judged.map((one) => one.behaviour.blocks)),
    'parallel/valid_ratio': share(judged, (one) => one.format.valid && one.answer !== null),
    'parallel/relative_position': of((b) => b.relativePosition),
    'parallel/first_relative_position': of((b) => b.firstRelativePosition),
    'parallel/late_share': of((b) => (b.late === null ? null : Number(b.late))),
    'parallel/path_agreement': of((b) => b.pathAgreement),
    'parallel/answer_disagreement': of((b) => b.answerDisagreement),
    'parallel/path_accuracy': of((b) => b.pathAccuracy),
    'parallel/verification_share': of((b) => b.verification),
    'parallel/exploration_share': of((b) => (b.verification === null ? null : 1 - b.verification)),
    'parallel/final_before_share': of((b) => b.finalBefore),
    'parallel/right_before_share': of((b) => b.rightBefore),
    'parallel/rederived_share': of((b) => b.rederived),
    'parallel/self_bleu': of((b) => b.selfBleu),
    'tokens/total': total,
    'tokens/critical': critical,
    'tokens/saved': 1 - critical / total,
  };
  for (const hack of HACKS) metrics[`hack/${hack}`] = share(judged, (one) => one.hacks.includes(hack));
  return Object.fromEntries(Object.entries(metrics).filter(([, value]) => !Number.isNaN(value))) as Metrics;
}
