/** Models that lie in this browser, for offline use. */
import { Button, Card, Group, Table, Text } from '@mantine/core';
import { useState } from 'react';
import type { KeptModel } from '../../../worker/protocol.ts';
import { formatAge, formatBytes } from '../../store/format.ts';
import { commands, useStudio } from '../../store/studio-store.ts';

function Row({ model, busy }: { model: KeptModel; busy: boolean }) {
  const [asked, setAsked] = useState(false);
  return (
    <Table.Tr>
      <Table.Td className="model-name">
        {model.name}
        {model.revision && (
          <Text span size="xs" c="dimmed" ml={6}>
            {model.revision.slice(0, 8)}
          </Text>
        )}
      </Table.Td>
      <Table.Td>{model.source === 'hub' ? 'Hub' : 'dropped'}</Table.Td>
      <Table.Td>{formatBytes(model.bytes)}</Table.Td>
      <Table.Td>{formatAge(Date.now() - model.saved)}</Table.Td>
      <Table.Td>
        <Group gap={4} justify="flex-end" wrap="nowrap">
          <Button
            size="compact-sm"
            variant="light"
            disabled={busy}
            aria-label={`Load ${model.name}`}
            onClick={() => commands.openModel(model.id)}
          >
            Load
          </Button>
          <Button
            size="compact-sm"
            variant="subtle"
            color={asked ? 'red' : 'gray'}
            aria-label={asked ? `Delete ${model.name} for good` : `Delete ${model.name}`}
            onBlur={() => setAsked(false)}
            onClick={() => (asked ? commands.deleteModel(model.id) : setAsked(true))}
          >
            {asked ? 'Delete for good' : 'Delete'}
          </Button>
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}

export function KeptModels() {
  const models = useStudio((state) => state.keptModels);
  const busy = useStudio((state) => state.modelProgress !== null);
  return (
    <Card component="section" aria-label="Models kept in this browser">
      <Text fw={600} mb="xs">
        Kept in this browser
      </Text>
      {models.length === 0 ? (
        <Text size="sm" c="dimmed">
          None yet. What you load stays here, so that the next visit needs no network.
        </Text>
      ) : (
        <Table.ScrollContainer minWidth={560}>
          <Table fz="sm" verticalSpacing={6} data-testid="kept-models">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Model</Table.Th>
                <Table.Th w={90}>From</Table.Th>
                <Table.Th w={90}>Size</Table.Th>
                <Table.Th w={130}>Loaded</Table.Th>
                <Table.Th w={170}>
                  <span className="model-hidden">What to do</span>
                </Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {models.map((model) => (
                <Row key={model.id} model={model} busy={busy} />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </Card>
  );
}
