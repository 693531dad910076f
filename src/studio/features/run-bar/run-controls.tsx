/** Start, pause, single step and stop: on every screen, at the same place. */
import { Button, Group } from '@mantine/core';
import type { RunState } from '../../../worker/protocol.ts';
import { useDraft } from '../../store/recipe-draft.ts';
import { go } from '../../store/route.ts';
import { startDraft } from '../../store/start.ts';
import { commands, useStudio } from '../../store/studio-store.ts';
import { Icon, type IconName } from '../../ui/icon.tsx';

interface MainAction {
  id: string;
  label: string;
  icon: IconName;
  act(): void;
  waiting?: boolean;
  disabled?: boolean;
}

/** What the one large button does now. It stays the same element, so that the keyboard's focus stays on it. */
function mainAction(run: RunState, ready: boolean): MainAction {
  if (run === 'running') return { id: 'pause', label: 'Pause', icon: 'pause', act: commands.pause };
  if (run === 'paused') return { id: 'resume', label: 'Resume', icon: 'play', act: commands.resume };
  if (run === 'loading')
    return { id: 'loading', label: 'Loading…', icon: 'play', act: () => {}, waiting: true };
  const start = () => {
    go('live');
    void startDraft();
  };
  return { id: 'start', label: 'Start', icon: 'play', act: start, disabled: !ready };
}

export function RunControls() {
  const run = useStudio((state) => state.run);
  const ready = useDraft((draft) => draft.document !== null);
  const busy = run === 'running' || run === 'paused' || run === 'loading';
  const main = mainAction(run, ready);
  return (
    <Group gap={6} wrap="nowrap" component="section" aria-label="Run">
      <Button
        data-testid={main.id}
        onClick={main.act}
        disabled={main.disabled}
        aria-disabled={main.waiting}
        leftSection={<Icon name={main.icon} size={14} />}
        px="md"
      >
        {main.label}
      </Button>
      {busy && (
        <>
          <Button
            data-testid="step"
            variant="default"
            onClick={commands.step}
            disabled={run !== 'paused'}
            leftSection={<Icon name="step" size={14} />}
            visibleFrom="xs"
          >
            Step
          </Button>
          <Button
            data-testid="stop"
            variant="default"
            onClick={commands.stop}
            leftSection={<Icon name="stop" size={14} />}
          >
            Stop
          </Button>
        </>
      )}
    </Group>
  );
}
