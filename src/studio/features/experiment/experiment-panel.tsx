/** The experiment that runs: its arms and seeds, and the table that compares them so far. */
import { Badge, Button, Card, Group, ScrollArea, Stack, Table, Text } from '@mantine/core';
import type { Experiment, ExperimentReport, SeedMean } from '../../../worker/protocol.ts';
import { type ArmRun, useExperiment } from '../../store/experiment.ts';
import { saveFile } from '../../ui/save-file.ts';

const COLOURS = { waiting: 'gray', running: 'blue', done: 'teal', failed: 'red' } as const;

const saveReport = (report: ExperimentReport) =>
  saveFile('report.json', new Blob([`${JSON.stringify(report, null, 1)}\n`], { type: 'application/json' }));

const show = (value: SeedMean | undefined): string =>
  value ? `${value.mean.toFixed(3)}${value.half === null ? '' : ` ± ${value.half.toFixed(3)}`}` : '–';

function Runs({ runs }: { runs: readonly ArmRun[] }) {
  const arms = [...new Set(runs.map(({ arm }) => arm))];
  return (
    <Stack gap={6}>
      {arms.map((arm) => (
        <Group key={arm} gap={8}>
          <Text size="sm" w={170} truncate title={arm}>
            {arm}
          </Text>
          {runs
            .filter((run) => run.arm === arm)
            .map(({ seed, state }) => (
              <Badge key={seed} variant="light" color={COLOURS[state]} tt="none">
                seed {seed}: {state}
              </Badge>
            ))}
        </Group>
      ))}
    </Stack>
  );
}

function Comparison({ experiment, report }: { experiment: Experiment; report: ExperimentReport }) {
  const { sets, metrics } = experiment.report;
  const columns = sets.flatMap((set) => metrics.map((metric) => ({ set, metric })));
  return (
    <ScrollArea>
      <Table data-testid="experiment-table" fz="sm" verticalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>arm</Table.Th>
            {columns.map(({ set, metric }) => (
              <Table.Th key={`${set} ${metric}`}>
                {set}
                <br />
                {metric}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {Object.entries(report.arms).map(([arm, own]) => (
            <Table.Tr key={arm}>
              <Table.Th scope="row" style={{ whiteSpace: 'nowrap' }}>
                {arm}
              </Table.Th>
              {columns.map(({ set, metric }) => (
                <Table.Td key={`${set} ${metric}`} style={{ whiteSpace: 'nowrap' }}>
                  {show(own[set]?.[metric])}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea>
  );
}

export function ExperimentPanel() {
  const { experiment, runs, report } = useExperiment();
  if (!experiment) return null;
  const done = runs.filter(({ state }) => state === 'done').length;
  return (
    <Card component="section" aria-label="Experiment" data-testid="experiment">
      <Group justify="space-between" mb="xs" gap="xs">
        <Text fw={600}>{experiment.name}</Text>
        <Group gap="xs">
          <Text size="xs" c="dimmed">
            {done} of {runs.length} runs done
          </Text>
          <Button size="xs" variant="default" disabled={!report} onClick={() => report && saveReport(report)}>
            Save report
          </Button>
        </Group>
      </Group>
      <Stack gap="md">
        <Runs runs={runs} />
        {report && <Comparison experiment={experiment} report={report} />}
        {report && (
          <Text size="xs" c="dimmed">
            Last evaluation of each run: mean over seeds ± half of the 95 % interval (Student’s t).
          </Text>
        )}
      </Stack>
    </Card>
  );
}
