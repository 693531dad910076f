/** The stages of the run in order, each with its progress, remaining time and speed. */
import { Badge, Card, Group, Progress, Stack, Text } from '@mantine/core';
import { formatDuration, formatNumber } from '../../store/format.ts';
import { runEta, type StageProgress, secondsPerStep, stageEta } from '../../store/studio-state.ts';
import { useStudio } from '../../store/studio-store.ts';

const KIND = { sft: 'SFT', grpo: 'GRPO' } as const;

function Stage({ stage, active, speed }: { stage: StageProgress; active: boolean; speed: number }) {
  const seconds = secondsPerStep(stage);
  return (
    <div data-testid={`stage-${stage.name}`}>
      <Group justify="space-between" gap="xs" wrap="nowrap">
        <Group gap={8} wrap="nowrap">
          <Text size="sm" fw={active ? 600 : 400}>
            {stage.name}
          </Text>
          <Badge size="xs" variant="light" color={stage.kind === 'sft' ? 'gray' : undefined}>
            {KIND[stage.kind]}
          </Badge>
        </Group>
        <Text size="xs" c="dimmed">
          {stage.done} / {stage.steps}
        </Text>
      </Group>
      <Progress
        value={(100 * stage.done) / stage.steps}
        size={6}
        mt={4}
        aria-label={`Progress of stage ${stage.name}`}
        transitionDuration={0}
      />
      {active && (
        <Text size="xs" c="dimmed" mt={4}>
          {formatDuration(stageEta(stage))} left ·{' '}
          {seconds === null ? '–' : `${formatNumber(seconds)} s a step`} · {formatNumber(speed)} tokens/s
        </Text>
      )}
    </div>
  );
}

export function StageList() {
  const stages = useStudio((state) => state.stages);
  const current = useStudio((state) => state.current);
  const run = useStudio((state) => state.run);
  const speed = useStudio((state) => (state.version >= 0 ? state.log.last('perf/tokens_per_second') : 0));
  if (stages.length === 0) return null;
  return (
    <Card>
      <Group justify="space-between" mb="sm">
        <Text fw={600}>Stages</Text>
        <Text size="xs" c="dimmed">
          {run === 'finished' ? 'finished' : `about ${formatDuration(runEta(stages))} left in all`}
        </Text>
      </Group>
      <Stack gap="sm">
        {stages.map((stage, i) => (
          <Stage key={stage.name} stage={stage} active={i === current && run !== 'finished'} speed={speed} />
        ))}
      </Stack>
    </Card>
  );
}
