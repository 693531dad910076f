/** What a chart draws, worked out from columns of numbers: rows, bands, ranges. No React here. */
import { smooth, thin } from './series.ts';

export interface Series {
  name: string;
  /** One value a step; NaN is a gap. */
  values: ArrayLike<number>;
  /** CSS colour; lines differ in dashes too, for eyes that do not tell colours apart. */
  color: string;
  dash?: string;
  /** Single points (held-out evaluations) instead of a line: [row, value]. */
  points?: readonly (readonly [number, number])[];
}

/** A stretch of steps, drawn as a band behind the lines. */
export interface Band {
  name: string;
  /** First and last row. */
  from: number;
  to: number;
}

export type Row = { x: number } & Record<string, number | null>;

const MOST_POINTS = 400;
const SMOOTHING = 0.9;

/** The first row at which anything is known: rewards begin after thousands of supervised steps. */
function beginningOf(series: readonly Series[]): number {
  let first = Number.POSITIVE_INFINITY;
  for (const { values, points } of series) {
    for (const [x] of points ?? []) first = Math.min(first, x);
    for (let i = 0; i < values.length && i < first; i++) if (!Number.isNaN(values[i])) first = i;
  }
  return first;
}

/**
 * Rows for recharts, with the raw value, the smoothed one and single points of every series. All lines share the rows:
 * a line that had none on a row would seem to have a gap there.
 */
export function chartRows(series: readonly Series[], bands: readonly Band[]): Row[] {
  const first = beginningOf(series);
  if (first === Number.POSITIVE_INFINITY) return [];
  const lines = series.filter(({ points }) => !points);
  const restarts = bands.map((band) => band.from);
  const most = Math.floor(Math.max(100, MOST_POINTS - 2 * bands.length) / Math.max(1, lines.length));
  const places = new Set<number>(series.flatMap(({ points }) => (points ?? []).map(([x]) => x)));
  const smoothed = lines.map(({ values }) => smooth(values, SMOOTHING, restarts));
  for (const { values } of lines) {
    const tail = Array.prototype.slice.call(values, first) as number[];
    for (const { x } of thin(tail, most)) places.add(first + x);
    // The average begins anew where a stage does; the line must show that step.
    for (const { from, to } of bands)
      for (const x of [from, to]) if (x >= first && x < values.length) places.add(x);
  }
  const known = (values: ArrayLike<number>, x: number): number | null =>
    x >= values.length || Number.isNaN(values[x]) ? null : values[x];
  const rows = new Map<number, Row>();
  for (const x of [...places].sort((a, b) => a - b)) {
    const row: Row = { x };
    lines.forEach(({ name, values }, i) => {
      row[`${name} raw`] = known(values, x);
      row[name] = known(smoothed[i], x);
    });
    rows.set(x, row);
  }
  for (const { name, points } of series) for (const [x, y] of points ?? []) rows.get(x)![name] = y;
  return [...rows.values()];
}

/** Lowest and highest of all values in the rows; null where there are none. */
export function extentOf(rows: readonly Row[]): [number, number] | null {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const row of rows)
    for (const [key, value] of Object.entries(row)) {
      if (key === 'x' || value === null) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  return low <= high ? [low, high] : null;
}

/** "rl-hard, step 12": where a row is in its stage. */
export function placeOf(row: number, bands: readonly Band[]): string {
  const band = bands.find(({ from, to }) => row >= from && row <= to);
  return band ? `${band.name}, step ${row - band.from + 1}` : `step ${row + 1}`;
}
