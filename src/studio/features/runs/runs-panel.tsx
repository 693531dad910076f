/** The Runs screen: what is kept on disk, what to do with it, and how runs compare. The chosen ones are in the URL. */
import { Button, Card, FileButton, Group, Stack, Table, Text, TextInput } from '@mantine/core';
import { useEffect, useState } from 'react';
import { replaceParams, useRoute } from '../../store/route.ts';
import { commands, useStudio } from '../../store/studio-store.ts';
import { Icon } from '../../ui/icon.tsx';
import { Comparison } from './comparison.tsx';
import { RunRow } from './run-row.tsx';
import './runs.css';

/** `#/runs?compare=a,b`: a link that shows the same comparison, and what Back comes back to. */
function useChosen(): readonly [ReadonlySet<string>, (id: string, on: boolean) => void] {
  const { params } = useRoute();
  const chosen = new Set(params.get('compare')?.split(',').filter(Boolean));
  const choose = (id: string, on: boolean) => {
    const next = new Set(chosen);
    if (on) next.add(id);
    else next.delete(id);
    replaceParams(next.size > 0 ? { compare: [...next].join(',') } : {});
  };
  return [chosen, choose];
}

function Empty() {
  return (
    <Text c="dimmed" ta="center" py="xl">
      No run is kept yet. Each run that you start is kept here by itself, with its curves, rollouts and
      checkpoints, and goes on after a reload.
    </Text>
  );
}

export function RunsPanel() {
  const kept = useStudio((state) => state.kept);
  const shown = useStudio((state) => state.shown?.id ?? null);
  const [chosen, choose] = useChosen();
  const [filter, setFilter] = useState('');
  useEffect(() => commands.listRuns(), []);
  const runs = kept ?? [];
  const words = filter.toLowerCase().split(/\s+/);
  const listed = runs.filter(({ name, notes, state, device }) => {
    const text = `${name} ${notes} ${state} ${device}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const compared = runs.filter(({ id }) => chosen.has(id));
  return (
    <Stack gap="md">
      <Card component="section" aria-label="Runs kept on this machine">
        <Group justify="space-between" gap="sm" mb="sm">
          <TextInput
            aria-label="Find runs"
            placeholder="Find by name, note, state or device"
            value={filter}
            onChange={(event) => setFilter(event.currentTarget.value)}
            leftSection={<Icon name="search" size={14} />}
            flex="1 1 220px"
            maw={420}
          />
          <FileButton
            onChange={(file) => file && commands.unbundleRun(file)}
            accept=".zip,application/zip"
            inputProps={{ 'data-testid': 'bundle-file', 'aria-label': 'Bundle of a run' } as object}
          >
            {(props) => (
              <Button {...props} variant="default" leftSection={<Icon name="upload" size={14} />}>
                Open a bundle…
              </Button>
            )}
          </FileButton>
        </Group>
        {runs.length === 0 ? (
          <Empty />
        ) : (
          <Table.ScrollContainer minWidth={720}>
            <Table verticalSpacing="xs" data-testid="runs-table">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th w={36}>
                    <span className="runs-hidden">Compare</span>
                  </Table.Th>
                  <Table.Th>Run</Table.Th>
                  <Table.Th w={150}>Saved at</Table.Th>
                  <Table.Th w={170}>Held-out accuracy</Table.Th>
                  <Table.Th w={120}>Effort</Table.Th>
                  <Table.Th w={132}>
                    <span className="runs-hidden">What to do</span>
                  </Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {listed.map((run) => (
                  <RunRow
                    key={run.id}
                    run={run}
                    shown={run.id === shown}
                    chosen={chosen.has(run.id)}
                    choose={(on) => choose(run.id, on)}
                  />
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        )}
        {runs.length > 0 && listed.length === 0 && (
          <Text c="dimmed" ta="center" py="md">
            No run has “{filter}” in its name, notes, state or device.
          </Text>
        )}
        {runs.length > 1 && compared.length === 0 && (
          <Text size="xs" c="dimmed" mt="xs">
            Tick two or more runs to lay their curves over each other and to see how their recipes differ.
          </Text>
        )}
      </Card>
      {compared.length > 0 && <Comparison runs={compared} />}
    </Stack>
  );
}
