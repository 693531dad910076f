/** Evaluation on held-out problems: several samples of each, judged as in training but never trained on. */
import { foldKey } from '../../base/rng.ts';
import type { Problem } from '../data/example.ts';
import type { Task } from '../data/tasks/task.ts';
import type { Decoder } from '../model/decoder.ts';
import { type GenerateSettings, generate, mapRows } from '../rollout/generate.ts';
import type { Rollout } from '../rollout/row.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import { majAtK, meanAtK, passAtK } from './evaluation-metrics.ts';
import type { Metrics } from './events.ts';
import { type Judged, judge, rolloutMetrics } from './judge.ts';

export interface EvaluateContext {
  model: Decoder;
  tokenizer: Tokenizer;
  task: Task;
  settings: GenerateSettings;
  problems: readonly Problem[];
  /** Samples per problem: k. */
  samples: number;
  /** Stream of random numbers: the same key samples the same way, so two checkpoints meet the same luck. */
  key: number;
}

/** Rows that decode together where nothing else bounds the key/value cache: on a GPU, rollouts queue by themselves. */
const ROWS_AT_ONCE = 256;

/** Yields `null` while it works, so that the caller can look at its commands, and returns the metrics. */
export async function* evaluate(context: EvaluateContext): AsyncGenerator<null, Metrics> {
  const { model, tokenizer, problems, samples } = context;
  const ids = tokenizer.special;
  const requests = problems.flatMap((problem, index) => {
    const prompt = [...(ids.bos >= 0 ? [ids.bos] : []), ...tokenizer.encode(problem.prompt)];
    return Array.from({ length: samples }, (_, sample) => ({
      prompt,
      key: foldKey(context.key, index, sample),
    }));
  });
  const rollouts: Rollout[] = [];
  const atOnce = model.device ? requests.length : ROWS_AT_ONCE;
  for (let start = 0; start < requests.length; start += atOnce) {
    const rows = generate(model, requests.slice(start, start + atOnce), context.settings, ids);
    rollouts.push(...(yield* mapRows(rows, () => null)));
  }
  const judged: Judged[] = rollouts.map((rollout, i) =>
    judge(rollout, problems[Math.floor(i / samples)], context, { kind: 'accuracy' }, 1),
  );
  const perProblem = problems.map((problem, i) => {
    const own = judged.slice(i * samples, (i + 1) * samples);
    return {
      gold: problem.answer,
      answers: own.map((one) => one.answer),
      correct: own.map((one) => one.correct),
    };
  });
  const average = (of: (one: (typeof perProblem)[number]) => number) =>
    perProblem.reduce((sum, one) => sum + of(one), 0) / perProblem.length;
  return {
    ...rolloutMetrics(judged, rollouts, { kind: 'accuracy' }),
    'eval/mean@k': average((one) => meanAtK(one.correct, samples)),
    'eval/pass@k': average((one) => passAtK(samples, one.correct.filter(Boolean).length, samples) ?? 0),
    'eval/maj@k': average((one) => majAtK(one.answers, one.correct, samples)),
  };
}
