/** Offers to go on with the run that was interrupted: a reload, a crash or a lost device ends no run. */
import { Alert, Button, Group, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import type { ListedRun } from '../../../worker/protocol.ts';
import { formatAge } from '../../store/format.ts';
import { go } from '../../store/route.ts';
import { placeOf } from '../../store/saved-place.ts';
import { commands, hasKeptRuns, useStudio } from '../../store/studio-store.ts';

/** The newest run that was saved and is not finished. */
export function resumable(runs: readonly ListedRun[]): ListedRun | null {
  return runs.find(({ state, saved }) => state !== 'finished' && saved !== null) ?? null;
}

export function ResumeBanner() {
  const runs = useStudio((state) => state.kept);
  const state = useStudio((studio) => studio.run);
  const backend = useStudio((studio) => studio.compute);
  const [closed, setClosed] = useState<string | null>(null);
  useEffect(() => {
    // The list is read by the engine's worker, which a first visit need not load before Start.
    if (hasKeptRuns()) commands.listRuns();
  }, []);
  if (state === 'running' || state === 'paused' || state === 'loading') return null;
  const run = resumable(runs ?? []);
  if (!run || run.id === closed) return null;
  const elsewhere = run.going === 'elsewhere';
  return (
    <Alert
      data-testid="resume-banner"
      variant="light"
      role="status"
      withCloseButton
      closeButtonLabel="Not now"
      onClose={() => setClosed(run.id)}
    >
      <Group justify="space-between" gap="sm">
        <Text size="sm">
          <b>{run.name}</b>{' '}
          {elsewhere
            ? 'goes in another tab.'
            : `was interrupted. It was saved at ${placeOf(run)}, ${formatAge(Date.now() - run.saved!.at)}.`}
        </Text>
        {!elsewhere && (
          <Button
            size="xs"
            data-testid="resume-run"
            onClick={() => {
              go('live');
              commands.resumeRun(run.id, backend);
            }}
          >
            Go on
          </Button>
        )}
      </Group>
    </Alert>
  );
}
