/** A chart of a few metrics over the steps of a run: a pure function of its data. */
import {
  CartesianGrid,
  Line,
  LineChart,
  ReferenceArea,
  ResponsiveContainer,
  Tooltip,
  XAxis,
  YAxis,
} from 'recharts';
import { formatNumber } from '../store/format.ts';
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
  from: number;
  to: number;
}

export interface MetricChartProps {
  series: readonly Series[];
  bands: readonly Band[];
  /** Fixed range, for shares. */
  domain?: readonly [number, number];
  height?: number;
  /** Fixed width, where there is no container to fill (tests). */
  width?: number;
}

const MOST_POINTS = 400;
const SMOOTHING = 0.9;

type Row = { x: number } & Record<string, number | null>;

/** Rows for recharts: the raw line, its smoothed one and single points, merged on x. */
export function chartRows(series: readonly Series[], bands: readonly Band[]): Row[] {
  const restarts = bands.map((band) => band.from);
  const rows = new Map<number, Row>();
  const put = (x: number, key: string, y: number | null): void => {
    const row = rows.get(x) ?? ({ x } as Row);
    row[key] = y;
    rows.set(x, row);
  };
  for (const { name, values, points } of series) {
    if (points) {
      for (const [x, y] of points) put(x, name, y);
      continue;
    }
    for (const { x, y } of thin(values, MOST_POINTS)) put(x, `${name} raw`, y);
    for (const { x, y } of thin(smooth(values, SMOOTHING, restarts), MOST_POINTS)) put(x, name, y);
  }
  return [...rows.values()].sort((a, b) => a.x - b.x);
}

export function MetricChart({ series, bands, domain, height = 180, width }: MetricChartProps) {
  const rows = chartRows(series, bands);
  const line = (s: Series, raw: boolean) => (
    <Line
      key={raw ? `${s.name} raw` : s.name}
      dataKey={raw ? `${s.name} raw` : s.name}
      name={raw ? `${s.name} (each step)` : s.name}
      stroke={s.color}
      strokeOpacity={raw ? 0.25 : 1}
      strokeWidth={raw ? 1 : 2}
      strokeDasharray={raw ? undefined : s.dash}
      dot={s.points ? { r: 3.5, fill: s.color, strokeWidth: 0 } : false}
      connectNulls={!raw}
      isAnimationActive={false}
      legendType="none"
      tooltipType={raw ? 'none' : undefined}
    />
  );
  const chart = (
    <LineChart
      data={rows}
      margin={{ top: 8, right: 8, bottom: 0, left: 0 }}
      width={width}
      height={width ? height : undefined}
    >
      <CartesianGrid stroke="currentColor" strokeOpacity={0.08} vertical={false} />
      {bands.map((band, i) => (
        <ReferenceArea
          key={band.name}
          x1={band.from}
          x2={band.to}
          fill="currentColor"
          fillOpacity={i % 2 === 0 ? 0.035 : 0}
          ifOverflow="hidden"
        />
      ))}
      <XAxis
        dataKey="x"
        type="number"
        domain={['dataMin', 'dataMax']}
        tick={{ fontSize: 11, fill: 'currentColor', opacity: 0.6 }}
        tickLine={false}
        axisLine={false}
        allowDecimals={false}
        tickFormatter={(x: number) => String(x + 1)}
      />
      <YAxis
        domain={domain ? [...domain] : ['auto', 'auto']}
        width={44}
        tick={{ fontSize: 11, fill: 'currentColor', opacity: 0.6 }}
        tickLine={false}
        axisLine={false}
        tickFormatter={formatNumber}
        allowDataOverflow={false}
      />
      <Tooltip
        labelFormatter={(x) => `step ${Number(x) + 1}`}
        formatter={(value) => formatNumber(Number(value))}
        contentStyle={{
          background: 'var(--mantine-color-body)',
          border: '1px solid var(--mantine-color-default-border)',
          borderRadius: 8,
          fontSize: 12,
        }}
        isAnimationActive={false}
      />
      {series.filter((s) => !s.points).map((s) => line(s, true))}
      {series.map((s) => line(s, false))}
    </LineChart>
  );
  if (width) return chart;
  return (
    <ResponsiveContainer width="100%" height={height}>
      {chart}
    </ResponsiveContainer>
  );
}
