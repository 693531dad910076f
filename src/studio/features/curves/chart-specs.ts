/** Which metrics share a chart, and which charts stand together. */
import { METRICS, type MetricName } from '../../../worker/protocol.ts';
import { COLORS, DASHES, GREEN } from '../../charts/line-styles.ts';
import type { MetricLog } from '../../store/metric-log.ts';

export interface ChartLine {
  metric: MetricName;
  name: string;
  color: string;
  dash?: string;
  /** Worked out from the metric instead of logged; drawn thin. */
  formula?: { of(value: number): number; help: string };
}

export interface ChartSpec {
  title: string;
  lines: readonly ChartLine[];
  /** Held-out evaluations, drawn as points: metric of the evaluation of each set. */
  evaluation?: MetricName;
  domain?: readonly [number, number];
  /** What must be known to read it. */
  note?: string;
}

export interface ChartGroup {
  title: string;
  charts: readonly ChartSpec[];
}

const SHARE = [0, 1] as const;

/** Lines in the order of colours and dashes. */
const lines = (...pairs: readonly (readonly [MetricName, string])[]): ChartLine[] =>
  pairs.map(([metric, name], i) => ({ metric, name, color: COLORS[i % 4], dash: DASHES[i % 4] }));

export const GROUPS: readonly ChartGroup[] = [
  {
    title: 'What it learns',
    charts: [
      {
        title: 'Accuracy',
        lines: lines(['accuracy', 'training']),
        evaluation: 'eval/mean@k',
        domain: SHARE,
      },
      { title: 'Reward', lines: lines(['reward', 'reward'], ['reward_std', 'spread']) },
      {
        title: 'Behaviour shift',
        lines: lines(
          ['parallel/first_relative_position', 'first fork at'],
          ['parallel/late_share', 'late forks'],
          ['parallel/path_agreement', 'paths agree'],
        ),
        domain: SHARE,
      },
      {
        title: 'Exploring or verifying',
        lines: lines(
          ['parallel/exploration_share', 'exploring'],
          ['parallel/verification_share', 'verifying'],
          ['parallel/rederived_share', 're-derived'],
        ),
        domain: SHARE,
      },
      {
        title: 'Parallel thinking',
        lines: lines(['parallel/ratio', 'with a block'], ['parallel/valid_ratio', 'valid format']),
        domain: SHARE,
      },
      {
        title: 'What the vote is worth',
        lines: [
          ...lines(['accuracy', 'measured'], ['parallel/path_accuracy', 'one path, q']),
          {
            metric: 'parallel/path_accuracy',
            name: 'theory, late fork',
            color: GREEN,
            dash: '2 3',
            formula: {
              of: (q) => q * (1 + q - q * q),
              help: 'q(1 + q − q²): what three votes of independent derivations, each right with probability q, come to when wrong answers all differ. An early fork of two paths comes to q itself.',
            },
          },
        ],
        domain: SHARE,
      },
      {
        title: 'Majority of several samples',
        lines: [],
        evaluation: 'eval/maj@k',
        domain: SHARE,
        note: 'Self-consistency: a set of three sequential samples costs about as many tokens as one response with a fork.',
      },
    ],
  },
  {
    title: 'How it writes',
    charts: [
      {
        title: 'Length',
        lines: lines(['tokens/total', 'tokens'], ['tokens/critical', 'critical path']),
      },
      { title: 'Saved by forking', lines: lines(['tokens/saved', 'saved']), domain: SHARE },
      { title: 'Entropy', lines: lines(['entropy', 'entropy']) },
      {
        title: 'Paths',
        lines: lines(
          ['parallel/self_bleu', 'alike (self-BLEU)'],
          ['parallel/answer_disagreement', 'answers disagree'],
        ),
        domain: SHARE,
      },
      {
        title: 'Signs of a gamed reward',
        lines: lines(
          ['hack/identical_paths', 'identical paths'],
          ['hack/unsupported_answer', 'answer without a path'],
          ['hack/several_answers', 'several answers'],
          ['hack/repeated_blocks', 'repeated blocks'],
        ),
        domain: SHARE,
      },
      {
        title: 'Faults of form',
        lines: lines(
          ['hack/empty_paths', 'empty paths'],
          ['hack/missing_summary', 'no summary'],
          ['hack/nested_block', 'nested blocks'],
          ['hack/stray_tags', 'stray tags'],
        ),
        domain: SHARE,
      },
    ],
  },
  {
    title: 'The optimiser',
    charts: [
      {
        title: 'Loss',
        lines: lines(['loss', 'loss']),
        note: 'In GRPO with one update per batch of rollouts and no KL term the loss is about 0 by construction: that is no fault. Look at reward and accuracy.',
      },
      { title: 'Gradient norm', lines: lines(['grad_norm', 'before clipping']) },
      { title: 'Learning rate', lines: lines(['learning_rate', 'learning rate']) },
      {
        title: 'Clipped tokens',
        lines: lines(['clip_ratio/high_mean', 'from above'], ['clip_ratio/low_mean', 'from below']),
      },
      { title: 'KL to the reference', lines: lines(['kl', 'KL']) },
      {
        title: 'Groups that teach nothing',
        lines: lines(['frac_reward_zero_std', 'all equal']),
        domain: SHARE,
      },
      {
        title: 'Rollout against training',
        lines: lines(
          ['sampling/logp_difference/max', 'largest difference'],
          ['sampling/logp_difference/mean', 'mean difference'],
        ),
      },
    ],
  },
  {
    title: 'The machine',
    charts: [
      { title: 'Speed', lines: lines(['perf/tokens_per_second', 'tokens/s']) },
      {
        title: 'Where the time goes',
        lines: lines(
          ['perf/rollout_seconds', 'rollouts'],
          ['perf/train_seconds', 'training'],
          ['perf/reward_seconds', 'rewards'],
        ),
      },
    ],
  },
];

export const CHARTS: readonly ChartSpec[] = GROUPS.flatMap(({ charts }) => charts);

/** The words behind a chart's title. */
export function helpOf(spec: ChartSpec): string {
  const texts = spec.lines.map(({ metric, formula }) => formula?.help ?? METRICS[metric].help);
  if (spec.evaluation) texts.push(`Points are held-out problems: ${METRICS[spec.evaluation].help}`);
  return texts.join(' ');
}

/** Values of a line, one a row of the log. */
export function valuesOf({ metric, formula }: ChartLine, log: MetricLog): ArrayLike<number> {
  const values = log.column(metric);
  return formula ? values.map(formula.of) : values;
}
