/** The Models screen: a checkpoint loaded and exported, its folder taken in, kept, fine-tuned and deleted. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, type Page, test } from '@playwright/test';
import { unzipSync } from 'fflate';
import { seriousFaults } from './accessibility.ts';

const models = fileURLToPath(new URL('../models/', import.meta.url));

interface Scope {
  polypath: {
    start(recipe: unknown, options: object): void;
    state(): { run: string; errors: readonly string[] };
  };
}

const state = (page: Page) => page.evaluate(() => (window as unknown as Scope).polypath.state());

async function finish(page: Page): Promise<void> {
  await expect
    .poll(
      async () => {
        const { run, errors } = await state(page);
        return errors[0] ?? run;
      },
      { timeout: 120_000 },
    )
    .toBe('finished');
}

test('a checkpoint is loaded and exported; its folder comes in, stays, is fine-tuned and deleted', async ({
  page,
}) => {
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  await page.goto('./#/models');
  await expect(page.getByText('What you load stays here')).toBeVisible();

  const recipe = JSON.parse(await readFile(`${models}tiny-recipe.json`, 'utf8'));
  recipe.name = 'Small one';
  recipe.stages = recipe.stages.filter(
    ({ name }: { name: string }) => name === 'base-a' || name === 'rl-hard',
  );
  for (const stage of recipe.stages) stage.steps = 2;
  await page.evaluate(
    (document) =>
      (window as unknown as Scope).polypath.start(document, { backend: 'wasm', store: true, scale: 1 }),
    recipe,
  );
  await finish(page);

  // The run's two checkpoints, in the order of its stages.
  const checkpoints = page.getByTestId('checkpoints');
  await expect(checkpoints.getByRole('row')).toHaveCount(3);
  await expect(checkpoints.getByRole('row').nth(1)).toContainText('base-a');
  await expect(checkpoints.getByRole('row').nth(2)).toContainText(/easy \d\.\d{3}/);
  const saving = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export rl-hard of Small one' }).click();
  const download = await saving;
  expect(download.suggestedFilename()).toBe('polypath-small-one-rl-hard.zip');
  const folder = Object.entries(unzipSync(await readFile((await download.path())!)));
  expect(folder.map(([path]) => path)).toEqual(
    expect.arrayContaining(['config.json', 'model.safetensors', 'tokenizer.json']),
  );
  await page.getByRole('button', { name: 'Load base-a of Small one' }).click();
  const card = page.getByTestId('model-card');
  await expect(card).toContainText('base-a');
  const kept = page.getByTestId('kept-models');
  await expect(kept.getByRole('row')).toHaveCount(2);

  // The exported folder comes in as any other, and is there after a reload.
  await page.getByTestId('model-files').setInputFiles(
    folder.map(([name, bytes]) => ({
      name,
      mimeType: 'application/octet-stream',
      buffer: Buffer.from(bytes),
    })),
  );
  await expect(kept.getByRole('row')).toHaveCount(3);
  expect(await seriousFaults(page)).toEqual([]);
  await page.reload();
  await expect(kept.getByRole('row')).toHaveCount(3);
  await kept
    .getByRole('button', { name: /^Load / })
    .first()
    .click();
  await expect(card).toContainText('llama');
  await expect(card).toContainText('Hugging Face');

  // Fine-tuned from the card: the recipe opens, and Start runs it.
  await page.getByTestId('fine-tune').click();
  await expect(page).toHaveURL(/#\/recipe/);
  await expect(page.getByRole('combobox', { name: 'Recipe' })).toHaveValue(/^Fine-tune /);
  await page.getByRole('combobox', { name: 'Compute' }).click();
  await page.getByRole('option', { name: 'Processor' }).click();
  await page.getByLabel('Scale').fill('0.02');
  await page.getByTestId('start').click();
  await finish(page);
  await expect(page.getByTestId('stage-sft')).toContainText('2 / 2');

  // A cut file is refused in a sentence that names it.
  await page.goto('./#/models');
  const weights = folder.find(([path]) => path === 'model.safetensors')!;
  await page.getByTestId('model-files').setInputFiles(
    folder.map(([name, bytes]) => ({
      name,
      mimeType: 'application/octet-stream',
      buffer: Buffer.from(name === weights[0] ? bytes.subarray(0, bytes.length - 100) : bytes),
    })),
  );
  await expect(page.getByTestId('error')).toContainText(/model\.safetensors/);

  for (const left of [2, 1]) {
    await expect(kept.getByRole('row')).toHaveCount(left + 1);
    await kept
      .getByRole('button', { name: /^Delete / })
      .first()
      .click();
    await kept.getByRole('button', { name: /for good$/ }).click();
  }
  await expect(page.getByText('What you load stays here')).toBeVisible();
  expect(errors).toEqual([]);
});
