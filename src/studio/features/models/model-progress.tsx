/** A model that is being downloaded, read or kept, and the way to end it. */
import { Button, Card, Group, Progress, Text } from '@mantine/core';
import { formatBytes } from '../../store/format.ts';
import type { StudioState } from '../../store/studio-state.ts';
import { commands } from '../../store/studio-store.ts';

const PHASES = { download: 'Downloading', read: 'Reading', keep: 'Keeping for the next visit:' } as const;

export function ModelProgress({ progress }: { progress: NonNullable<StudioState['modelProgress']> }) {
  const { phase, name, done, all } = progress;
  return (
    <Card component="section" aria-label={`Loading ${name}`} data-testid="model-progress">
      <Group justify="space-between" wrap="nowrap">
        <div>
          <Text fw={600} className="model-name">
            {PHASES[phase]} {name}
          </Text>
          <Text size="sm" c="dimmed">
            {formatBytes(done)} of {formatBytes(all)}
            {phase === 'download' && ' · what is here stays: a download that was ended goes on from there'}
          </Text>
        </div>
        <Button variant="default" size="xs" onClick={commands.cancelModel}>
          Cancel
        </Button>
      </Group>
      <Progress mt="sm" value={all > 0 ? (100 * done) / all : 0} aria-label={`${PHASES[phase]} ${name}`} />
    </Card>
  );
}
