/** Models that runs came to: the one that is trained now, and one at the end of each stage. */
import { Button, Card, Group, Table, Text } from '@mantine/core';
import type { ListedRun } from '../../../worker/protocol.ts';
import { formatTick } from '../../store/format.ts';
import { commands, showError, useStudio } from '../../store/studio-store.ts';
import { archiveName, ExportButton, saveFolder } from '../../ui/export-model.tsx';

async function exportCheckpoint(run: ListedRun, stage: string): Promise<void> {
  try {
    await saveFolder(archiveName(run.name, stage), await commands.exportCheckpoint(run.id, stage));
  } catch (error) {
    showError((error as Error).message);
  }
}

interface RowProps {
  run: ListedRun;
  stage: string;
  busy: boolean;
}

function Row({ run, stage, busy }: RowProps) {
  const last = stage === run.checkpoints[run.checkpoints.length - 1] && run.state === 'finished';
  const scores = Object.entries(run.scores).map(([set, score]) => `${set} ${score.toFixed(3)}`);
  return (
    <Table.Tr>
      <Table.Td className="model-name">{run.name}</Table.Td>
      <Table.Td>{stage}</Table.Td>
      <Table.Td>{formatTick(run.parameters)}</Table.Td>
      {/* The run's last scores are those of its last model. */}
      <Table.Td>{last && scores.length > 0 ? scores.join(' · ') : '–'}</Table.Td>
      <Table.Td>
        <Group gap={4} justify="flex-end" wrap="nowrap">
          <Button
            size="compact-sm"
            variant="light"
            disabled={busy}
            aria-label={`Load ${stage} of ${run.name}`}
            onClick={() => commands.openCheckpoint(run.id, stage)}
          >
            Load
          </Button>
          <Button
            size="compact-sm"
            variant="subtle"
            aria-label={`Export ${stage} of ${run.name}`}
            onClick={() => void exportCheckpoint(run, stage)}
          >
            Export
          </Button>
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}

/** In the order of the stages: folders come in that of the alphabet. */
export function stagesOf({ recipe, checkpoints }: Pick<ListedRun, 'recipe' | 'checkpoints'>): string[] {
  const order = new Map(recipe.stages.map(({ name }, i) => [name, i]));
  return [...checkpoints].sort((a, b) => (order.get(a) ?? 0) - (order.get(b) ?? 0));
}

export function Checkpoints() {
  const runs = useStudio((state) => state.kept) ?? [];
  const busy = useStudio((state) => state.modelProgress !== null);
  const rows = runs.flatMap((run) => stagesOf(run).map((stage) => ({ run, stage })));
  return (
    <Card component="section" aria-label="Trained here">
      <Group justify="space-between" mb="xs" gap="sm">
        <Text fw={600}>Trained here</Text>
        <ExportButton />
      </Group>
      {rows.length === 0 ? (
        <Text size="sm" c="dimmed">
          A run keeps its model at the end of each stage; they are listed here.
        </Text>
      ) : (
        <Table.ScrollContainer minWidth={620}>
          <Table fz="sm" verticalSpacing={6} data-testid="checkpoints">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Run</Table.Th>
                <Table.Th w={120}>Stage</Table.Th>
                <Table.Th w={100}>Parameters</Table.Th>
                <Table.Th w={210}>Held-out accuracy</Table.Th>
                <Table.Th w={140}>
                  <span className="model-hidden">What to do</span>
                </Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {rows.map(({ run, stage }) => (
                <Row key={`${run.id} ${stage}`} run={run} stage={stage} busy={busy} />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </Card>
  );
}
