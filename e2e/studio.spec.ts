/** What a newcomer does: Start, watch, pause, step, stop, export; and what happens with files that are no good. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, type Page, test } from '@playwright/test';
import { unzipSync } from 'fflate';
import { readModelFolder } from '../src/engine/model/checkpoint.ts';

const models = fileURLToPath(new URL('../models/', import.meta.url));

/** The default stages on a model small enough for software WebGPU. */
async function tinyRecipe(): Promise<Buffer> {
  const recipe = JSON.parse(await readFile(`${models}tiny-recipe.json`, 'utf8'));
  recipe.evaluation.sets = [];
  recipe.stages = recipe.stages.filter(({ name }: { name: string }) => ['base-a', 'rl-hard'].includes(name));
  for (const stage of recipe.stages) stage.steps = stage.kind === 'sft' ? 3 : 50;
  return Buffer.from(JSON.stringify(recipe));
}

/** By the rail on the left. */
const visit = (page: Page, screen: string): Promise<void> => page.getByTestId(`go-${screen}`).click();

async function openRecipe(page: Page, content: Buffer | string): Promise<void> {
  await visit(page, 'recipe');
  const buffer = typeof content === 'string' ? Buffer.from(content) : content;
  await page
    .getByTestId('recipe-file')
    .setInputFiles({ name: 'recipe.json', mimeType: 'application/json', buffer });
}

/** Steps that the page has been told of, by stage. */
const steps = (page: Page, stage: string): Promise<number> =>
  page.evaluate((name) => (window as unknown as { seen: Record<string, number> }).seen[name] ?? 0, stage);

async function open(page: Page): Promise<void> {
  await page.goto('./');
  await page.evaluate(() => {
    const scope = window as unknown as {
      seen: Record<string, number>;
      polypath: { onEvent(listener: (event: { type: string; stage: string; step: number }) => void): void };
    };
    scope.seen = {};
    scope.polypath.onEvent((event) => {
      if (event.type === 'step') scope.seen[event.stage] = event.step;
    });
  });
}

test('a newcomer starts a run on WebGPU, watches both kinds of stage, pauses, steps, stops and exports', async ({
  page,
}) => {
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  await open(page);
  await openRecipe(page, await tinyRecipe());
  // Left to itself the page takes the processor where WebGPU runs in software.
  await page.getByRole('combobox', { name: 'Compute' }).click();
  await page.getByRole('option', { name: 'WebGPU' }).click();
  await page.getByTestId('start').click();
  await expect(page.getByTestId('device')).toContainText(/webgpu/i, { timeout: 60_000 });
  await expect.poll(() => steps(page, 'base-a'), { timeout: 90_000 }).toBe(3);

  // A tree with two paths and a join grows while it is sampled, before the step is done.
  const forked = page
    .getByTestId('tree')
    .filter({ has: page.getByTestId('tree-join') })
    .first();
  await expect(forked).toBeVisible({ timeout: 120_000 });
  expect(await forked.getByTestId('tree-path').count()).toBeGreaterThanOrEqual(2);
  await expect.poll(() => steps(page, 'rl-hard'), { timeout: 150_000 }).toBeGreaterThanOrEqual(1);

  await page.getByTestId('pause').click();
  await expect(page.getByTestId('state')).toContainText(/paused/i);
  // What was under way when Pause was pressed may still be told; then nothing moves.
  await page.waitForTimeout(2000);
  const paused = await steps(page, 'rl-hard');
  await page.waitForTimeout(4000);
  expect(await steps(page, 'rl-hard')).toBe(paused);

  await page.getByTestId('step').click();
  await expect.poll(() => steps(page, 'rl-hard'), { timeout: 120_000 }).toBe(paused + 1);
  await page.waitForTimeout(4000);
  expect(await steps(page, 'rl-hard')).toBe(paused + 1);

  await visit(page, 'models');
  const download = page.waitForEvent('download');
  await page.getByTestId('export').click();
  const archive = unzipSync(await readFile((await (await download).path())!));
  const files = new Map(
    Object.entries(archive).map(([path, bytes]) => [path, bytes.slice().buffer as ArrayBuffer]),
  );
  const folder = readModelFolder(files);
  expect(folder.config.layers).toBeGreaterThan(0);
  expect(folder.tokenizerJson).not.toBeNull();

  await page.getByTestId('stop').click();
  await expect(page.getByTestId('state')).toContainText(/stopped/i);
  expect(errors).toEqual([]);
});

test('bad input gets a sentence, and the page goes on', async ({ page }) => {
  await open(page);
  const error = page.getByTestId('error');
  const recipe = JSON.parse(await readFile(`${models}tiny-recipe.json`, 'utf8'));

  await openRecipe(page, JSON.stringify({ ...recipe, stagez: [] }));
  await page.getByTestId('start').click();
  await expect(error).toContainText(/stagez.*stages/s);

  await openRecipe(page, 'not json');
  await expect(error).toContainText(/JSON/);

  await visit(page, 'data');
  const drop = (name: string, buffer: Buffer) =>
    page.getByTestId('data-file').setInputFiles([{ name, mimeType: 'application/octet-stream', buffer }]);
  await drop('empty.jsonl', Buffer.alloc(0));
  await expect(error).toContainText(/empty\.jsonl/);
  await drop('photo.jsonl', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0, 0, 0, 0xff, 0xfe]));
  await expect(error).toContainText(/photo\.jsonl/);

  // A model folder with a missing tensor
  const config = JSON.stringify({
    model_type: 'llama',
    vocab_size: 4,
    hidden_size: 4,
    intermediate_size: 4,
    num_hidden_layers: 1,
    num_attention_heads: 2,
  });
  const header = Buffer.from(
    JSON.stringify({ 'model.norm.weight': { dtype: 'F32', shape: [4], data_offsets: [0, 16] } }).padEnd(88),
  );
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  await page.getByTestId('data-file').setInputFiles([
    { name: 'config.json', mimeType: 'application/json', buffer: Buffer.from(config) },
    {
      name: 'model.safetensors',
      mimeType: 'application/octet-stream',
      buffer: Buffer.concat([length, header, Buffer.alloc(16)]),
    },
  ]);
  await expect(error).toContainText(/model\.embed_tokens\.weight/);

  // Nothing is stuck: a good recipe still starts.
  await openRecipe(page, await tinyRecipe());
  await page.getByTestId('start').click();
  await expect(page.getByTestId('stop')).toBeEnabled();
  await page.getByTestId('stop').click();
  await expect(page.getByTestId('state')).toContainText(/stopped/i, { timeout: 60_000 });
});

test('a dropped GSM8K file becomes a data set, bad lines are reported, and a scratch model trains on it', async ({
  page,
}) => {
  await open(page);
  const row = (n: number) =>
    JSON.stringify({
      question: `Tom has ${n} apples and buys ${n}. How many?`,
      answer: `${n}+${n}=<<${n}+${n}=${2 * n}>>${2 * n}\n#### ${2 * n}`,
    });
  await visit(page, 'data');
  const lines = [
    row(1),
    row(2),
    '{"question": "cut off',
    row(3),
    '{"other": 1}',
    ...Array.from({ length: 8 }, (_, n) => row(n + 4)),
  ];
  await page
    .getByTestId('data-file')
    .setInputFiles([
      { name: 'apples.jsonl', mimeType: 'application/jsonl', buffer: Buffer.from(lines.join('\n')) },
    ]);
  const report = page.getByTestId('dataset-report');
  await expect(report).toContainText('apples.jsonl');
  await expect(report).toContainText('11');
  await expect(report).toContainText(/line 3|3/);
  await page.getByTestId('train-on-file').click();
  await expect.poll(() => steps(page, 'sft'), { timeout: 120_000 }).toBeGreaterThanOrEqual(2);
  await page.getByTestId('stop').click();
  await expect(page.getByTestId('state')).toContainText(/stopped/i, { timeout: 60_000 });
});

test('an experiment runs its arms one after the other and compares them in a table', async ({ page }) => {
  await open(page);
  const experiment = {
    kind: 'experiment',
    name: 'Two arms',
    recipe: 'tiny-recipe.json',
    arms: [{ name: 'unseen' }, { name: 'seen', set: { 'structure.variant': 'seen' } }],
    seeds: [0, 1],
    report: { sets: ['easy', 'hard'], metrics: ['eval/mean@k', 'parallel/ratio'] },
  };
  await openRecipe(page, JSON.stringify(experiment));
  await page.getByRole('combobox', { name: 'Compute' }).click();
  await page.getByRole('option', { name: 'Processor' }).click();
  await page.getByTestId('start').click();
  const panel = page.getByTestId('experiment');
  await expect(panel).toContainText('0 of 4 runs done');
  await expect(panel).toContainText('4 of 4 runs done', { timeout: 120_000 });
  const rows = page.getByTestId('experiment-table').getByRole('row');
  await expect(rows).toHaveCount(3);
  await expect(rows.nth(2)).toContainText(/seen.*±/);
  const download = page.waitForEvent('download');
  await panel.getByRole('button', { name: 'Save report' }).click();
  const report = JSON.parse(await readFile(await (await download).path(), 'utf8'));
  expect(Object.keys(report.arms)).toEqual(['unseen', 'seen']);
  expect(report.arms.seen.hard['eval/mean@k'].values).toHaveLength(2);
  await page.screenshot({ path: 'test-results/experiment.png', fullPage: true });
});
