/** Where values stand on the drawing. */
import type { Samples } from './series.ts';

/** Margins of the drawing around the plot: room for the ticks. */
export const MARGIN = { left: 44, right: 10, top: 8, bottom: 22 } as const;

export interface Size {
  width: number;
  height: number;
}

export interface Plot extends Size {
  /** Pixels, of a row and of a value; NaN where a log axis has no place for it. */
  x(row: number): number;
  y(value: number): number;
  /** The row nearest to a pixel. */
  rowAt(x: number): number;
  /** Range of x in its unit, and of y (its logarithm on a log axis). */
  xDomain: readonly [number, number];
  yDomain: readonly [number, number];
}

export interface PlotSettings extends Size {
  /** Place of each row on the x axis, rising; null: the row itself. */
  xs: ArrayLike<number> | null;
  from: number;
  to: number;
  yDomain: readonly [number, number];
  log: boolean;
  /** The x axis ends at the last row exactly; else it ends at a round place behind, and the frame rarely changes. */
  tight: boolean;
}

/** A little behind the end, so that a growing line reaches it only once in a while. */
export function stableEnd(from: number, to: number): number {
  const range = to - from;
  if (range <= 0) return from + 1;
  const step = 10 ** Math.floor(Math.log10(range)) / 10;
  return from + step * Math.ceil(range / step - 1e-9);
}

export function plotOf({ xs, from, to, yDomain, log, tight, ...size }: PlotSettings): Plot {
  const width = Math.max(1, size.width - MARGIN.left - MARGIN.right);
  const height = Math.max(1, size.height - MARGIN.top - MARGIN.bottom);
  const place = (row: number): number => (xs ? (xs[row] ?? Number.NaN) : row);
  const start = place(from);
  const end = tight ? Math.max(place(to), start + Number.EPSILON) : stableEnd(start, place(to));
  const span = end - start || 1;
  const [low, high] = yDomain;
  const rise = high - low || 1;
  const x = (row: number): number => MARGIN.left + ((place(row) - start) / span) * width;
  return {
    width,
    height,
    x,
    y: (value) => MARGIN.top + height - (((log ? Math.log10(value) : value) - low) / rise) * height,
    rowAt(pixel) {
      // The rows' places rise: halve the stretch until two are left.
      let [a, b] = [from, to];
      while (b - a > 1) {
        const middle = (a + b) >> 1;
        if (x(middle) <= pixel) a = middle;
        else b = middle;
      }
      return pixel - x(a) <= x(b) - pixel ? a : b;
    },
    xDomain: [start, end],
    yDomain,
  };
}

/** A line through the samples, with gaps. A value alone between two gaps is a stroke of no length: a dot with round ends. */
export function pathOf({ rows, values }: Samples, { x, y }: Plot): string {
  let path = '';
  let pen = false;
  for (let i = 0; i < rows.length; i++) {
    const [px, py] = [x(rows[i]), y(values[i])];
    if (!Number.isFinite(px) || !Number.isFinite(py)) {
      pen = false;
      continue;
    }
    const here = `${px.toFixed(1)} ${py.toFixed(1)}`;
    path += pen ? `L${here}` : `M${here}L${here}`;
    pen = true;
  }
  return path;
}

/** The area between two lines; a stretch ends where either has a gap. */
export function areaOf(low: Samples, high: Samples, { x, y }: Plot): string {
  let path = '';
  let stretch: [number, number, number][] = [];
  const close = (): void => {
    if (stretch.length > 1) {
      const there = stretch.map(([px, , top]) => `${px.toFixed(1)} ${top.toFixed(1)}`);
      const back = stretch.toReversed().map(([px, bottom]) => `${px.toFixed(1)} ${bottom.toFixed(1)}`);
      path += `M${[...there, ...back].join('L')}Z`;
    }
    stretch = [];
  };
  // Both ends are thinned by themselves: each is read at the other's rows.
  const bottomAt = new Map(low.rows.map((row, i) => [row, low.values[i]]));
  high.rows.forEach((row, i) => {
    const bottom = bottomAt.get(row);
    if (bottom === undefined) return;
    const [px, a, b] = [x(row), y(bottom), y(high.values[i])];
    if ([px, a, b].every(Number.isFinite)) stretch.push([px, a, b]);
    else close();
  });
  close();
  return path;
}
