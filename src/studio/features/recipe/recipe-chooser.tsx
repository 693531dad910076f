/** Which recipe Start will run, on what, and how much of it. */
import { Button, Card, FileButton, Group, NumberInput, Select, Stack, Text } from '@mantine/core';
import { chooseRecipe, OPENED, openRecipeFile, setScale, useDraft } from '../../store/recipe-draft.ts';
import { chooseCompute, showError, useStudio } from '../../store/studio-store.ts';
import { Icon } from '../../ui/icon.tsx';
import { shareRecipe } from '../../ui/share-recipe.ts';

const COMPUTE = [
  { value: 'auto', label: 'Automatic' },
  { value: 'webgpu', label: 'WebGPU' },
  { value: 'wasm', label: 'Processor' },
] as const;

/** Says what went wrong on the page instead of in the console. */
const told = (work: Promise<void>) => work.catch((error: Error) => showError(error.message));

export function RecipeChooser() {
  const { offered, experiments, chosen, openedName, scale, document } = useDraft();
  const run = useStudio((state) => state.run);
  const backend = useStudio((state) => state.compute);
  const busy = run === 'running' || run === 'paused' || run === 'loading';
  const choice = [...offered, ...experiments].find(({ file }) => file === chosen);
  const items = (list: typeof offered) => list.map(({ file, title }) => ({ value: file, label: title }));
  return (
    <Card component="section" aria-label="Choose a recipe">
      <Stack gap="xs">
        <Group gap="sm" align="flex-end" wrap="wrap">
          <Select
            label="Recipe"
            data={[
              {
                group: 'Recipes',
                items: [
                  ...items(offered),
                  ...(chosen === OPENED ? [{ value: OPENED, label: openedName }] : []),
                ],
              },
              { group: 'Experiments', items: items(experiments) },
            ]}
            value={chosen}
            onChange={(file) => file && file !== OPENED && void told(chooseRecipe(file))}
            allowDeselect={false}
            disabled={busy}
            miw={240}
            flex="1 1 240px"
            maw={460}
          />
          <FileButton
            onChange={(file) => file && void told(openRecipeFile(file))}
            accept="application/json,.json"
            inputProps={{ 'data-testid': 'recipe-file', 'aria-label': 'Recipe file' } as object}
          >
            {(props) => (
              <Button
                {...props}
                variant="default"
                disabled={busy}
                leftSection={<Icon name="upload" size={14} />}
              >
                Open…
              </Button>
            )}
          </FileButton>
          <Button
            variant="default"
            data-testid="share-recipe"
            disabled={document === null}
            onClick={() => void shareRecipe(document)}
            leftSection={<Icon name="link" size={14} />}
          >
            Copy link
          </Button>
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
            onChange={(value) => typeof value === 'number' && value > 0 && setScale(value)}
            min={0.001}
            max={10}
            step={0.1}
            suffix="×"
            w={96}
            disabled={busy}
          />
        </Group>
        {choice && (
          <Text size="sm" c="dimmed">
            {choice.description} Scale multiplies the steps of every stage; 0.1 is a quick look.
          </Text>
        )}
      </Stack>
    </Card>
  );
}
