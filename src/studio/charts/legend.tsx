/** Names of the lines, with their values under the crosshair, or the newest ones. */
import { Group, Text } from '@mantine/core';
import { useChartView } from '../store/chart-view.ts';
import { formatNumber } from '../store/format.ts';
import { type Series, valueAt } from './chart-lines.ts';

function newest({ values, points }: Series): number {
  if (points) return points[points.length - 1]?.value ?? Number.NaN;
  for (let i = values.length - 1; i >= 0; i--) if (!Number.isNaN(values[i])) return values[i];
  return Number.NaN;
}

export function Legend({ series }: { series: readonly Series[] }) {
  const cursor = useChartView((view) => view.cursor);
  return (
    <Group gap="2px 14px" mb={4} wrap="wrap" mih={18}>
      {series.map((one) => (
        <Group key={one.name} gap={5} wrap="nowrap">
          <svg width="18" height="6" aria-hidden="true">
            {one.points ? (
              <circle cx="9" cy="3" r="3" fill={one.color} />
            ) : (
              <line
                x1="0"
                y1="3"
                x2="18"
                y2="3"
                stroke={one.color}
                strokeWidth={one.reference ? 1.2 : 2.5}
                strokeDasharray={one.dash}
              />
            )}
          </svg>
          <Text size="xs" c="dimmed">
            {one.name}
          </Text>
          <Text size="xs" className="legend-value">
            {formatNumber(cursor === null ? newest(one) : valueAt(one, cursor))}
          </Text>
        </Group>
      ))}
    </Group>
  );
}
