/** The Runs screen: two seeds of a recipe compared, named, shared by link, taken out as a bundle, deleted and taken in. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, type Page, test } from '@playwright/test';
import { unzipSync } from 'fflate';
import { seriousFaults } from './accessibility.ts';

const models = fileURLToPath(new URL('../models/', import.meta.url));

interface Scope {
  polypath: {
    start(recipe: unknown, options: object): void;
    state(): { run: string; errors: readonly string[]; kept: { name: string; state: string }[] | null };
  };
}

/** Runs a recipe to its end on the processor and keeps it. */
async function keep(page: Page, recipe: { name: string }): Promise<void> {
  await page.evaluate(
    (document) =>
      (window as unknown as Scope).polypath.start(document, { backend: 'wasm', store: true, scale: 1 }),
    recipe,
  );
  const state = () => page.evaluate(() => (window as unknown as Scope).polypath.state());
  const finished = async () => {
    const { kept, errors } = await state();
    return errors.length > 0 || kept?.some((run) => run.name === recipe.name && run.state === 'finished');
  };
  await expect.poll(finished, { timeout: 120_000 }).toBe(true);
  expect((await state()).errors).toEqual([]);
}

const menuOf = (page: Page, name: string) => page.getByRole('button', { name: `More for ${name}` }).click();

test('runs are compared over seeds, named, shared, bundled, deleted and taken in again', async ({
  page,
  context,
}) => {
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto('./#/runs');
  await expect(page.getByText('No run is kept yet')).toBeVisible();

  const recipe = JSON.parse(await readFile(`${models}tiny-recipe.json`, 'utf8'));
  recipe.stages = recipe.stages.filter(
    ({ name }: { name: string }) => name === 'base-a' || name === 'rl-hard',
  );
  for (const stage of recipe.stages) stage.steps = 3;
  recipe.evaluation.sets = recipe.evaluation.sets.slice(0, 1);
  for (const [name, seed, learningRate] of [
    ['Chains, seed 1', 1, 0.003],
    ['Chains, seed 2', 2, 0.003],
    ['Chains, slower', 1, 0.001],
  ] as const) {
    const [first, ...rest] = recipe.stages;
    await keep(page, { ...recipe, name, seed, stages: [{ ...first, learningRate }, ...rest] });
  }

  // Compared: the two seeds are one line, the third run another, and what differs is told.
  const table = page.getByTestId('runs-table');
  await expect(table.getByRole('row')).toHaveCount(4);
  for (const name of ['Chains, seed 1', 'Chains, seed 2', 'Chains, slower'])
    await page.getByRole('checkbox', { name: `Compare ${name}` }).check();
  const comparison = page.getByTestId('comparison');
  await expect(comparison).toContainText('3 runs compared');
  await expect(comparison).toContainText('Chains (2 seeds)');
  await expect(page.getByTestId('compare-settings')).toContainText('base-a › learningRate');
  await expect(page.getByTestId('compare-scores')).toContainText(/Chains\s*2\s*\d\.\d{3} ± \d/);
  expect(page.url()).toMatch(/#\/runs\?compare=[^,]+/);
  expect(await seriousFaults(page)).toEqual([]);

  // Named, with notes, which a reload still shows; the comparison comes back by its address.
  await menuOf(page, 'Chains, slower');
  await page.getByRole('menuitem', { name: 'Name and notes…' }).click();
  await page.getByLabel('Name', { exact: true }).fill('A slower one');
  await page.getByRole('textbox', { name: 'Notes' }).fill('one third of the rate');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.reload();
  await expect(table).toContainText('A slower one');
  await expect(table).toContainText('one third of the rate');
  await expect(comparison).toContainText('3 runs compared');

  // The link has the recipe in it: another page opens it.
  await menuOf(page, 'Chains, seed 2');
  await page.getByRole('menuitem', { name: 'Copy a link to its recipe' }).click();
  const link = await page.waitForFunction(() => navigator.clipboard.readText());
  const other = await context.newPage();
  await other.goto(String(await link.jsonValue()));
  await expect(other.getByRole('combobox', { name: 'Recipe' })).toHaveValue('Chains, seed 2');
  await other.close();

  // Out as a file, deleted, and in again.
  await menuOf(page, 'Chains, seed 1');
  const saving = page.waitForEvent('download');
  await page.getByRole('menuitem', { name: 'Save as a bundle', exact: true }).click();
  const path = (await (await saving).path())!;
  const members = Object.keys(unzipSync(await readFile(path)));
  expect(members.slice(0, 2)).toEqual(['bundle.json', 'run.json']);
  expect(members).toEqual(expect.arrayContaining(['events.jsonl', 'checkpoints/rl-hard/model.safetensors']));
  await menuOf(page, 'Chains, seed 1');
  await page.getByRole('menuitem', { name: 'Delete…' }).click();
  await page.getByRole('menuitem', { name: 'Delete for good' }).click();
  await expect(table).not.toContainText('Chains, seed 1');
  await page.getByTestId('bundle-file').setInputFiles(path);
  await expect(table).toContainText('Chains, seed 1');
  await page.getByRole('button', { name: 'Chains, seed 1', exact: true }).click();
  await expect(page.getByTestId('stage-rl-hard')).toContainText('3 / 3');

  // What is no bundle is refused in a sentence.
  await page.goto('./#/runs');
  await page
    .getByTestId('bundle-file')
    .setInputFiles({ name: 'odd.zip', mimeType: 'application/zip', buffer: Buffer.from('no zip') });
  await expect(page.getByTestId('error')).toContainText(/odd\.zip/);
  expect(errors).toEqual([]);
});
