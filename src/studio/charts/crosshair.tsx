/** The line under the pointer, the same row on every chart. It is drawn without the lines of the chart. */
import { useChartView } from '../store/chart-view.ts';
import { type Band, type DrawnLine, type Mark, placeOf } from './chart-lines.ts';
import { MARGIN, type Plot } from './plot.ts';

/** Pixels within which a mark is told. */
const NEAR = 6;

export interface CrosshairProps {
  lines: readonly DrawnLine[];
  plot: Plot;
  bands: readonly Band[];
  marks: readonly Mark[];
  from: number;
  to: number;
}

/** The value that is drawn at a row: of the trend where there is one. */
function drawnAt({ trend, raw }: DrawnLine, row: number): number {
  const samples = trend ?? raw;
  const at = samples ? samples.rows.indexOf(row) : -1;
  return at < 0 ? Number.NaN : samples!.values[at];
}

export function Crosshair({ lines, plot, bands, marks, from, to }: CrosshairProps) {
  const cursor = useChartView((view) => view.cursor);
  if (cursor === null || cursor < from || cursor > to) return null;
  const x = plot.x(cursor);
  const mark = marks.find(({ row }) => Math.abs(plot.x(row) - x) <= NEAR);
  const left = x > MARGIN.left + plot.width / 2;
  return (
    <g pointerEvents="none">
      <line
        x1={x}
        x2={x}
        y1={MARGIN.top}
        y2={MARGIN.top + plot.height}
        stroke="currentColor"
        strokeOpacity={0.4}
      />
      {lines.map((line) => {
        const y = plot.y(drawnAt(line, cursor));
        return Number.isFinite(y) && !line.series.reference ? (
          <circle
            key={line.series.name}
            cx={x}
            cy={y}
            r={3.5}
            fill="var(--mantine-color-body)"
            stroke={line.series.color}
            strokeWidth={2}
          />
        ) : null;
      })}
      <text
        x={left ? x - 6 : x + 6}
        y={MARGIN.top + plot.height - 6}
        textAnchor={left ? 'end' : 'start'}
        className="chart-place"
      >
        {mark ? mark.text : placeOf(cursor, bands)}
      </text>
    </g>
  );
}
