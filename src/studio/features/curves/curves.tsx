/** The live curves. They are drawn again about once a second, in turns, however fast steps come. */
import { ActionIcon, Card, Group, SimpleGrid, Text, Tooltip } from '@mantine/core';
import { useState } from 'react';
import { METRICS } from '../../../worker/protocol.ts';
import type { Band, Series } from '../../charts/chart-rows.ts';
import { MetricChart } from '../../charts/metric-chart.tsx';
import type { StudioState } from '../../store/studio-state.ts';
import { useStudio } from '../../store/studio-store.ts';
import { CHARTS, type ChartSpec, SET_COLORS } from './chart-specs.ts';
import { ChartTable } from './chart-table.tsx';
import { useTurn } from './use-turn.ts';
import './curves.css';

/** Of a card with its chart: nothing jumps while a chart waits for its first turn. */
const CARD_HEIGHT = 258;

export function bandsOf({ stages, log }: StudioState): Band[] {
  return stages
    .filter((stage) => stage.firstRow >= 0)
    .map((stage, i, begun) => ({
      name: stage.name,
      from: stage.firstRow,
      to: Math.max(stage.firstRow, (begun[i + 1]?.firstRow ?? log.length) - 1),
    }));
}

export function seriesOf(spec: ChartSpec, { log, evaluations }: StudioState): Series[] {
  const lines: Series[] = spec.lines
    .filter((line) => log.has(line.metric))
    .map(({ metric, name, color, dash }) => ({ name, color, dash, values: log.column(metric) }));
  const { evaluation } = spec;
  if (!evaluation) return lines;
  const sets = [...new Set(evaluations.map(({ set }) => set))];
  const points = sets.map((set, i) => ({
    name: `held-out ${set}`,
    color: SET_COLORS[i % SET_COLORS.length],
    dash: '1 4',
    values: [],
    points: evaluations
      .filter((one) => one.set === set && one.metrics[evaluation] !== undefined)
      .map((one) => [Math.max(0, one.row - 1), one.metrics[evaluation]!] as const),
  }));
  return [...lines, ...points];
}

function ChartCard({ spec }: { spec: ChartSpec }) {
  const [state, element] = useTurn();
  const [table, setTable] = useState(false);
  const series = seriesOf(spec, state);
  const help = spec.lines.map((line) => METRICS[line.metric].help).join(' ');
  return (
    <Card ref={element} role="region" aria-label={spec.title} mih={CARD_HEIGHT}>
      <Group justify="space-between" wrap="nowrap" gap="xs">
        <Tooltip label={help} multiline w={300} events={{ hover: true, focus: true, touch: true }}>
          <Text fw={600} size="sm" tabIndex={0} className="chart-title">
            {spec.title}
          </Text>
        </Tooltip>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="sm"
          aria-label={table ? `${spec.title} as a chart` : `${spec.title} as a table`}
          aria-pressed={table}
          onClick={() => setTable(!table)}
        >
          {table ? '∿' : '≡'}
        </ActionIcon>
      </Group>
      <Group gap="md" mb={4} wrap="wrap" mih={18}>
        {series.map((s) => (
          <Group key={s.name} gap={5} wrap="nowrap">
            <svg width="18" height="6" aria-hidden="true">
              <line
                x1="0"
                y1="3"
                x2="18"
                y2="3"
                stroke={s.color}
                strokeWidth="2.5"
                strokeDasharray={s.dash}
              />
            </svg>
            <Text size="xs" c="dimmed">
              {s.name}
            </Text>
          </Group>
        ))}
      </Group>
      {table ? (
        <ChartTable title={spec.title} series={series} bands={bandsOf(state)} />
      ) : (
        <MetricChart series={series} bands={bandsOf(state)} domain={spec.domain} />
      )}
    </Card>
  );
}

const hasData = (spec: ChartSpec, { log, evaluations }: StudioState): boolean =>
  spec.lines.some((line) => log.has(line.metric)) ||
  (spec.evaluation !== undefined && evaluations.length > 0);

/** Charts whose metrics nobody has logged yet are left out: an SFT stage has no rewards. */
export function Curves() {
  // A string compares by value: the cards come and go with it, not with every step.
  const titles = useStudio((state) =>
    CHARTS.filter((spec) => hasData(spec, state))
      .map((spec) => spec.title)
      .join('\n'),
  );
  if (titles === '') return null;
  return (
    <SimpleGrid cols={{ base: 1, sm: 2, xl: 3 }} spacing="md">
      {CHARTS.filter((spec) => titles.split('\n').includes(spec.title)).map((spec) => (
        <ChartCard key={spec.title} spec={spec} />
      ))}
    </SimpleGrid>
  );
}
