/** Runs side by side: last held-out scores, curves over each other, settings that differ. Seeds of one recipe are one line. */
import { Card, Group, SimpleGrid, Stack, Table, Text } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import { useEffect, useMemo } from 'react';
import { type ListedRun, METRICS, type MetricName, type SeedMean } from '../../../worker/protocol.ts';
import { bandsOf } from '../../charts/bands.ts';
import type { Band, Series } from '../../charts/chart-lines.ts';
import { Legend } from '../../charts/legend.tsx';
import { LINE_STYLES } from '../../charts/line-styles.ts';
import { MetricChart } from '../../charts/metric-chart.tsx';
import { smooth } from '../../charts/series.ts';
import { AllSteps, LogSwitch, Smoothing } from '../../charts/view-controls.tsx';
import { useChartView } from '../../store/chart-view.ts';
import { bySeed, differences, lastScores, meanCurve, type SeedGroup } from '../../store/compare-runs.ts';
import type { RunLog } from '../../store/studio-state.ts';
import { commands, useStudio } from '../../store/studio-store.ts';

/** What is worth laying over each other, what matters first. */
const COMPARED: readonly MetricName[] = [
  'accuracy',
  'reward',
  'loss',
  'parallel/ratio',
  'parallel/first_relative_position',
  'tokens/critical',
  'entropy',
  'grad_norm',
];

const HEIGHT = 190;

/**
 * @param smoothing of each run before the mean: with an interval the chart draws the line as it is
 */
function seriesOf(groups: readonly SeedGroup[], metric: MetricName, smoothing: number): Series[] {
  return groups.flatMap(({ name, runs }, i) => {
    const known = runs.filter(({ log }) => log.has(metric));
    if (known.length === 0) return [];
    const columns = known.map((run) => {
      const column = run.log.column(metric);
      return known.length === 1
        ? column
        : smooth(
            column,
            smoothing,
            bandsOf(run).map(({ from }) => from),
          );
    });
    const { values, interval } = meanCurve(columns);
    const label = runs.length > 1 ? `${name} (${runs.length} seeds)` : name;
    const style = LINE_STYLES[i % LINE_STYLES.length];
    return [{ name: label, ...style, values, interval: interval ?? undefined }];
  });
}

function Curve({ metric, groups }: { metric: MetricName; groups: readonly SeedGroup[] }) {
  const { ref, width } = useElementSize();
  const range = useChartView((view) => view.range);
  const smoothing = useChartView((view) => view.smoothing);
  const log = useChartView((view) => view.log);
  const { label, help } = METRICS[metric];
  const series = useMemo(() => seriesOf(groups, metric, smoothing), [groups, metric, smoothing]);
  const bands: Band[] = useMemo(() => bandsOf(groups[0].runs[0]), [groups]);
  if (series.length === 0) return null;
  return (
    <section aria-label={label}>
      <Text size="sm" fw={600} title={help}>
        {label}
      </Text>
      <Legend series={series} />
      <div ref={ref} style={{ height: HEIGHT }}>
        {width > 0 && (
          <MetricChart
            title={label}
            series={series}
            bands={bands}
            range={range}
            smoothing={smoothing}
            log={log}
            width={width}
            height={HEIGHT}
          />
        )}
      </div>
    </section>
  );
}

const show = (value: SeedMean | undefined): string =>
  value ? `${value.mean.toFixed(3)}${value.half === null ? '' : ` ± ${value.half.toFixed(3)}`}` : '–';

function Scores({ groups }: { groups: readonly SeedGroup[] }) {
  const rows = groups.map(({ name, runs }) => ({
    name,
    seeds: runs.length,
    scores: lastScores(runs, 'eval/mean@k'),
  }));
  const sets = [...new Set(rows.flatMap(({ scores }) => [...scores.keys()]))];
  if (sets.length === 0) return null;
  return (
    <Table.ScrollContainer minWidth={420}>
      <Table fz="sm" verticalSpacing={4} data-testid="compare-scores">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Held-out accuracy</Table.Th>
            <Table.Th>seeds</Table.Th>
            {sets.map((set) => (
              <Table.Th key={set}>{set}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map(({ name, seeds, scores }) => (
            <Table.Tr key={name}>
              <Table.Th scope="row">{name}</Table.Th>
              <Table.Td>{seeds}</Table.Td>
              {sets.map((set) => (
                <Table.Td key={set}>{show(scores.get(set))}</Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

const settingText = (value: unknown): string => (value === undefined ? '–' : JSON.stringify(value));

function Settings({ runs }: { runs: readonly RunLog[] }) {
  const found = useMemo(() => differences(runs.map(({ record }) => record.recipe)), [runs]);
  if (found.length === 0)
    return (
      <Text size="sm" c="dimmed">
        Their recipes are the same.
      </Text>
    );
  return (
    <Table.ScrollContainer minWidth={420}>
      <Table fz="sm" verticalSpacing={4} data-testid="compare-settings">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Setting that differs</Table.Th>
            {runs.map(({ record }) => (
              <Table.Th key={record.id}>{record.name}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {found.map(({ path, values }) => (
            <Table.Tr key={path}>
              <Table.Th scope="row">{path}</Table.Th>
              {values.map((value, i) => (
                <Table.Td key={runs[i].record.id} className="compare-value">
                  {settingText(value)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

export function Comparison({ runs }: { runs: readonly ListedRun[] }) {
  const logs = useStudio((state) => state.logs);
  const missing = runs.filter(({ id }) => !logs.has(id)).map(({ id }) => id);
  const wanted = missing.join(',');
  useEffect(() => {
    for (const id of wanted.split(',').filter(Boolean)) commands.readLog(id);
  }, [wanted]);
  const known = useMemo(() => runs.flatMap(({ id }) => logs.get(id) ?? []), [runs, logs]);
  const groups = useMemo(() => bySeed(known), [known]);
  if (known.length === 0) return null;
  return (
    <Card component="section" aria-label="Comparison" data-testid="comparison">
      <Group justify="space-between" mb="sm" gap="xs">
        <Text fw={600}>{known.length === 1 ? known[0].record.name : `${known.length} runs compared`}</Text>
        {groups.some((group) => group.runs.length > 1) && (
          <Text size="xs" c="dimmed">
            Runs that differ only in their seed are one line: mean, with the 95 % interval (Student’s t).
          </Text>
        )}
      </Group>
      <Stack gap="lg">
        <Scores groups={groups} />
        <Group gap="lg" wrap="wrap" role="toolbar" aria-label="Charts">
          <Smoothing />
          <LogSwitch />
          <AllSteps />
        </Group>
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="lg">
          {COMPARED.map((metric) => (
            <Curve key={metric} metric={metric} groups={groups} />
          ))}
        </SimpleGrid>
        {known.length > 1 && <Settings runs={known} />}
      </Stack>
    </Card>
  );
}
