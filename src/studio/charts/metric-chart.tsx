/**
 * A chart of a few metrics over the steps of a run: a pure function of its data and of how it is looked at. The frame is
 * recharts'; lines and crosshair are drawn over it, each only when it changes.
 */
import { useMemo, useRef, useState } from 'react';
import { setCursor, setRange, type XAxisKind } from '../store/chart-view.ts';
import { formatCount, formatDuration, formatTick } from '../store/format.ts';
import { axisOf, logAxisOf, stepTicks, tickLabel } from './axis.ts';
import { type Band, chartLines, extentOf, type Mark, type Series } from './chart-lines.ts';
import { Crosshair } from './crosshair.tsx';
import { Frame } from './frame.tsx';
import { Lines } from './lines.tsx';
import { MARGIN, type Plot, plotOf, type Size } from './plot.ts';
import './charts.css';

export interface MetricChartProps extends Size {
  /** Names the chart for those who hear it. */
  title: string;
  series: readonly Series[];
  bands: readonly Band[];
  marks?: readonly Mark[];
  /** Unit of the x axis, and where each row stands on it (null: rows are steps). */
  axis?: XAxisKind;
  xs?: ArrayLike<number> | null;
  /** Rows that are looked at; null for all. */
  range?: readonly [number, number] | null;
  smoothing?: number;
  log?: boolean;
  /** Fixed range, for shares; a log axis has none. */
  domain?: readonly [number, number];
}

/** A drag of fewer pixels is a click. */
const LEAST_DRAG = 6;

function ticksOfX(axis: XAxisKind, { xDomain: [start, end] }: Plot): { at: number; label: string }[] {
  if (axis === 'step')
    return stepTicks(Math.ceil(start), Math.floor(end)).map((at) => ({ at, label: formatCount(at + 1) }));
  const { ticks } = axisOf(start, end);
  return ticks
    .filter((at) => at >= start && at <= end)
    .map((at) => ({ at, label: axis === 'time' ? formatDuration(at) : formatTick(at) }));
}

interface PointerProps {
  plot: Plot;
  from: number;
  to: number;
}

/** What the pointer and the keys do: a crosshair that moves, a stretch that is dragged. */
function usePointer({ plot, from, to }: PointerProps) {
  const start = useRef<number | null>(null);
  const [drag, setDrag] = useState<readonly [number, number] | null>(null);
  const placeIn = (event: React.PointerEvent<SVGSVGElement>): number => {
    const box = event.currentTarget.getBoundingClientRect();
    return Math.min(MARGIN.left + plot.width, Math.max(MARGIN.left, event.clientX - box.left));
  };
  const handlers = {
    onPointerDown(event: React.PointerEvent<SVGSVGElement>) {
      if (event.button !== 0) return;
      start.current = placeIn(event);
    },
    onPointerMove(event: React.PointerEvent<SVGSVGElement>) {
      const x = placeIn(event);
      setCursor(plot.rowAt(x));
      if (start.current !== null && Math.abs(x - start.current) > LEAST_DRAG) {
        event.currentTarget.setPointerCapture(event.pointerId);
        setDrag([Math.min(x, start.current), Math.max(x, start.current)]);
      }
    },
    onPointerUp() {
      if (drag) {
        const chosen = [plot.rowAt(drag[0]), plot.rowAt(drag[1])] as const;
        if (chosen[1] > chosen[0]) setRange(chosen);
      }
      start.current = null;
      setDrag(null);
    },
    onPointerLeave() {
      if (start.current === null) setCursor(null);
    },
    onDoubleClick: () => setRange(null),
    onBlur: () => setCursor(null),
    onKeyDown(event: React.KeyboardEvent<SVGSVGElement>) {
      const rows = plot.rowAt(MARGIN.left + plot.width);
      const cursor = Number(event.currentTarget.dataset.row ?? rows);
      const stride = event.shiftKey ? Math.max(1, Math.round((to - from) / 20)) : 1;
      const next = { ArrowLeft: cursor - stride, ArrowRight: cursor + stride, Home: from, End: to }[
        event.key
      ];
      if (event.key === 'Escape') {
        setCursor(null);
        setRange(null);
      } else if (next !== undefined) {
        const row = Math.min(to, Math.max(from, next));
        event.currentTarget.dataset.row = String(row);
        setCursor(row);
      } else return;
      event.preventDefault();
    },
  };
  return { drag, handlers };
}

export function MetricChart(props: MetricChartProps) {
  const { title, series, bands, marks = [], axis = 'step', xs = null, range = null, width, height } = props;
  const { smoothing = 0.9, log = false, domain } = props;
  const drawing = chartLines(series, { smoothing, bands, range, most: Math.max(100, width) });
  const { lines, from, to } = drawing ?? { lines: [], from: 0, to: 0 };
  const extent = (log ? null : domain) ?? extentOf(lines, log) ?? (log ? [0.1, 1] : [0, 1]);
  const yAxis = log ? logAxisOf(extent[0], extent[1]) : axisOf(extent[0], extent[1]);
  const plot = plotOf({ xs, from, to, yDomain: yAxis.domain, log, tight: range !== null, width, height });
  const { drag, handlers } = usePointer({ plot, from, to });
  // React's ids have colons, which url(#…) would have to escape.
  const clip = useMemo(() => `clip-${crypto.randomUUID()}`, []);
  const [start, end] = plot.xDomain;
  const place = (row: number): number => (xs ? (xs[row] ?? Number.NaN) : row);
  return (
    <div className="chart" style={{ width, height }}>
      <Frame
        width={width}
        height={height}
        xDomain={[start, end]}
        xTicks={ticksOfX(axis, plot)}
        yDomain={yAxis.domain}
        yTicks={yAxis.ticks.map((at) => ({
          at,
          label: log ? formatTick(Number((10 ** at).toPrecision(3))) : tickLabel(at, yAxis),
        }))}
        bands={bands
          .map((band, i) => ({
            name: band.name,
            from: place(band.from),
            // The last one grows with the run; it ends with the axis, so that it need not be drawn with each step.
            to: i === bands.length - 1 ? end : place(band.to + 1),
          }))
          .filter((band) => band.to > start && band.from < end)}
        marks={marks.map(({ row }) => place(row)).filter((at) => at >= start && at <= end)}
      />
      <svg
        className="chart-lines"
        width={width}
        height={height}
        role="application"
        aria-label={`${title}: arrow keys move the crosshair, Shift moves it further, Escape shows all steps`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: see the label
        tabIndex={0}
        {...handlers}
      >
        <Lines lines={lines} plot={plot} clip={clip} />
        <Crosshair lines={lines} plot={plot} bands={bands} marks={marks} from={from} to={to} />
        {drag && (
          <rect
            className="chart-brush"
            x={drag[0]}
            y={MARGIN.top}
            width={drag[1] - drag[0]}
            height={plot.height}
          />
        )}
      </svg>
    </div>
  );
}
