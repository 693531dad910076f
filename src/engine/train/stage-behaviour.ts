/**
 * Behaviour shift over a stage (Parallel-R1, Figure 3): how forks, paths and costs moved from its first steps to its
 * last. The curves themselves are the metrics of its steps; this is what one line of a report says of them.
 */
import type { Metrics } from './events.ts';
import { METRICS, type MetricName } from './metrics.ts';

/** A metric's mean over the first steps that have it, over the last ones, and over all. */
export interface Shift {
  first: number;
  last: number;
  mean: number;
}

export type StageBehaviour = Partial<Record<MetricName, Shift>>;

/** First and last steps are a fifth of the stage each, since a single step is noisy, but no more than this. */
const MOST_STEPS = 10;

const BEHAVIOUR = (Object.keys(METRICS) as MetricName[]).filter((name) =>
  /^(?:parallel|tokens)\//.test(name),
);

/** @param steps metrics of the stage's steps, in order; a metric that no step has is left out */
export function stageBehaviour(steps: readonly Metrics[]): StageBehaviour {
  const shifts: StageBehaviour = {};
  for (const name of BEHAVIOUR) {
    const values = steps.flatMap((metrics) => metrics[name] ?? []);
    if (values.length === 0) continue;
    const edge = Math.min(MOST_STEPS, Math.ceil(values.length / 5));
    shifts[name] = {
      first: mean(values.slice(0, edge)),
      last: mean(values.slice(-edge)),
      mean: mean(values),
    };
  }
  return shifts;
}

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
