/** Own data: files in, columns mapped, rows mended, what a reload finds, and a whole journey on GSM8K. */
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BrowserContext, chromium, expect, type Page, test } from '@playwright/test';
import { unzipSync } from 'fflate';
import { readModelFolder } from '../src/engine/model/checkpoint.ts';
import { loadTokenizer } from '../src/engine/tokenizer/hf-tokenizer.ts';
import { chromiumArguments, chromiumPath } from './chromium.ts';

/** Beside the repository, here and in CI. */
const GSM8K = fileURLToPath(new URL('../../shared/data/math/gsm8k_train.jsonl', import.meta.url));

interface State {
  run: string;
  errors: readonly string[];
  log: { length: number; column(name: string): Float64Array };
}
type Scope = {
  polypath: {
    start(recipe: unknown, options: object): void;
    save(): void;
    state(): State;
    onEvent(listener: (event: { type: string; step?: number }) => void): () => void;
  };
};

/** With what went wrong, if something did. */
const runState = (page: Page) =>
  expect.poll(
    () =>
      page.evaluate(() => {
        const { run, errors } = (window as unknown as Scope).polypath.state();
        return [run, ...errors].join(' ');
      }),
    { timeout: 120_000 },
  );
const losses = (page: Page): Promise<number[]> =>
  page.evaluate(() => Array.from((window as unknown as Scope).polypath.state().log.column('loss')));
const jsonl = (rows: readonly object[]): Buffer =>
  Buffer.from(rows.map((row) => JSON.stringify(row)).join('\n'));
const choose = (page: Page, name: string, buffer: Buffer) =>
  page.getByTestId('data-file').setInputFiles([{ name, mimeType: 'application/octet-stream', buffer }]);

test('columns are mapped, rows are mended, rows are looked at, a reload finds it all, and it can be deleted', async ({
  page,
}) => {
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  await page.goto('./#/data');
  await choose(
    page,
    'odd.jsonl',
    jsonl(Array.from({ length: 12 }, (_, n) => ({ frage: `What is ${n}+1?`, loesung: `It is ${n + 1}.` }))),
  );
  const refused = page.getByTestId('data-refused');
  await expect(refused).toContainText(/no usable row \(12 read\).*frage, loesung/);
  for (const [role, column] of [
    ['Prompt', 'frage'],
    ['Completion', 'loesung'],
  ]) {
    await refused.getByRole('combobox', { name: role }).click();
    await page.getByRole('option', { name: column }).click();
  }
  await expect(refused).toContainText('It is 1.');
  await page.getByTestId('use-mapping').click();
  const odd = page.getByRole('region', { name: 'Data set odd.jsonl' });
  await expect(odd).toContainText('12 of 12 rows kept');
  await expect(refused).toHaveCount(0);
  await odd.getByTestId('show-rows').click();
  await odd.getByRole('button', { name: '3', exact: true }).click();
  await expect(odd.getByTestId('rows')).toContainText('What is 11+1?');

  const damaged = `{"prompt": "a", "completion": "b"}\n{"prompt": "Half?", "completion": "$\\frac{1}{2}$",}\nnot a row`;
  await choose(page, 'damaged.jsonl', Buffer.from(damaged));
  const mended = page.getByRole('region', { name: 'Data set damaged.jsonl' });
  await expect(mended).toContainText('1 of 3 rows kept, 2 left out');
  await mended.getByText('mend', { exact: true }).click();
  await expect(mended).toContainText('2 of 3 rows kept, 1 left out');
  await expect(mended).toContainText('under-escaped LaTeX');

  await page.reload();
  await expect(odd).toContainText('12 of 12 rows kept');
  await expect(mended).toContainText('2 of 3 rows kept, 1 left out');
  await expect(mended).toContainText('Drop the file again');
  await mended.getByTestId('show-rows').click();
  await expect(mended.getByTestId('rows')).toContainText('$\\frac{1}{2}$');
  await odd.getByTestId('delete-data').click();
  await odd.getByTestId('delete-data').click();
  await expect(odd).toHaveCount(0);
  await page.reload();
  await expect(mended).toBeVisible();
  await expect(odd).toHaveCount(0);
  expect(errors).toEqual([]);
});

test('GSM8K is dropped, trained on, killed in mid-step, gone on with exactly, and exported as a folder that reads back', async ({
  baseURL,
}) => {
  if (!existsSync(GSM8K)) {
    if (process.env.CI) throw new Error(`CI must have ${GSM8K}`);
    console.warn(`SKIPPED: this journey needs ${GSM8K}`);
    test.skip();
  }
  test.setTimeout(240_000);
  const recipe = {
    version: 1,
    name: 'GSM8K, a few steps',
    seed: 3,
    model: {
      source: 'scratch',
      vocabulary: 'characters',
      architecture: 'llama',
      hiddenSize: 32,
      intermediateSize: 64,
      layers: 2,
      heads: 2,
      kvHeads: 2,
      ropeTheta: 10000,
      tieWordEmbeddings: true,
      maxPositions: 256,
    },
    stages: [
      {
        kind: 'sft',
        name: 'sft',
        data: { source: 'dropped', name: 'gsm8k_train.jsonl' },
        steps: 40,
        batchSize: 4,
        learningRate: 1e-3,
        warmupSteps: 2,
        schedule: 'cosine',
        maxTokens: 256,
      },
    ],
    evaluation: { sets: [], rollout: {} },
  };
  const start = (page: Page) =>
    page.evaluate(
      (document) => (window as unknown as Scope).polypath.start(document, { backend: 'wasm', store: true }),
      recipe,
    );
  const profile = await mkdtemp(join(tmpdir(), 'polypath-own-data-'));
  let context: BrowserContext | null = null;
  const open = async (): Promise<Page> => {
    await context?.close();
    context = await chromium.launchPersistentContext(profile, {
      executablePath: chromiumPath(),
      args: chromiumArguments,
      acceptDownloads: true,
    });
    return context.newPage();
  };
  try {
    // What an uninterrupted run learns.
    const first = await open();
    await first.goto(`${baseURL}#/data`);
    await first.getByTestId('data-file').setInputFiles(GSM8K);
    const card = first.getByRole('region', { name: 'Data set gsm8k_train.jsonl' });
    await expect(card).toContainText(/GSM8K.*7,473 of 7,473 rows kept.*7,473 with an answer/s, {
      timeout: 60_000,
    });
    await start(first);
    await runState(first).toBe('finished');
    const whole = await losses(first);
    expect(whole).toHaveLength(40);
    expect(whole[39]).toBeLessThan(whole[0]);

    // A new start of the browser has the data still; this run is killed.
    const second = await open();
    await second.goto(baseURL!);
    const session = await second.context().newCDPSession(second);
    const crashed = second.waitForEvent('crash');
    await start(second);
    await second.evaluate(
      () =>
        new Promise<void>((resolve) => {
          const { polypath } = window as unknown as Scope;
          polypath.onEvent(({ type, step }) => {
            if (type === 'step' && step! >= 5) polypath.save();
            if (type === 'saved' && step! >= 5) resolve();
          });
        }),
    );
    void session.send('Page.crash').catch(() => {});
    await crashed;

    const third = await open();
    await third.goto(baseURL!);
    await third.getByRole('link', { name: 'Recipe' }).first().click();
    await third.getByRole('combobox', { name: 'Compute' }).click();
    await third.getByRole('option', { name: 'Processor' }).click();
    await third.getByTestId('resume-run').click();
    await runState(third).toBe('finished');
    expect(await losses(third)).toEqual(whole);

    await third.getByTestId('go-models').click();
    const download = third.waitForEvent('download');
    await third.getByTestId('export').click();
    const archive = unzipSync(await readFile((await (await download).path())!));
    const folder = readModelFolder(
      new Map(Object.entries(archive).map(([path, bytes]) => [path, bytes.slice().buffer as ArrayBuffer])),
    );
    expect(folder.config).toMatchObject({ hiddenSize: 32, layers: 2 });
    const tokenizer = loadTokenizer(folder.tokenizerJson, folder.tokenizerConfigJson);
    expect(tokenizer.decode(tokenizer.encode('Natalia sold 48/2 = 24 clips'))).toBe(
      'Natalia sold 48/2 = 24 clips',
    );
  } finally {
    await (context as BrowserContext | null)?.close();
    await rm(profile, { recursive: true, force: true });
  }
});
