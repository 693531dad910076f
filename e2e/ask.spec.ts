/** The Ask screen: a problem is drawn and asked in several ways, stopped, and asked of the model of a paused run. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, type Page, test } from '@playwright/test';
import { seriousFaults } from './accessibility.ts';

const models = fileURLToPath(new URL('../models/', import.meta.url));

interface Scope {
  polypath: {
    start(recipe: unknown, options: object): void;
    state(): { run: string; errors: readonly string[] };
  };
}

async function choose(page: Page, field: string, option: string | RegExp): Promise<void> {
  await page.getByRole('combobox', { name: field }).click();
  await page.getByRole('option', { name: option }).click();
}

test('the shipped model answers alone, in parallel and by a vote at equal tokens; a question can be stopped', async ({
  page,
}) => {
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  await page.goto('./#/recipe');
  await choose(page, 'Compute', 'Processor');
  await page.getByTestId('go-ask').click();
  await page.getByTestId('draw-question').click();
  await expect(page.getByTestId('question')).toHaveValue(/^([+-]\d+){2,3}$/);
  await expect(page.getByTestId('gold')).toHaveValue(/^\d+$/);

  await page.getByTestId('question').fill('+8+23-5');
  await page.getByTestId('gold').fill('26');
  await page.getByTestId('question').press('Enter');
  for (const way of ['sequential', 'parallel', 'vote']) {
    const column = page.getByTestId(`answer-${way}`);
    await expect(column.getByTestId('ask-answer')).toHaveText(/^(\d+|no answer)$/, { timeout: 60_000 });
    await expect(column).toContainText(/✓ right|✗ it is 26/);
    await expect(column.getByTestId('tree').first()).toBeVisible();
  }
  // As many votes as the tokens of the parallel answer buy.
  const tokensOf = async (way: string) =>
    Number((await page.getByTestId(`answer-${way}`).locator('dd').first().textContent())!.replace(/\D/g, ''));
  const votes = Math.max(1, Math.floor((await tokensOf('parallel')) / (await tokensOf('sequential'))));
  await expect(page.getByTestId('answer-vote')).toContainText(`${votes} responses vote`);
  await page.getByText('What the model was asked').click();
  await expect(page.getByText('+8+23-5!')).toBeVisible();
  expect(await seriousFaults(page)).toEqual([]);

  // Many votes take a while: stopped, then asked again.
  await page.getByText('Settings', { exact: true }).click();
  await page.getByLabel('Vote at equal tokens').uncheck();
  await page.getByRole('textbox', { name: 'Votes' }).fill('128');
  await page.getByTestId('ask').click();
  await page.getByTestId('stop-asking').click();
  await expect(page.getByTestId('ask')).toBeVisible();
  await expect(page.getByTestId('answer-vote')).toContainText('was stopped');

  // What the model has no tokens for is said in a sentence, and the question stays.
  await page.getByTestId('question').fill('why?');
  await page.getByTestId('ask').click();
  await expect(page.getByTestId('error')).toContainText('no tokens for a part of "why');
  await expect(page.getByTestId('question')).toHaveValue('why?');
  expect(errors).toEqual([]);
});

test('the model of a run is asked while the run goes, which then goes on; later its checkpoint', async ({
  page,
}) => {
  await page.goto('./');
  const recipe = JSON.parse(await readFile(`${models}tiny-recipe.json`, 'utf8'));
  recipe.name = 'Asked meanwhile';
  recipe.evaluation.sets = recipe.evaluation.sets.slice(0, 1);
  recipe.stages = recipe.stages.filter(({ name }: { name: string }) => name === 'base-a');
  recipe.stages[0].steps = 100_000;
  await page.evaluate(
    (document) =>
      (window as unknown as Scope).polypath.start(document, { backend: 'wasm', store: true, scale: 1 }),
    recipe,
  );
  const stage = page.getByTestId('stage-base-a');
  await expect(stage).toContainText(/[1-9]\d* \/ 100,?000/, { timeout: 60_000 });
  await page.getByTestId('go-ask').click();
  await choose(page, 'Model', /^The run: Asked meanwhile/);
  await page.getByTestId('question').fill('+3+4');
  await page.locator('label', { hasText: /^Vote$/ }).click();
  await page.getByTestId('ask').click();
  const answers = page.getByTestId('ask-answer');
  await expect(answers).toHaveCount(2, { timeout: 60_000 });
  await page.getByTestId('go-live').click();
  const done = async () =>
    Number(/([\d,]+) \/ 100,?000/.exec((await stage.textContent())!)![1].replace(/,/g, ''));
  const before = await done();
  await expect.poll(done, { timeout: 30_000 }).toBeGreaterThan(before);

  await page.getByTestId('stop').click();
  await page.getByTestId('go-ask').click();
  await page.getByTestId('ask').click();
  await expect(answers).toHaveCount(2, { timeout: 60_000 });
  expect(await page.evaluate(() => (window as unknown as Scope).polypath.state().errors)).toEqual([]);
});
