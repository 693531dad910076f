/** A file that could not be taken as it was read: why, and the ways out. */
import { Button, Card, Group, Text } from '@mantine/core';
import { formatCount } from '../../store/format.ts';
import type { StudioState } from '../../store/studio-state.ts';
import { commands } from '../../store/studio-store.ts';
import { ColumnMapping } from './column-mapping.tsx';
import { IssueTable } from './issue-table.tsx';

export function RefusedCard({ file }: { file: StudioState['refused'][number] }) {
  const { name, message, choice, report } = file;
  const columns = report?.columns ?? [];
  const fixable = report?.fixable ?? 0;
  return (
    <Card data-testid="data-refused" component="section" aria-label={`${name}, not loaded`}>
      <Text fw={600} className="data-name">
        {name}
      </Text>
      <Text size="sm">{message}</Text>
      <Group mt="sm" gap="xs">
        {choice.policy === 'abort' && (
          <Button
            size="xs"
            variant="light"
            onClick={() => commands.reloadData(name, { ...choice, policy: 'skip' })}
          >
            Leave such rows out
          </Button>
        )}
        {fixable > 0 && choice.policy !== 'fix' && (
          <Button
            size="xs"
            variant="light"
            onClick={() => commands.reloadData(name, { ...choice, policy: 'fix' })}
          >
            Mend {formatCount(fixable)} rows
          </Button>
        )}
      </Group>
      {columns.length > 0 && (
        <ColumnMapping
          columns={columns}
          initial={choice.mapping}
          onChoose={(mapping) => commands.reloadData(name, { ...choice, mapping })}
        />
      )}
      {report && <IssueTable report={report} />}
    </Card>
  );
}
