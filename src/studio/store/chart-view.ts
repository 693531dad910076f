/** How all charts are looked at: one crosshair, one stretch of steps, one smoothing. Kept for the next visit. */
import { create } from 'zustand';

export const X_AXES = ['step', 'tokens', 'time'] as const;
export type XAxisKind = (typeof X_AXES)[number];

export interface ChartView {
  /** Row of the log under the pointer, or null. Narrow: charts draw it without drawing their lines again. */
  cursor: number | null;
  /** Rows that are looked at; null for all. */
  range: readonly [number, number] | null;
  /** Share of the past in the moving average, 0 (none) to 0.99. */
  smoothing: number;
  axis: XAxisKind;
  log: boolean;
}

const KEY = 'polypath.charts';
const DEFAULTS: ChartView = { cursor: null, range: null, smoothing: 0.9, axis: 'step', log: false };

/** What an earlier visit chose; nonsense counts for nothing. */
export function readKept(text: string | null): Pick<ChartView, 'smoothing' | 'axis' | 'log'> {
  const { smoothing, axis, log } = DEFAULTS;
  try {
    const kept = JSON.parse(text ?? '{}') as Record<string, unknown>;
    const known = X_AXES.find((one) => one === kept.axis);
    const share = Number(kept.smoothing);
    return {
      smoothing: kept.smoothing !== undefined && share >= 0 && share <= 0.99 ? share : smoothing,
      axis: known ?? axis,
      log: kept.log === true,
    };
  } catch {
    return { smoothing, axis, log };
  }
}

const storage = (): Storage | null => {
  try {
    return globalThis.localStorage ?? null;
  } catch {
    return null; // a page may be denied its storage
  }
};

export const useChartView = create<ChartView>(() => ({
  ...DEFAULTS,
  ...readKept(storage()?.getItem(KEY) ?? null),
}));

export function setChartView(change: Partial<Pick<ChartView, 'smoothing' | 'axis' | 'log'>>): void {
  useChartView.setState(change);
  const { smoothing, axis, log } = useChartView.getState();
  storage()?.setItem(KEY, JSON.stringify({ smoothing, axis, log }));
}

export function setCursor(cursor: number | null): void {
  if (useChartView.getState().cursor !== cursor) useChartView.setState({ cursor });
}

export function setRange(range: ChartView['range']): void {
  useChartView.setState({ range });
}
