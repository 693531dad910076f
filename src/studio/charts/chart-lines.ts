/** What a chart draws, worked out from columns of numbers: thinned lines, ranges, places. No React here. */
import { type Samples, smooth, thin } from './series.ts';

/** A single value (a held-out evaluation) with its 95 % interval, where there is one. */
export interface ChartPoint {
  row: number;
  value: number;
  low?: number;
  high?: number;
}

export interface Series {
  name: string;
  /** One value a row; NaN is a gap. */
  values: ArrayLike<number>;
  /** CSS colour; lines differ in dashes too, for eyes that do not tell colours apart. */
  color: string;
  dash?: string;
  /** Single points instead of a line. */
  points?: readonly ChartPoint[];
  /** Ends of an interval around the line, one a row: over seeds, say. */
  interval?: { low: ArrayLike<number>; high: ArrayLike<number> };
  /** Drawn thin and as it is: a reference, not a measurement. */
  reference?: boolean;
}

/** A stretch of rows, drawn as a band behind the lines. */
export interface Band {
  name: string;
  /** First and last row. */
  from: number;
  to: number;
}

/** Something that happened at a row. */
export interface Mark {
  row: number;
  text: string;
  kind: 'edit' | 'info' | 'warning';
}

export interface DrawnLine {
  series: Series;
  /** Null for single points. */
  raw: Samples | null;
  /** The moving average; null where the raw line is drawn as the line. */
  trend: Samples | null;
  interval: { low: Samples; high: Samples } | null;
  points: readonly ChartPoint[];
}

export interface LineSettings {
  smoothing: number;
  bands: readonly Band[];
  /** Rows that are looked at; null for all from the first known one. */
  range: readonly [number, number] | null;
  /** Most samples of one line; about one a pixel. */
  most: number;
}

export interface Drawing {
  lines: DrawnLine[];
  /** First and last row. */
  from: number;
  to: number;
}

/** The first row at which anything is known: rewards begin after thousands of supervised steps. */
function beginningOf(series: readonly Series[]): number {
  let first = Number.POSITIVE_INFINITY;
  for (const { values, points, reference } of series) {
    if (reference) continue;
    for (const { row } of points ?? []) first = Math.min(first, row);
    for (let i = 0; i < values.length && i < first; i++) if (!Number.isNaN(values[i])) first = i;
  }
  return first;
}

const endOf = (series: readonly Series[]): number =>
  Math.max(
    ...series.map(({ values, points }) =>
      Math.max(values.length - 1, ...(points ?? []).map(({ row }) => row)),
    ),
  );

/** Null where nothing is known yet. */
export function chartLines(
  series: readonly Series[],
  { smoothing, bands, range, most }: LineSettings,
): Drawing | null {
  const first = beginningOf(series);
  if (first === Number.POSITIVE_INFINITY) return null;
  const last = endOf(series);
  const from = Math.max(first, Math.min(range?.[0] ?? first, last));
  const to = Math.max(from, Math.min(range?.[1] ?? last, last));
  const restarts = bands.map((band) => band.from);
  const cut = (values: ArrayLike<number>) => thin(values, most, from, Math.min(to, values.length - 1));
  const lines = series.map((one): DrawnLine => {
    const { values, points, interval, reference } = one;
    const within = (points ?? []).filter(({ row }) => row >= from && row <= to);
    if (points) return { series: one, raw: null, trend: null, interval: null, points: within };
    const smoothed = smoothing > 0 && !reference && !interval;
    return {
      series: one,
      raw: cut(values),
      trend: smoothed ? cut(smooth(values, smoothing, restarts)) : null,
      interval: interval ? { low: cut(interval.low), high: cut(interval.high) } : null,
      points: [],
    };
  });
  return { lines, from, to };
}

/** Lowest and highest of what is drawn; null where there is nothing. A log axis shows only what is above 0. */
export function extentOf(lines: readonly DrawnLine[], log: boolean): [number, number] | null {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  const see = (value: number | undefined): void => {
    if (value === undefined || !Number.isFinite(value) || (log && value <= 0)) return;
    low = Math.min(low, value);
    high = Math.max(high, value);
  };
  for (const { raw, trend, interval, points } of lines) {
    for (const samples of [raw, trend, interval?.low, interval?.high]) samples?.values.forEach(see);
    for (const point of points) for (const value of [point.value, point.low, point.high]) see(value);
  }
  return low <= high ? [low, high] : null;
}

/** "rl-hard, step 12": where a row is in its stage. */
export function placeOf(row: number, bands: readonly Band[]): string {
  const band = bands.find(({ from, to }) => row >= from && row <= to);
  return band ? `${band.name}, step ${row - band.from + 1}` : `step ${row + 1}`;
}

/** Value of a series at a row, raw; its point there, if it has points. NaN where nothing is known. */
export function valueAt({ values, points }: Series, row: number): number {
  if (points) return points.findLast((point) => point.row <= row)?.value ?? Number.NaN;
  return values[row] ?? Number.NaN;
}
