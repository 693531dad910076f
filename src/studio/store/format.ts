/** How numbers and times are written on the page. */

// Made once: toLocaleString makes a formatter for every number, which shows on axes.
const grouped = new Intl.NumberFormat('en');

/** "12,345" */
export const formatCount = (value: number): string => grouped.format(value);

/** 3 significant digits where they say something; – for a gap. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size >= 1e5 || size < 1e-3) return value.toExponential(1);
  if (size >= 100) return formatCount(Math.round(value));
  return String(Number(value.toPrecision(3)));
}

/** "0 B", "3.4 MB"; decimal units, as files are told of. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB'];
  let at = 0;
  let value = bytes;
  while (value >= 999.5 && at < units.length - 1) {
    value /= 1000;
    at++;
  }
  return `${at === 0 || value >= 99.95 ? Math.round(value) : Number(value.toFixed(1))} ${units[at]}`;
}

/** For the ticks of an axis, which have little room: "50k". */
export function formatTick(value: number): string {
  if (Math.abs(value) >= 1e6) return `${value / 1e6}M`;
  return Math.abs(value) >= 1e4 ? `${value / 1000}k` : formatNumber(value);
}

/** "42 s", "3 min 10 s", "1 h 5 min". */
export function formatDuration(seconds: number | null): string {
  if (seconds === null || !Number.isFinite(seconds)) return '–';
  if (seconds > 0 && seconds < 0.5) return 'under 1 s';
  const s = Math.round(seconds);
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
}

/** "just now", "3 minutes ago", "2 days ago". */
export function formatAge(milliseconds: number): string {
  const minutes = Math.floor(milliseconds / 60_000);
  const say = (count: number, unit: string) => `${count} ${unit}${count === 1 ? '' : 's'} ago`;
  if (minutes < 1) return 'just now';
  if (minutes < 60) return say(minutes, 'minute');
  if (minutes < 24 * 60) return say(Math.floor(minutes / 60), 'hour');
  return say(Math.floor(minutes / (24 * 60)), 'day');
}
