/** A run survives what happens to pages: a killed renderer, a reload, a second tab, a full disk. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BrowserContext, chromium, expect, type Page, test } from '@playwright/test';
import { chromiumArguments, chromiumPath } from './chromium.ts';

const tiny = fileURLToPath(new URL('../models/tiny-recipe.json', import.meta.url));

/** Two stages, some steps each: long enough to be killed in the middle. */
async function recipe(): Promise<{
  evaluation: { sets: unknown[] };
  stages: { name: string; steps: number }[];
}> {
  const document = JSON.parse(await readFile(tiny, 'utf8'));
  document.evaluation.sets = [];
  document.stages = document.stages
    .filter(({ name }: { name: string }) => ['base-a', 'rl-hard'].includes(name))
    .map((stage: { kind: string }) => ({ ...stage, steps: stage.kind === 'sft' ? 20 : 24 }));
  return document;
}

interface Polypath {
  start(recipe: unknown, options: object): void;
  save(): void;
  state(): {
    run: string;
    saved: { stage: number; step: number } | null;
    notices: string[];
    log: { length: number; column(name: string): Float64Array };
  };
  onEvent(
    listener: (event: { type: string; step?: number; stage?: string; message?: string }) => void,
  ): () => void;
}
type Scope = { polypath: Polypath };

const start = (page: Page, document: unknown): Promise<void> =>
  page.evaluate(
    (recipe) => (window as unknown as Scope).polypath.start(recipe, { backend: 'wasm', store: true }),
    document,
  );
const finished = (page: Page) =>
  expect
    .poll(() => page.evaluate(() => (window as unknown as Scope).polypath.state().run), { timeout: 90_000 })
    .toBe('finished');
/** What was learned, step by step. */
const curve = (page: Page): Promise<(number | null)[][]> =>
  page.evaluate(() => {
    const { log } = (window as unknown as Scope).polypath.state();
    return ['stage', 'step', 'loss', 'grad_norm', 'reward'].map((name) =>
      Array.from(log.column(name), (value) => (Number.isNaN(value) ? null : value)),
    );
  });
/** Asks for a save when a step of a stage is told, and waits until it is whole. */
const saveAt = (page: Page, stage: string, step: number): Promise<number> =>
  page.evaluate(
    ([name, least]) =>
      new Promise<number>((resolve) => {
        const { polypath } = window as unknown as Scope;
        polypath.onEvent((event) => {
          if (event.type === 'step' && event.stage === name && event.step! >= Number(least)) polypath.save();
          if (event.type === 'saved' && event.step! >= Number(least)) resolve(event.step!);
        });
      }),
    [stage, step] as const,
  );

async function withProfile(work: (open: () => Promise<BrowserContext>) => Promise<void>): Promise<void> {
  const profile = await mkdtemp(join(tmpdir(), 'polypath-profile-'));
  let context: BrowserContext | null = null;
  try {
    await work(async () => {
      await context?.close();
      context = await chromium.launchPersistentContext(profile, {
        executablePath: chromiumPath(),
        args: chromiumArguments,
      });
      return context;
    });
  } finally {
    await (context as BrowserContext | null)?.close();
    await rm(profile, { recursive: true, force: true });
  }
}

test('a run whose renderer is killed goes on after a new start of the browser, exactly', async ({
  baseURL,
}) => {
  test.setTimeout(180_000);
  const document = await recipe();
  await withProfile(async (open) => {
    const first = await (await open()).newPage();
    await first.goto(baseURL!);
    await start(first, document);
    await finished(first);
    const whole = await curve(first);
    expect(whole[0]).toHaveLength(44);

    const second = await (await open()).newPage();
    await second.goto(baseURL!);
    await start(second, document);
    // Opened before the save: on a busy machine that takes as long as the rest of the run.
    const session = await second.context().newCDPSession(second);
    const crashed = second.waitForEvent('crash');
    expect(await saveAt(second, 'rl-hard', 3)).toBeGreaterThanOrEqual(3);
    // In the middle of whatever it does now. The crash ends the page before it can answer.
    void session.send('Page.crash').catch(() => {});
    await crashed;

    const third = await (await open()).newPage();
    await third.goto(baseURL!);
    await expect(third.getByTestId('resume-banner')).toContainText(/was interrupted.*of rl-hard/);
    await third.screenshot({ path: 'test-results/resume-banner.png' });
    await third.getByRole('link', { name: 'Recipe' }).first().click();
    await third.getByRole('combobox', { name: 'Compute' }).click();
    await third.getByRole('option', { name: 'Processor' }).click();
    await third.getByTestId('resume-run').click();
    await finished(third);
    expect(await curve(third)).toEqual(whole);
  });
});

test('two tabs cannot write into one run', async ({ baseURL }) => {
  const document = await recipe();
  document.stages[1].steps = 400;
  await withProfile(async (open) => {
    const context = await open();
    const first = await context.newPage();
    await first.goto(baseURL!);
    await start(first, document);
    await saveAt(first, 'rl-hard', 1);
    const second = await context.newPage();
    await second.goto(baseURL!);
    await expect(second.getByTestId('resume-banner')).toContainText(/goes in another tab/);
    const id = await second.evaluate(
      () =>
        (window as unknown as { polypath: { state(): { kept: { id: string }[] } } }).polypath.state().kept[0]
          .id,
    );
    await second.evaluate(
      (run) =>
        (
          window as unknown as { polypath: { resumeRun(id: string, backend: string): void } }
        ).polypath.resumeRun(run, 'wasm'),
      id,
    );
    await expect(second.getByTestId('error')).toContainText(/another tab/, { timeout: 30_000 });
    // The first tab closes: its lock is free by itself, as soon as its process is gone.
    await first.close();
    await expect(async () => {
      await second.evaluate(
        (run) =>
          (
            window as unknown as { polypath: { resumeRun(id: string, backend: string): void } }
          ).polypath.resumeRun(run, 'wasm'),
        id,
      );
      await expect(second.getByTestId('state')).toContainText(/running/, { timeout: 5_000 });
    }).toPass({ timeout: 40_000 });
    await second.getByTestId('stop').click();
    await expect(second.getByTestId('state')).toContainText(/stopped/, { timeout: 30_000 });
  });
});

test('a full disk is told, the run goes on, and the last good save stays', async ({ baseURL }) => {
  await withProfile(async (open) => {
    const page = await (await open()).newPage();
    await page.goto(baseURL!);
    const document = await recipe();
    document.stages[1].steps = 30;
    await start(page, document);
    await saveAt(page, 'base-a', 2);
    const session = await page.context().newCDPSession(page);
    await session.send('Storage.overrideQuotaForOrigin', {
      origin: new URL(baseURL!).origin,
      quotaSize: 1000,
    });
    const told = page.evaluate(
      () =>
        new Promise<string>((resolve) => {
          const { polypath } = window as unknown as Scope;
          polypath.onEvent((event) => {
            if (event.type === 'notice' && /full|could not be kept/.test(event.message ?? ''))
              resolve(event.message!);
          });
        }),
    );
    expect(await told).toMatch(/disk space of this page is full.*last good save stays.*run goes on/s);
    await finished(page);
  });
});
