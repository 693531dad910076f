/** Start, pause, step, stop, export, and what to start. */
import { Button, FileButton, Group, NumberInput, Select, Stack, Text } from '@mantine/core';
import { downloadZip } from 'client-zip';
import { useEffect, useState } from 'react';
import { loadRecipe, type OfferedRecipe, offeredRecipes, readRecipeFile } from '../../store/recipes.ts';
import { type BackendChoice, commands, showError, useStudio } from '../../store/studio-store.ts';

/** The recipe that a person opened from a file. */
const OPENED = 'opened';

const COMPUTE = [
  { value: 'auto', label: 'Automatic' },
  { value: 'webgpu', label: 'WebGPU' },
  { value: 'wasm', label: 'Processor' },
] as const;

async function exportModel(name: string): Promise<void> {
  const files = await commands.export();
  const zip = await downloadZip(files.map(({ path, bytes }) => ({ name: path, input: bytes }))).blob();
  const url = URL.createObjectURL(zip);
  const link = document.createElement('a');
  link.href = url;
  link.download = `polypath-${name.toLowerCase().replace(/[^a-z0-9]+/g, '-')}.zip`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export function RunBar() {
  const run = useStudio((state) => state.run);
  const name = useStudio((state) => state.stages[state.current]?.name ?? 'model');
  const hasModel = useStudio((state) => state.parameters > 0);
  const [offered, setOffered] = useState<OfferedRecipe[]>([]);
  const [chosen, setChosen] = useState<string | null>(null);
  const [opened, setOpened] = useState<{ name: string; recipe: unknown } | null>(null);
  const [scale, setScale] = useState<number | string>(1);
  const [backend, setBackend] = useState<BackendChoice>('auto');

  useEffect(() => {
    offeredRecipes().then(
      (list) => {
        setOffered(list);
        setChosen((now) => now ?? list[0]?.file ?? null);
      },
      (error: Error) => showError(error.message),
    );
  }, []);

  const busy = run === 'running' || run === 'paused' || run === 'loading';
  const start = async () => {
    try {
      const recipe = chosen === OPENED ? opened?.recipe : await loadRecipe(chosen ?? '');
      commands.start(recipe, { scale: Number(scale) || 1, backend });
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
  const description = offered.find(({ file }) => file === chosen)?.description;

  return (
    <Stack gap={6}>
      <Group gap="sm" align="flex-end" wrap="wrap">
        <Select
          label="Recipe"
          data={[
            ...offered.map(({ file, title }) => ({ value: file, label: title })),
            ...(opened ? [{ value: OPENED, label: opened.name }] : []),
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
          onChange={(value) => setBackend(value ?? 'auto')}
          allowDeselect={false}
          disabled={busy}
          w={130}
        />
        <NumberInput
          label="Scale"
          aria-description="Multiplies the steps of every stage"
          value={scale}
          onChange={setScale}
          min={0.001}
          max={10}
          step={0.1}
          w={90}
          disabled={busy}
        />
        <Group gap="xs">
          {!busy && (
            <Button data-testid="start" onClick={start} disabled={!chosen} size="sm">
              Start
            </Button>
          )}
          {run === 'running' && (
            <Button data-testid="pause" onClick={commands.pause}>
              Pause
            </Button>
          )}
          {run === 'paused' && (
            <Button data-testid="resume" onClick={commands.resume}>
              Resume
            </Button>
          )}
          <Button data-testid="step" variant="default" onClick={commands.step} disabled={run !== 'paused'}>
            Step
          </Button>
          <Button data-testid="stop" variant="default" onClick={commands.stop} disabled={!busy}>
            Stop
          </Button>
          <Button
            data-testid="export"
            variant="default"
            onClick={() => exportModel(name)}
            disabled={!hasModel}
          >
            Export
          </Button>
        </Group>
      </Group>
      {description && !busy && (
        <Text size="sm" c="dimmed">
          {description}
        </Text>
      )}
    </Stack>
  );
}
