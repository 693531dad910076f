/** The lines of a chart: one path each, for the browser the cheapest thing to draw anew. */
import { memo } from 'react';
import type { DrawnLine } from './chart-lines.ts';
import { areaOf, MARGIN, type Plot, pathOf } from './plot.ts';

function Points({ line, plot }: { line: DrawnLine; plot: Plot }) {
  const { color } = line.series;
  return line.points.map(({ row, value, low, high }) => {
    const [x, y] = [plot.x(row), plot.y(value)];
    if (!Number.isFinite(y)) return null;
    const interval = low !== undefined && high !== undefined;
    return (
      <g key={row}>
        {interval && (
          <line
            className="chart-interval"
            x1={x}
            x2={x}
            y1={plot.y(low)}
            y2={plot.y(high)}
            stroke={color}
            strokeWidth={1.5}
            strokeOpacity={0.5}
          />
        )}
        <circle className="chart-point" cx={x} cy={y} r={3.5} fill={color} />
      </g>
    );
  });
}

interface LineProps {
  line: DrawnLine;
  plot: Plot;
}

function Line({ line, plot }: LineProps) {
  const { color, dash, reference } = line.series;
  const main = line.trend ?? line.raw;
  const stroke = { fill: 'none', stroke: color, strokeLinecap: 'round', strokeLinejoin: 'round' } as const;
  return (
    <g>
      {line.interval && (
        <path d={areaOf(line.interval.low, line.interval.high, plot)} fill={color} fillOpacity={0.14} />
      )}
      {line.trend && line.raw && (
        <path
          className="chart-raw"
          d={pathOf(line.raw, plot)}
          {...stroke}
          strokeOpacity={0.22}
          strokeWidth={1}
        />
      )}
      {main && (
        <path
          className="chart-line"
          d={pathOf(main, plot)}
          {...stroke}
          strokeDasharray={dash}
          strokeWidth={reference ? 1 : 2}
          strokeOpacity={reference ? 0.7 : 1}
        />
      )}
      <Points line={line} plot={plot} />
    </g>
  );
}

export const Lines = memo(function Lines({
  lines,
  plot,
  clip,
}: {
  lines: readonly DrawnLine[];
  plot: Plot;
  clip: string;
}) {
  return (
    <>
      <clipPath id={clip}>
        <rect x={MARGIN.left - 4} y={0} width={plot.width + 8} height={plot.height + MARGIN.top + 4} />
      </clipPath>
      <g clipPath={`url(#${CSS.escape(clip)})`}>
        {lines.map((line) => (
          <Line key={line.series.name} line={line} plot={plot} />
        ))}
      </g>
    </>
  );
});
