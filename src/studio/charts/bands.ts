import type { StudioState } from '../store/studio-state.ts';
import type { Band } from './chart-lines.ts';

/** Where each stage that began lies among the rows of the log. */
export function bandsOf({ stages, log }: Pick<StudioState, 'stages' | 'log'>): Band[] {
  return stages
    .filter((stage) => stage.firstRow >= 0)
    .map((stage, i, begun) => ({
      name: stage.name,
      from: stage.firstRow,
      to: Math.max(stage.firstRow, (begun[i + 1]?.firstRow ?? log.length) - 1),
    }));
}
