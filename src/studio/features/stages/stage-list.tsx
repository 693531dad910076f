/** The stages of the run in order, each with its progress, remaining time and speed. */
import { Badge, Card, Group, Progress, Stack, Text } from '@mantine/core';
import { memo } from 'react';
import { formatCount, formatDuration, formatNumber } from '../../store/format.ts';
import { runEta, type StageProgress, secondsPerStep, stageEta } from '../../store/studio-state.ts';
import { useStudio } from '../../store/studio-store.ts';

const KIND = { sft: 'SFT', grpo: 'GRPO' } as const;

/** What is known of a stage's time: how long it took, how long it still takes, or how long it will take. */
function timeOf(stage: StageProgress, active: boolean, eta: number | null): string {
  const speed = stage.seconds > 0 ? `${formatNumber(stage.tokens / stage.seconds)} tokens/s` : '';
  if (stage.done >= stage.steps)
    return stage.seconds > 0 ? `took ${formatDuration(stage.seconds)} · ${speed}` : '';
  if (!active) return eta === null ? '' : `about ${formatDuration(eta)}`;
  const seconds = secondsPerStep(stage);
  return seconds === null
    ? 'first step…'
    : `${formatDuration(eta)} left · ${formatNumber(seconds)} s a step · ${speed}`;
}

interface StageProps {
  stage: StageProgress;
  active: boolean;
  time: string;
}

const Stage = memo(function Stage({ stage, active, time }: StageProps) {
  return (
    <div data-testid={`stage-${stage.name}`} aria-current={active ? 'step' : undefined}>
      <Group justify="space-between" gap="xs" wrap="nowrap">
        <Group gap={8} wrap="nowrap">
          <Text size="sm" fw={active ? 650 : 400}>
            {stage.name}
          </Text>
          <Badge size="xs" variant="light" color={stage.kind === 'sft' ? 'gray' : undefined}>
            {KIND[stage.kind]}
          </Badge>
        </Group>
        <Text size="xs" c="dimmed" className="stage-count">
          {formatCount(stage.done)} / {formatCount(stage.steps)}
        </Text>
      </Group>
      <Progress
        value={(100 * stage.done) / stage.steps}
        size={6}
        mt={4}
        aria-label={`Progress of stage ${stage.name}`}
        transitionDuration={0}
      />
      {time && (
        <Text size="xs" c="dimmed" mt={4}>
          {time}
        </Text>
      )}
    </div>
  );
});

function remaining(stages: readonly StageProgress[]): string {
  const eta = runEta(stages);
  if (eta === null) return '';
  return `${eta.whole ? 'about' : 'more than'} ${formatDuration(eta.seconds)} left in all`;
}

export function StageList() {
  const stages = useStudio((state) => state.stages);
  const current = useStudio((state) => state.current);
  const run = useStudio((state) => state.run);
  if (stages.length === 0) return null;
  const going = run === 'running' || run === 'paused';
  return (
    <Card component="section" aria-label="Stages">
      <Group justify="space-between" mb="sm" gap="xs">
        <Text fw={600}>Stages</Text>
        <Text size="xs" c="dimmed">
          {going ? remaining(stages) : run}
        </Text>
      </Group>
      <Stack gap="sm">
        {stages.map((stage, i) => {
          const active = i === current && going;
          return (
            <Stage
              key={stage.name}
              stage={stage}
              active={active}
              time={timeOf(stage, active, going ? stageEta(stage, stages) : null)}
            />
          );
        })}
      </Stack>
    </Card>
  );
}
