/** From the page's state to what the charts take. */
import type { Band, Series } from '../../charts/chart-lines.ts';
import type { XAxisKind } from '../../store/chart-view.ts';
import type { StudioState } from '../../store/studio-state.ts';
import { type ChartSpec, SET_COLORS, valuesOf } from './chart-specs.ts';

export function bandsOf({ stages, log }: StudioState): Band[] {
  return stages
    .filter((stage) => stage.firstRow >= 0)
    .map((stage, i, begun) => ({
      name: stage.name,
      from: stage.firstRow,
      to: Math.max(stage.firstRow, (begun[i + 1]?.firstRow ?? log.length) - 1),
    }));
}

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
