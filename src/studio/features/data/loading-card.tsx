/** A file that is being read: how far it is, and the way to end it. */
import { Button, Card, Group, Progress, Text } from '@mantine/core';
import { formatBytes, formatCount } from '../../store/format.ts';
import type { StudioState } from '../../store/studio-state.ts';
import { commands } from '../../store/studio-store.ts';

export function LoadingCard({ job }: { job: StudioState['loading'][number] }) {
  const { name, read, size, rows } = job;
  const known = size > 0;
  const share = known ? Math.min(100, (100 * read) / size) : 100;
  return (
    <Card data-testid="data-loading" component="section" aria-label={`Reading ${name}`}>
      <Group justify="space-between" wrap="nowrap">
        <div>
          <Text fw={600} className="data-name">
            {name}
          </Text>
          <Text size="sm" c="dimmed">
            {formatCount(rows)} rows · {formatBytes(read)}
            {known && ` of ${formatBytes(size)}`}
          </Text>
        </div>
        <Button
          variant="default"
          size="xs"
          data-testid="cancel-data"
          onClick={() => commands.cancelData(job.job)}
        >
          Cancel
        </Button>
      </Group>
      <Progress mt="sm" value={share} animated={!known} aria-label={`Read of ${name}`} />
    </Card>
  );
}
