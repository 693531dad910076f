/** The group of rollouts that is sampled now, as growing trees, and what the last step's rollouts came to. */
import { Badge, Card, Group, ScrollArea, Stack, Table, Text } from '@mantine/core';
import type { RolloutRecord } from '../../../worker/protocol.ts';
import { formatNumber } from '../../store/format.ts';
import { useStudio } from '../../store/studio-store.ts';
import { TreeView } from '../../ui/tree-view.tsx';
import './rollouts.css';

/** Rows of the table; a step may have hundreds. */
const LISTED = 12;

function Judgement({ record }: { record: RolloutRecord }) {
  const right = record.answer === record.gold;
  return (
    <Group gap={6}>
      <Badge size="sm" variant="light" color={right ? 'teal' : 'red'}>
        {right ? '✓ right' : `✗ ${record.answer ?? 'no answer'}`}
      </Badge>
      <Text size="xs" c="dimmed">
        reward {formatNumber(record.reward)} · advantage {formatNumber(record.advantage)}
      </Text>
    </Group>
  );
}

export function CurrentGroup() {
  const group = useStudio((state) => state.group);
  if (!group) return null;
  const gold = group.records[0]?.gold;
  return (
    <Card component="section" aria-label="Rollouts of the current group">
      <Group justify="space-between" mb="sm" wrap="wrap" gap="xs">
        <Text fw={600}>Thinking now</Text>
        <Text size="sm" c="dimmed">
          {group.stage}, step {group.step} · problem <code className="rollout-prompt">{group.prompt}</code>
          {gold !== undefined && (
            <>
              {' '}
              · answer <b>{gold}</b>
            </>
          )}
        </Text>
      </Group>
      <ScrollArea type="auto" offsetScrollbars="x">
        <div className="rollout-wall">
          {group.trees.map((tree, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: samples of a group keep their places
            <div key={i} className="rollout-sample">
              <Group justify="space-between" mb={6} mih={22}>
                <Text size="xs" c="dimmed">
                  sample {i + 1}
                </Text>
                {group.records[i] && <Judgement record={group.records[i]} />}
              </Group>
              <TreeView tree={tree} label={`Sample ${i + 1} of ${group.prompt}`} />
            </div>
          ))}
        </div>
      </ScrollArea>
    </Card>
  );
}

export function LastRollouts() {
  const records = useStudio((state) => state.records);
  if (records.length === 0) return null;
  const right = records.filter((record) => record.answer === record.gold).length;
  return (
    <Card component="section" aria-label="Rollouts of the last step">
      <Group justify="space-between" mb="xs">
        <Text fw={600}>Last step</Text>
        <Text size="sm" c="dimmed">
          {right} of {records.length} right
        </Text>
      </Group>
      <Stack gap={0}>
        <Table.ScrollContainer minWidth={560}>
          <Table fz="xs" verticalSpacing={4} layout="fixed">
            <Table.Thead>
              <Table.Tr>
                <Table.Th w={130}>problem</Table.Th>
                <Table.Th>response</Table.Th>
                <Table.Th w={70}>answer</Table.Th>
                <Table.Th w={60}>gold</Table.Th>
                <Table.Th w={70}>reward</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {records.slice(0, LISTED).map((record) => (
                <Table.Tr key={`${record.group}-${record.sample}`}>
                  <Table.Td className="rollout-text">{record.prompt}</Table.Td>
                  <Table.Td className="rollout-text">{record.text}</Table.Td>
                  <Table.Td>{record.answer ?? '–'}</Table.Td>
                  <Table.Td>{record.gold}</Table.Td>
                  <Table.Td>{formatNumber(record.reward)}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      </Stack>
    </Card>
  );
}
