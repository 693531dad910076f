/** From the page's state to what the charts take. */
import type { Series } from '../../charts/chart-lines.ts';
import { SET_COLORS } from '../../charts/line-styles.ts';
import type { XAxisKind } from '../../store/chart-view.ts';
import type { StudioState } from '../../store/studio-state.ts';
import { type ChartSpec, valuesOf } from './chart-specs.ts';

/** Where each row stands on the x axis; null: rows are steps. */
export function placesOf(axis: XAxisKind, { log }: StudioState): ArrayLike<number> | null {
  if (axis === 'step') return null;
  return log.column(axis === 'tokens' ? 'num_tokens' : 'time');
}

export function seriesOf(spec: ChartSpec, { log, evaluations }: StudioState): Series[] {
  const lines: Series[] = spec.lines
    .filter((line) => log.has(line.metric))
    .map((line) => ({
      name: line.name,
      color: line.color,
      dash: line.dash,
      values: valuesOf(line, log),
      reference: line.formula !== undefined,
    }));
  const { evaluation } = spec;
  if (!evaluation) return lines;
  const sets = [...new Set(evaluations.map(({ set }) => set))];
  const points = sets.map((set, i) => ({
    name: `held-out ${set}`,
    color: SET_COLORS[i % SET_COLORS.length],
    dash: '1 4',
    values: [],
    points: evaluations.flatMap(({ set: other, row, metrics }) => {
      const value = metrics[evaluation];
      if (other !== set || value === undefined) return [];
      const [low, high] = [metrics[`${evaluation}_low`], metrics[`${evaluation}_high`]];
      return [{ row: Math.max(0, row - 1), value, low, high }];
    }),
  }));
  return [...lines, ...points.filter((one) => one.points.length > 0)];
}

export const hasData = (spec: ChartSpec, { log, evaluations }: StudioState): boolean =>
  spec.lines.some((line) => log.has(line.metric)) ||
  (spec.evaluation !== undefined &&
    evaluations.some(({ metrics }) => metrics[spec.evaluation!] !== undefined));
