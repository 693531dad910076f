/** Which metrics share a chart. Colours are Okabe and Ito's, lighter ones on dark. */
import type { MetricName } from '../../../worker/protocol.ts';

export interface ChartLine {
  metric: MetricName;
  name: string;
  color: string;
  dash?: string;
}

export interface ChartSpec {
  title: string;
  lines: readonly ChartLine[];
  /** Held-out evaluations, drawn as points: metric of the evaluation of each set. */
  evaluation?: MetricName;
  domain?: readonly [number, number];
}

const BLUE = 'light-dark(#0072b2, #56b4e9)';
const ORANGE = 'light-dark(#d55e00, #e69f00)';
const GREEN = 'light-dark(#009e73, #2fc79a)';

export const CHARTS: readonly ChartSpec[] = [
  {
    title: 'Accuracy',
    lines: [{ metric: 'accuracy', name: 'training', color: BLUE }],
    evaluation: 'eval/mean@k',
    domain: [0, 1],
  },
  { title: 'Reward', lines: [{ metric: 'reward', name: 'reward', color: BLUE }] },
  {
    title: 'Behaviour shift',
    lines: [
      { metric: 'parallel/first_relative_position', name: 'first fork at', color: BLUE },
      { metric: 'parallel/late_share', name: 'late forks', color: ORANGE, dash: '6 3' },
      { metric: 'parallel/path_agreement', name: 'paths agree', color: GREEN, dash: '2 3' },
    ],
    domain: [0, 1],
  },
  {
    title: 'Parallel thinking',
    lines: [
      { metric: 'parallel/ratio', name: 'with a block', color: BLUE },
      { metric: 'parallel/valid_ratio', name: 'valid format', color: ORANGE, dash: '6 3' },
    ],
    domain: [0, 1],
  },
  { title: 'Loss', lines: [{ metric: 'loss', name: 'loss', color: BLUE }] },
  { title: 'Entropy', lines: [{ metric: 'entropy', name: 'entropy', color: BLUE }] },
  {
    title: 'Length',
    lines: [
      { metric: 'tokens/total', name: 'tokens', color: BLUE },
      { metric: 'tokens/critical', name: 'critical path', color: ORANGE, dash: '6 3' },
    ],
  },
  { title: 'Speed', lines: [{ metric: 'perf/tokens_per_second', name: 'tokens/s', color: BLUE }] },
];

/** Colours of held-out sets, in order. */
export const SET_COLORS = [GREEN, ORANGE, '#cc79a7', BLUE] as const;
