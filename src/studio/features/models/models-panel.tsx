/** The Models screen: what runs can start from, and what they came to. */
import { Card, Stack, Text } from '@mantine/core';
import { useEffect } from 'react';
import { commands, useStudio } from '../../store/studio-store.ts';
import { Checkpoints } from './checkpoints.tsx';
import { KeptModels } from './kept-models.tsx';
import { LoadModel } from './load-model.tsx';
import { ModelCard } from './model-card.tsx';
import { ModelProgress } from './model-progress.tsx';
import './models.css';

export function ModelsPanel() {
  const model = useStudio((state) => state.model);
  const progress = useStudio((state) => state.modelProgress);
  useEffect(() => {
    commands.listModels();
    commands.listRuns();
  }, []);
  return (
    <Stack gap="md">
      <LoadModel />
      {progress && <ModelProgress progress={progress} />}
      {model && <ModelCard model={model} />}
      <KeptModels />
      <Checkpoints />
      <Card>
        <Text fw={600}>From scratch</Text>
        <Text size="sm" c="dimmed">
          A recipe whose model has the source “scratch” makes a new one of any size; the default recipe does.
          Choose it on the Recipe screen.
        </Text>
      </Card>
    </Stack>
  );
}
