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
import { formatCount, formatNumber } from '../store/format.ts';
import { axisOf, stepTicks, tickLabel } from './axis.ts';
import { type Band, chartRows, extentOf, placeOf, type Row, type Series } from './chart-rows.ts';

export interface MetricChartProps {
  series: readonly Series[];
  bands: readonly Band[];
  /** Fixed range, for shares. */
  domain?: readonly [number, number];
  height?: number;
  /** Fixed width, where there is no container to fill (tests). */
  width?: number;
}

/** A band narrower than this share of the chart has no room for its name. */
const NAMED_SHARE = 0.14;

const tick = { fontSize: 11, fill: 'currentColor', opacity: 0.6 };
const tooltipStyle = {
  background: 'var(--mantine-color-body)',
  border: '1px solid var(--mantine-color-default-border)',
  borderRadius: 8,
  fontSize: 12,
};

/** Both the trend and what this very step gave: a smoothed number alone would pass for a measured one. */
function told(value: unknown, name: unknown, row: Row | undefined): string {
  const raw = row?.[`${name} raw`];
  return typeof raw === 'number'
    ? `${formatNumber(Number(value))} (this step ${formatNumber(raw)})`
    : formatNumber(Number(value));
}

function line(s: Series, raw: boolean) {
  const key = raw ? `${s.name} raw` : s.name;
  return (
    <Line
      key={key}
      dataKey={key}
      name={key}
      stroke={s.color}
      strokeOpacity={raw ? 0.22 : 1}
      strokeWidth={raw ? 1 : 2}
      strokeDasharray={raw ? undefined : s.dash}
      // A value alone between two gaps is a stroke of no length: round ends make it a visible dot.
      strokeLinecap="round"
      dot={s.points ? { r: 3.5, fill: s.color, strokeWidth: 0 } : false}
      connectNulls={s.points !== undefined}
      isAnimationActive={false}
      legendType="none"
      tooltipType={raw ? 'none' : undefined}
    />
  );
}

export function MetricChart({ series, bands, domain, height = 180, width }: MetricChartProps) {
  const rows = chartRows(series, bands);
  const first = rows[0]?.x ?? 0;
  const last = rows[rows.length - 1]?.x ?? 0;
  const extent = domain ?? extentOf(rows) ?? [0, 1];
  const axis = axisOf(extent[0], extent[1]);
  const shown = bands.filter((band) => band.to >= first);
  const chart = (
    <LineChart
      data={rows}
      margin={{ top: 8, right: 8, bottom: 0, left: 0 }}
      width={width}
      height={width ? height : undefined}
    >
      <CartesianGrid stroke="currentColor" strokeOpacity={0.08} vertical={false} />
      {shown.map((band, i) => {
        const from = Math.max(band.from, first);
        const to = Math.min(band.to + 1, last);
        return (
          <ReferenceArea
            key={band.name}
            x1={from}
            x2={to}
            fill="currentColor"
            fillOpacity={i % 2 === 0 ? 0.035 : 0}
            ifOverflow="hidden"
            label={
              to - from >= NAMED_SHARE * (last - first)
                ? {
                    value: band.name,
                    position: 'insideTopLeft',
                    fontSize: 10,
                    fill: 'currentColor',
                    opacity: 0.5,
                  }
                : undefined
            }
          />
        );
      })}
      <XAxis
        dataKey="x"
        type="number"
        domain={['dataMin', 'dataMax']}
        tick={tick}
        tickLine={false}
        axisLine={false}
        ticks={stepTicks(first, last)}
        tickFormatter={(x: number) => formatCount(x + 1)}
      />
      <YAxis
        domain={axis.domain}
        ticks={axis.ticks}
        interval={0}
        width={44}
        tick={tick}
        tickLine={false}
        axisLine={false}
        tickFormatter={(value: number) => tickLabel(value, axis)}
        allowDataOverflow={false}
      />
      <Tooltip
        labelFormatter={(x) => placeOf(Number(x), bands)}
        formatter={(value, name, item) => told(value, name, item?.payload as Row | undefined)}
        contentStyle={tooltipStyle}
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
