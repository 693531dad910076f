/**
 * What stands still while lines grow: axes, grid, stage bands, marks. recharts draws it, and it is drawn again only when
 * one of these changes: drawing it with every step took 77 to 107 ms a chart on a shared core.
 */
import { memo } from 'react';
import { CartesianGrid, Line, LineChart, ReferenceArea, ReferenceLine, XAxis, YAxis } from 'recharts';
import { MARGIN, type Size } from './plot.ts';

export interface FrameBand {
  name: string;
  from: number;
  to: number;
}

export interface FrameProps extends Size {
  /** All in the unit of the x axis. */
  xDomain: readonly [number, number];
  xTicks: readonly { at: number; label: string }[];
  yDomain: readonly [number, number];
  yTicks: readonly { at: number; label: string }[];
  bands: readonly FrameBand[];
  marks: readonly number[];
}

/** A band narrower than this share of the chart has no room for its name. */
const NAMED_SHARE = 0.14;

const tick = { fontSize: 11, fill: 'currentColor', opacity: 0.6 };

const labelled = (ticks: FrameProps['xTicks']) => {
  const labels = new Map(ticks.map(({ at, label }) => [at, label]));
  return (at: number): string => labels.get(at) ?? '';
};

function Drawing({ width, height, xDomain, xTicks, yDomain, yTicks, bands, marks }: FrameProps) {
  const [start, end] = xDomain;
  return (
    <LineChart
      width={width}
      height={height}
      data={[
        { x: start, y: yDomain[0] },
        { x: end, y: yDomain[1] },
      ]}
      margin={{ top: MARGIN.top, right: MARGIN.right, bottom: 0, left: 0 }}
      // The drawing above it takes the pointer, and describes itself.
      accessibilityLayer={false}
    >
      <CartesianGrid stroke="currentColor" strokeOpacity={0.08} vertical={false} />
      {bands.map((band, i) => (
        <ReferenceArea
          key={band.name}
          x1={Math.max(band.from, start)}
          x2={Math.min(band.to, end)}
          fill="currentColor"
          fillOpacity={i % 2 === 0 ? 0.035 : 0}
          ifOverflow="hidden"
          label={
            Math.min(band.to, end) - Math.max(band.from, start) >= NAMED_SHARE * (end - start)
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
      ))}
      {marks.map((at) => (
        <ReferenceLine key={at} x={at} stroke="currentColor" strokeOpacity={0.35} strokeDasharray="2 3" />
      ))}
      <XAxis
        dataKey="x"
        type="number"
        domain={[start, end]}
        height={MARGIN.bottom}
        tick={tick}
        tickLine={false}
        axisLine={false}
        ticks={xTicks.map(({ at }) => at)}
        tickFormatter={labelled(xTicks)}
      />
      <YAxis
        domain={[yDomain[0], yDomain[1]]}
        ticks={yTicks.map(({ at }) => at)}
        interval={0}
        width={MARGIN.left}
        tick={tick}
        tickLine={false}
        axisLine={false}
        tickFormatter={labelled(yTicks)}
      />
      {/* Without a line recharts has no scale for y. */}
      <Line dataKey="y" stroke="none" dot={false} activeDot={false} isAnimationActive={false} />
    </LineChart>
  );
}

/** Compared by value: the ticks of a chart that only grew are new objects with the same numbers. */
export const Frame = memo(Drawing, (a, b) => JSON.stringify(a) === JSON.stringify(b));
