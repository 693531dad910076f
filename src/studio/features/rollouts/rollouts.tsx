/** The group of rollouts that is sampled now, as growing trees, and what the last step's rollouts came to. */
import { Badge, Card, Group, ScrollArea, Table, Text, UnstyledButton } from '@mantine/core';
import { useState } from 'react';
import type { RolloutRecord } from '../../../worker/protocol.ts';
import { formatNumber } from '../../store/format.ts';
import { useStudio } from '../../store/studio-store.ts';
import { TreeView } from '../../ui/tree-view.tsx';
import './rollouts.css';

/** Rows of the table; a step may have hundreds. */
const LISTED = 12;

const signed = (value: number): string => (value > 0 ? `+${formatNumber(value)}` : formatNumber(value));

function Judgement({ record }: { record: RolloutRecord }) {
  const right = record.answer === record.gold;
  return (
    <Group gap={6} wrap="nowrap">
      <Badge size="sm" tt="none" variant="light" color={right ? 'teal' : 'red'}>
        {right ? '✓ right' : `✗ ${record.answer ?? 'no answer'}`}
      </Badge>
      <Text size="xs" c="dimmed" className="rollout-numbers" title="reward · advantage">
        {signed(record.reward)} · A {signed(record.advantage)}
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
              <Group mb={6} mih={22} gap="xs" wrap="nowrap">
                <Text size="xs" c="dimmed" className="rollout-numbers">
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

const idOf = (record: RolloutRecord): string => `${record.group}-${record.sample}`;

/** A row of the table: the response's first cell opens its tree below. */
function Row({ record, open, toggle }: { record: RolloutRecord; open: boolean; toggle: () => void }) {
  const right = record.answer === record.gold;
  return (
    <>
      <Table.Tr>
        <Table.Td className="rollout-text">{record.prompt}</Table.Td>
        <Table.Td>
          <UnstyledButton
            className="rollout-text rollout-open"
            aria-expanded={open}
            aria-label={`Tree of sample ${record.sample + 1} of ${record.prompt}`}
            onClick={toggle}
          >
            <span aria-hidden="true">{open ? '▾' : '▸'}</span> {record.text}
          </UnstyledButton>
        </Table.Td>
        <Table.Td>
          {record.answer ?? '–'} {right ? '✓' : '✗'}
        </Table.Td>
        <Table.Td>{record.gold}</Table.Td>
        <Table.Td>{signed(record.reward)}</Table.Td>
        <Table.Td>{signed(record.advantage)}</Table.Td>
      </Table.Tr>
      {open && (
        <Table.Tr>
          <Table.Td colSpan={6}>
            <div className="rollout-chosen">
              <TreeView tree={record.tree} label={`Sample ${record.sample + 1} of ${record.prompt}`} />
            </div>
          </Table.Td>
        </Table.Tr>
      )}
    </>
  );
}

export function LastRollouts() {
  const records = useStudio((state) => state.records);
  const [chosen, setChosen] = useState<string | null>(null);
  if (records.length === 0) return null;
  const right = records.filter((record) => record.answer === record.gold).length;
  const listed = records.slice(0, LISTED);
  return (
    <Card component="section" aria-label="Rollouts of the last step">
      <Group justify="space-between" mb="xs">
        <Text fw={600}>Last step</Text>
        <Text size="sm" c="dimmed">
          {records[0].stage}, step {records[0].step} · {right} of {records.length} right
          {listed.length < records.length && ` · the first ${listed.length} are listed`}
        </Text>
      </Group>
      <Table.ScrollContainer minWidth={620}>
        <Table fz="xs" verticalSpacing={4} layout="fixed">
          <Table.Thead>
            <Table.Tr>
              <Table.Th w={130}>problem</Table.Th>
              <Table.Th>response</Table.Th>
              <Table.Th w={76}>answer</Table.Th>
              <Table.Th w={56}>gold</Table.Th>
              <Table.Th w={66}>reward</Table.Th>
              <Table.Th w={84}>advantage</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {listed.map((record) => (
              <Row
                key={idOf(record)}
                record={record}
                open={idOf(record) === chosen}
                toggle={() => setChosen((now) => (now === idOf(record) ? null : idOf(record)))}
              />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Card>
  );
}
