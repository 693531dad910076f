/** The seven screens: which features stand on each. */
import { Card, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { AskPanel } from '../features/ask/ask-panel.tsx';
import { Curves } from '../features/curves/curves.tsx';
import { DataPanel } from '../features/data/data-panel.tsx';
import { ExperimentPanel } from '../features/experiment/experiment-panel.tsx';
import { ModelsPanel } from '../features/models/models-panel.tsx';
import { RecipeChooser } from '../features/recipe/recipe-chooser.tsx';
import { CurrentGroup, LastRollouts } from '../features/rollouts/rollouts.tsx';
import { RunsPanel } from '../features/runs/runs-panel.tsx';
import { StageList } from '../features/stages/stage-list.tsx';
import { Welcome } from '../features/welcome/welcome.tsx';
import type { Screen } from '../store/route.ts';
import { useStudio } from '../store/studio-store.ts';

/** What stands where nothing is yet, and how to get something there. */
function Nothing({ children }: { children: ReactNode }) {
  return (
    <Card p="xl">
      <Text c="dimmed" ta="center">
        {children}
      </Text>
    </Card>
  );
}

function RecipeScreen() {
  return (
    <>
      <RecipeChooser />
      <ExperimentPanel />
      <StageList />
    </>
  );
}

function LiveScreen() {
  const started = useStudio((state) => state.stages.length > 0);
  const parameters = useStudio((state) => state.parameters);
  const name = useStudio((state) => state.recipe?.name ?? '');
  if (!started)
    return (
      <>
        <Welcome />
        <ExperimentPanel />
      </>
    );
  return (
    <div className="columns">
      <div className="column-stages">
        <Text size="sm" c="dimmed" mb="xs">
          {name} · {parameters.toLocaleString('en')} parameters
        </Text>
        <StageList />
      </div>
      <div className="column-live">
        <ExperimentPanel />
        <CurrentGroup />
        <Curves />
      </div>
    </div>
  );
}

function TrajectoriesScreen() {
  const any = useStudio((state) => state.records.length > 0 || state.group !== null);
  if (!any)
    return <Nothing>Rollouts appear here once a GRPO stage samples its first group. Press Start.</Nothing>;
  return (
    <>
      <CurrentGroup />
      <LastRollouts />
    </>
  );
}

export const SCREEN_VIEWS = {
  recipe: RecipeScreen,
  live: LiveScreen,
  trajectories: TrajectoriesScreen,
  data: DataPanel,
  models: ModelsPanel,
  ask: AskPanel,
  runs: RunsPanel,
} satisfies Record<Screen, () => ReactNode>;
