/** Start, pause, step, stop, export, and what to start. */
import { Button, FileButton, Group, NumberInput, Select, Stack, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { isExperiment, type RunState } from '../../../worker/protocol.ts';
import { planExperiment, runExperiment } from '../../store/experiment.ts';
import {
  loadRecipe,
  type OfferedRecipe,
  offeredExperiments,
  offeredRecipes,
  readRecipeFile,
} from '../../store/recipes.ts';
import { chooseCompute, commands, showError, useStudio } from '../../store/studio-store.ts';
import './run-bar.css';
import { archiveName, exportModel } from './export-model.ts';

/** The recipe that a person opened from a file. */
const OPENED = 'opened';

const COMPUTE = [
  { value: 'auto', label: 'Automatic' },
  { value: 'webgpu', label: 'WebGPU' },
  { value: 'wasm', label: 'Processor' },
] as const;

interface MainAction {
  id: string;
  label: string;
  act(): void;
  waiting?: boolean;
  disabled?: boolean;
}

/** What the one large button does now. It stays the same element, so that the keyboard's focus stays on it. */
function mainAction(run: RunState, start: () => void, ready: boolean): MainAction {
  if (run === 'running') return { id: 'pause', label: 'Pause', act: commands.pause };
  if (run === 'paused') return { id: 'resume', label: 'Resume', act: commands.resume };
  if (run === 'loading') return { id: 'loading', label: 'Loading…', act: () => {}, waiting: true };
  return { id: 'start', label: 'Start', act: start, disabled: !ready };
}

export function RunBar() {
  const run = useStudio((state) => state.run);
  const stage = useStudio((state) => state.stages[state.current]?.name ?? '');
  const recipeName = useStudio((state) => state.recipe?.name ?? 'model');
  const backend = useStudio((state) => state.compute);
  const hasModel = useStudio((state) => state.parameters > 0);
  const [offered, setOffered] = useState<OfferedRecipe[]>([]);
  const [experiments, setExperiments] = useState<OfferedRecipe[]>([]);
  const [chosen, setChosen] = useState<string | null>(null);
  const [opened, setOpened] = useState<{ name: string; recipe: unknown } | null>(null);
  const [scale, setScale] = useState<number | string>(1);
  const [exporting, setExporting] = useState(false);

  useEffect(() => {
    offeredRecipes().then(
      (list) => {
        setOffered(list);
        setChosen((now) => now ?? list[0]?.file ?? null);
      },
      (error: Error) => showError(error.message),
    );
    offeredExperiments().then(setExperiments, (error: Error) => showError(error.message));
  }, []);

  const busy = run === 'running' || run === 'paused' || run === 'loading';
  const choice = [...offered, ...experiments].find(({ file }) => file === chosen);
  const start = async () => {
    try {
      const recipe = choice ? await loadRecipe(choice.file) : opened?.recipe;
      const options = { scale: Number(scale) || 1, backend };
      if (!isExperiment(recipe)) commands.start(recipe, options);
      else
        await runExperiment(await planExperiment(recipe, loadRecipe), {
          start: (arm) => commands.start(arm, options),
          onEvent: commands.onEvent,
        });
    } catch (error) {
      showError((error as Error).message);
    }
  };
  const open = async (file: File | null) => {
    if (!file) return;
    try {
      setOpened({ name: file.name, recipe: await readRecipeFile(file) });
      setChosen(OPENED);
    } catch (error) {
      showError((error as Error).message);
    }
  };
  const save = async () => {
    setExporting(true);
    try {
      await exportModel(archiveName(recipeName, stage));
    } catch (error) {
      showError((error as Error).message);
    }
    setExporting(false);
  };
  const main = mainAction(run, start, choice !== undefined || opened !== null);

  return (
    <Stack gap={6} component="section" aria-label="Run">
      <Group gap="sm" align="flex-end" wrap="wrap">
        <Select
          label="Recipe"
          data={[
            {
              group: 'Recipes',
              items: [
                ...offered.map(({ file, title }) => ({ value: file, label: title })),
                ...(opened ? [{ value: OPENED, label: opened.name }] : []),
              ],
            },
            {
              group: 'Experiments',
              items: experiments.map(({ file, title }) => ({ value: file, label: title })),
            },
          ]}
          value={chosen}
          onChange={setChosen}
          allowDeselect={false}
          disabled={busy}
          miw={260}
          flex="1 1 260px"
          maw={420}
        />
        <FileButton
          onChange={open}
          accept="application/json,.json"
          inputProps={{ 'data-testid': 'recipe-file', 'aria-label': 'Recipe file' } as object}
        >
          {(props) => (
            <Button {...props} variant="default" disabled={busy}>
              Open recipe…
            </Button>
          )}
        </FileButton>
        <Select
          label="Compute"
          data={COMPUTE}
          value={backend}
          onChange={(value) => chooseCompute(value ?? 'auto')}
          allowDeselect={false}
          disabled={busy}
          w={130}
        />
        <NumberInput
          label="Scale"
          title="Multiplies the steps of every stage: 0.1 is a quick look"
          aria-description="Multiplies the steps of every stage: 0.1 is a quick look"
          value={scale}
          onChange={setScale}
          // An empty field would pass for some number or other: it says which.
          onBlur={() => scale === '' && setScale(1)}
          min={0.001}
          max={10}
          step={0.1}
          suffix="×"
          w={96}
          disabled={busy}
        />
        <Group gap="xs" className="run-buttons">
          <Button
            data-testid={main.id}
            onClick={main.act}
            disabled={main.disabled}
            aria-disabled={main.waiting}
            miw={104}
          >
            {main.label}
          </Button>
          <Button data-testid="step" variant="default" onClick={commands.step} disabled={run !== 'paused'}>
            Step
          </Button>
          <Button data-testid="stop" variant="default" onClick={commands.stop} disabled={!busy}>
            Stop
          </Button>
          <Button
            data-testid="export"
            variant="default"
            onClick={save}
            disabled={!hasModel}
            loading={exporting}
          >
            Export
          </Button>
        </Group>
      </Group>
      {choice && !busy && (
        <Text size="sm" c="dimmed">
          {choice.description} Scale multiplies the steps of every stage; 0.1 is a quick look.
        </Text>
      )}
    </Stack>
  );
}
