/**
 * Evaluation on held-out problems: several samples of each, judged as in training but never trained on. One checkpoint
 * may be decoded in several ways: as its stage was trained, in parallel, sequentially, greedily, and sequentially with as
 * many votes as a parallel response's tokens buy (self-consistency, Wang et al. 2023, arXiv 2203.11171).
 */
import { foldKey } from '../../base/rng.ts';
import type { Problem } from '../data/example.ts';
import type { Task } from '../data/tasks/task.ts';
import type { Decoder } from '../model/decoder.ts';
import { type GenerateSettings, generate, mapRows } from '../rollout/generate.ts';
import type { Rollout } from '../rollout/row.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import {
  bootstrap,
  type Estimate,
  estimate,
  majAtK,
  majOfGroups,
  majorityAnswer,
  meanAtK,
  passAtK,
} from './evaluation-metrics.ts';
import type { Metrics } from './events.ts';
import { type Judged, judge, rolloutMetrics } from './judge.ts';
import type { EvaluationSet, RolloutSettings } from './recipe.ts';

type Mode = RolloutSettings['mode'];

export interface EvaluateContext {
  model: Decoder;
  tokenizer: Tokenizer;
  task: Task;
  set: Pick<EvaluationSet, 'name' | 'samples' | 'ks' | 'decode' | 'greedy' | 'equalTokens'>;
  /** How the stage was trained. */
  stageMode: Mode;
  /** The same questions in the same order, asked plainly and in parallel. */
  problems: Record<Mode, readonly Problem[]>;
  settings: Record<Mode, GenerateSettings>;
  /** Stream of random numbers: the same key samples the same way, so two checkpoints meet the same luck. */
  key: number;
}

/** Scores over some problems, each with a 95 % interval. */
export interface Scores {
  problems: number;
  mean: Estimate;
  /** By rising k, the last that of all samples. */
  pass: ({ k: number } & Estimate)[];
  maj: ({ k: number } & Estimate)[];
}

/** One way of decoding a set, in full; `metrics` has what charts draw of it. */
export interface EvaluationReport {
  mode: Mode;
  greedy: boolean;
  /** Sequential responses that vote on each answer; 1 without a vote. */
  votes: number;
  /** Answers per problem. */
  samples: number;
  scores: Scores;
  /** The same by the difficulty of the problems. */
  byDifficulty: Record<string, Scores>;
}

export interface Evaluation {
  /** Name of the set, and how it was decoded unless that is as the stage was trained. */
  set: string;
  metrics: Metrics;
  report: EvaluationReport;
}

/** Answers of one way of decoding, problem after problem, `samples` of each. */
interface Answered {
  samples: number;
  judged: Judged[];
  rollouts: Rollout[];
}

/** What the scores of one problem are made of. */
interface Answers {
  answers: (string | null)[];
  correct: boolean[];
}

/** Rows that decode together where nothing else bounds the key/value cache: on a GPU, rollouts queue by themselves. */
const ROWS_AT_ONCE = 256;
/** Salt of the streams of the bootstrap. */
const RESAMPLE = 0xb007;

/** Yields `null` while it works, so that the caller can look at its commands, and each way of decoding as it is done. */
export async function* evaluate(context: EvaluateContext): AsyncGenerator<Evaluation | null, void> {
  const { set, stageMode } = context;
  const sampled: Partial<Record<Mode, Answered>> = {};
  async function* samplesOf(mode: Mode): AsyncGenerator<null, Answered> {
    sampled[mode] ??= yield* answersOf(context, mode, context.settings[mode], 0, set.samples);
    return sampled[mode];
  }

  for (const way of set.decode) {
    const mode = way === 'stage' ? stageMode : way;
    const name = way === 'stage' ? set.name : `${set.name}, ${way}`;
    yield evaluationOf(context, name, mode, false, yield* samplesOf(mode));
    if (!set.greedy) continue;
    const likeliest = { ...context.settings[mode], temperature: 0 };
    yield evaluationOf(
      context,
      `${name}, greedy`,
      mode,
      true,
      yield* answersOf(context, mode, likeliest, 0, 1),
    );
  }
  if (set.equalTokens)
    yield yield* selfConsistency(context, yield* samplesOf('parallel'), yield* samplesOf('sequential'));
}

/** Samples number `from` up to `to` of every problem. */
async function* answersOf(
  context: EvaluateContext,
  mode: Mode,
  settings: GenerateSettings,
  from: number,
  to: number,
): AsyncGenerator<null, Answered> {
  const { model, tokenizer, task } = context;
  const problems = context.problems[mode];
  const samples = to - from;
  const ids = tokenizer.special;
  const requests = problems.flatMap((problem, index) => {
    const prompt = [...(ids.bos >= 0 ? [ids.bos] : []), ...tokenizer.encode(problem.prompt)];
    return Array.from({ length: samples }, (_, i) => ({
      prompt,
      key: foldKey(context.key, index, from + i),
    }));
  });
  const rollouts: Rollout[] = [];
  const atOnce = model.device ? requests.length : ROWS_AT_ONCE;
  for (let start = 0; start < requests.length; start += atOnce) {
    const rows = generate(model, requests.slice(start, start + atOnce), settings, ids);
    rollouts.push(...(yield* mapRows(rows, () => null)));
  }
  const judged = rollouts.map((rollout, i) =>
    judge(rollout, problems[Math.floor(i / samples)], { tokenizer, task, settings }, { kind: 'accuracy' }, 1),
  );
  return { samples, judged, rollouts };
}

/** Splits what came problem after problem. */
function perProblem<T>(items: readonly T[], samples: number): T[][] {
  return Array.from({ length: items.length / samples }, (_, i) =>
    items.slice(i * samples, (i + 1) * samples),
  );
}

function evaluationOf(
  context: EvaluateContext,
  set: string,
  mode: Mode,
  greedy: boolean,
  { samples, judged, rollouts }: Answered,
): Evaluation {
  const answers = perProblem(judged, samples).map((own) => ({
    answers: own.map((one) => one.answer),
    correct: own.map((one) => one.correct),
  }));
  const report = reportOf(context, { mode, greedy, votes: 1, samples }, answers);
  const metrics = {
    ...rolloutMetrics(judged, rollouts, { kind: 'accuracy' }),
    ...scoreMetrics(report.scores),
  };
  return { set, metrics, report };
}

/**
 * Votes of n sequential samples, n the largest number whose mean tokens are no more than those of a parallel response
 * (at least one), as many votes a problem as there were parallel responses: the same tokens in all.
 */
async function* selfConsistency(
  context: EvaluateContext,
  parallel: Answered,
  sequential: Answered,
): AsyncGenerator<null, Evaluation> {
  const { set } = context;
  const lengths = ({ judged }: Answered) => judged.map((one) => one.behaviour.length);
  const n = Math.max(1, Math.floor(average(lengths(parallel)) / average(lengths(sequential))));
  const { samples } = set;
  const more = yield* answersOf(context, 'sequential', context.settings.sequential, samples, samples * n);
  // Per problem, the samples that there were and the further ones.
  const first = perProblem(sequential.judged, samples);
  const rest = perProblem(more.judged, Math.max(1, more.samples));
  const ballots = first.map((own, i) => perProblem([...own, ...(rest[i] ?? [])], n));
  const answers = ballots.map((votes) => ({
    answers: votes.map((own) => majorityAnswer(own.map((one) => one.answer))),
    correct: votes.map(
      (own) =>
        majAtK(
          own.map((one) => one.answer),
          own.map((one) => one.correct),
          n,
        ) === 1,
    ),
  }));
  const report = reportOf(context, { mode: 'sequential', greedy: false, votes: n, samples }, answers);
  const total = average(ballots.flat().map((own) => own.reduce((sum, one) => sum + one.behaviour.length, 0)));
  const critical = average(ballots.flat().map((own) => Math.max(...own.map((one) => one.behaviour.length))));
  const own = perProblem(parallel.judged, samples).map((all) =>
    meanAtK(
      all.map((one) => one.correct),
      samples,
    ),
  );
  const gain = bootstrap(
    own.map((mean, i) => mean - meanAtK(answers[i].correct, samples)),
    foldKey(context.key, RESAMPLE),
  );
  return {
    set: `${set.name}, self-consistency`,
    metrics: {
      accuracy: report.scores.mean.value,
      'tokens/total': total,
      'tokens/critical': critical,
      'tokens/saved': 1 - critical / total,
      ...scoreMetrics(report.scores),
      'eval/votes': n,
      'eval/parallel_gain': gain.value,
      'eval/parallel_gain_low': gain.low,
      'eval/parallel_gain_high': gain.high,
    },
    report,
  };
}

const average = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;

function reportOf(
  context: EvaluateContext,
  way: Pick<EvaluationReport, 'mode' | 'greedy' | 'votes' | 'samples'>,
  answers: readonly Answers[],
): EvaluationReport {
  const labels = context.problems[way.mode].map((problem) => problem.difficulty);
  const scores = (own: readonly Answers[]) =>
    scoresOf(own, way.samples, context.set.ks, foldKey(context.key, RESAMPLE));
  return {
    ...way,
    scores: scores(answers),
    byDifficulty: Object.fromEntries(
      [...new Set(labels)].map((label) => [label, scores(answers.filter((_, i) => labels[i] === label))]),
    ),
  };
}

function scoresOf(answers: readonly Answers[], samples: number, ks: readonly number[], key: number): Scores {
  const all = [...new Set([...ks.filter((k) => k < samples), samples])].sort((a, b) => a - b);
  const over = (of: (one: Answers) => number) => estimate(answers.map(of), key);
  return {
    problems: answers.length,
    mean: over((one) => meanAtK(one.correct, samples)),
    pass: all.map((k) => ({
      k,
      // No k is above the samples, so none is null.
      ...over((one) => passAtK(samples, one.correct.filter(Boolean).length, k)!),
    })),
    maj: all.map((k) => ({ k, ...over((one) => majOfGroups(one.answers, one.correct, k)) })),
  };
}

/** What charts draw: the scores at k = all samples. */
function scoreMetrics({ mean, pass, maj }: Scores): Metrics {
  const [allPass, allMaj] = [pass, maj].map((curve) => curve[curve.length - 1]);
  return {
    'eval/mean@k': mean.value,
    'eval/mean@k_low': mean.low,
    'eval/mean@k_high': mean.high,
    'eval/pass@k': allPass.value,
    'eval/pass@k_low': allPass.low,
    'eval/pass@k_high': allPass.high,
    'eval/maj@k': allMaj.value,
    'eval/maj@k_low': allMaj.low,
    'eval/maj@k_high': allMaj.high,
  };
}
