/** Round numbers for an axis. */
import { formatTick } from '../store/format.ts';

export interface Axis {
  domain: [number, number];
  ticks: number[];
}

const MOST_TICKS = 5;
/** Values may stick out of the last tick by this share of the range: a loss of −0.004 needs no tick at −1. */
const OVERHANG = 0.02;
/** Values that differ by less than this share of their size differ by rounding alone. */
const SAME = 1e-9;

/** The smallest round step that covers the range in `MOST_TICKS` ticks. */
function stepOf(range: number, factors: readonly number[], most = MOST_TICKS): number {
  const least = range / (most - 1);
  const power = 10 ** Math.floor(Math.log10(least));
  return power * (factors.find((factor) => factor * power >= least * (1 - 1e-9)) ?? 10);
}

const times = (from: number, to: number, step: number): number[] =>
  // Multiplied, not added up, and rounded: 3 · 0.1 must read 0.3.
  Array.from({ length: to - from + 1 }, (_, i) => Number(((from + i) * step).toPrecision(12)));

/** An axis that covers low to high. A constant stands in the middle of a range of its own size. */
export function axisOf(low: number, high: number): Axis {
  if (high - low <= SAME * Math.max(Math.abs(low), Math.abs(high))) {
    const room = (Math.abs(high) || 1) / 2;
    return axisOf(high - room, high + room);
  }
  const range = high - low;
  const step = stepOf(range, [1, 2, 2.5, 5]);
  const ticks = times(
    Math.floor((low + OVERHANG * range) / step),
    Math.ceil((high - OVERHANG * range) / step),
    step,
  );
  return { domain: [Math.min(low, ticks[0]), Math.max(high, ticks[ticks.length - 1])], ticks };
}

/** How a tick is written: short, with as many digits as it takes to tell it from its neighbours. */
export function tickLabel(tick: number, { ticks }: Axis): string {
  if (new Set(ticks.map(formatTick)).size === ticks.length) return formatTick(tick);
  const digits = Math.ceil(-Math.log10(ticks[1] - ticks[0])) + 1;
  return String(Number(tick.toFixed(Math.max(0, Math.min(12, digits)))));
}

/** Round steps (counted from 1) between two rows (counted from 0), as rows. */
export function stepTicks(first: number, last: number): number[] {
  if (last <= first) return [first];
  const step = Math.max(1, stepOf(last - first, [1, 2, 5], 2 * MOST_TICKS - 3));
  const ticks = times(Math.ceil((first + 1) / step), Math.floor((last + 1) / step), step);
  return ticks.map((tick) => tick - 1);
}

/** An axis of powers: domain and ticks are logarithms to base 10. */
export function logAxisOf(low: number, high: number): Axis {
  // "+ 0" makes the −0 of Math.ceil(−0.2) a 0.
  const from = Math.floor(Math.log10(low) + 1e-9) + 0;
  const to = Math.max(from + 1, Math.ceil(Math.log10(high) - 1e-9) + 0);
  const step = Math.ceil((to - from) / (MOST_TICKS - 1));
  const powers = Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, i) => from + i * step);
  if (to - from > 1) return { domain: [from, to], ticks: powers };
  // One decade has room for what lies within.
  const within = [2, 5].map((factor) => from + Math.log10(factor));
  return { domain: [from, to], ticks: [from, ...within, to] };
}
