/** From finished rollouts to rewards, log lines and metrics: the same for training and evaluation. */
import type { Problem } from '../data/example.ts';
import type { Task } from '../data/tasks/task.ts';
import { type Behaviour, behaviourOf } from '../reward/behaviour.ts';
import { checkFormat, type FormatReport } from '../reward/format.ts';
import { type RewardSettings, reward } from '../reward/rewards.ts';
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
  behaviour: Behaviour;
  reward: number;
  parts: Record<string, number>;
}

/** @param step 1-based step of the stage, for rewards with a schedule */
export function judge(
  rollout: Rollout,
  problem: Problem,
  { tokenizer, task }: { tokenizer: Tokenizer; task: Task },
  settings: RewardSettings,
  step: number,
): Judged {
  const ids = tokenizer.special;
  const response = rollout.tokens.subarray(rollout.promptLength);
  const text = tokenizer.decode(response);
  const tree = treeOf(rollout.tokens, rollout.promptLength, ids, (list) => tokenizer.decode(list));
  // A response that its budget cut has no answer, whatever it says.
  const ended = !rollout.truncated && response[response.length - 1] === ids.eos;
  const written = ended ? task.extractAnswer(text) : null;
  // Two number tokens that read as one ("1", "5") are no answer: the model must not be paid for how text is glued.
  const answer =
    written !== null && endsWith(response, tokenizer.encode(task.answerMarker + written)) ? written : null;
  const correct = answer !== null && answer === problem.answer;
  const format = checkFormat(response, ids);
  const behaviour = behaviourOf(response, tree, ids, task, problem.answer);
  const { blocks, validBlocks, valid: formatValid } = format;
  const paid = reward(settings, { correct, blocks, validBlocks, formatValid }, step);
  return { problem, text, tree, answer, correct, format, behaviour, reward: paid.reward, parts: paid.parts };
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

/** Means over rollouts; a metric that no rollout has a value for is left out. */
export function rolloutMetrics(
  judged: readonly Judged[],
  rollouts: readonly Rollout[],
  settings: RewardSettings,
): Metrics {
  const rewards = judged.map((one) => one.reward);
  const part = judged.map((one) => one.parts[settings.kind]);
  const lengths = judged.map((one) => one.behaviour.length);
  const finished = lengths.filter((_, i) => !rollouts[i].truncated);
  const of = (value: (behaviour: Behaviour) => number | null) =>
    mean(judged.map((one) => value(one.behaviour)).filter((x) => x !== null));
  const total = mean(lengths);
  const critical = mean(rollouts.map((rollout) => rollout.critical));
  const hack = (name: FormatReport['hacks'][number]) =>
    share(judged, (one) => one.format.hacks.includes(name));
  const metrics: Metrics = {
    reward: mean(rewards),
    reward_std: deviation(rewards),
    [`rewards/${settings.kind}/mean`]: mean(part),
    [`rewards/${settings.kind}/std`]: deviation(part),
    accuracy: share(judged, (one) => one.correct),
    'completions/mean_length': total,
    'completions/min_length': Math.min(...lengths),
    'completions/max_length': Math.max(...lengths),
    'completions/mean_terminated_length': mean(finished),
    'completions/clipped_ratio': share(rollouts, (rollout) => rollout.truncated),
    'parallel/ratio': share(judged, (one) => one.behaviour.blocks > 0),
    'parallel/blocks': mean(judged.map((one) => one.behaviour.blocks)),
    'parallel/valid_ratio': share(judged, (one) => one.format.valid && one.answer !== null),
    'parallel/relative_position': of((b) => b.relativePosition),
    'parallel/first_relative_position': of((b) => b.firstRelativePosition),
    'parallel/late_share': of((b) => (b.late === null ? null : Number(b.late))),
    'parallel/path_agreement': of((b) => b.pathAgreement),
    'parallel/path_accuracy': of((b) => b.pathAccuracy),
    'parallel/verification_share': of((b) => b.verification),
    'parallel/exploration_share': of((b) => (b.verification === null ? null : 1 - b.verification)),
    'tokens/total': total,
    'tokens/critical': critical,
    'tokens/saved': 1 - critical / total,
    'hack/empty_paths': hack('empty_path'),
    'hack/identical_paths': hack('identical_paths'),
    'hack/missing_summary': hack('missing_summary'),
  };
  return Object.fromEntries(Object.entries(metrics).filter(([, value]) => !Number.isNaN(value))) as Metrics;
}
