/** `npm start` in a fresh clone: nothing may reload the page when the engine loads, or the first run is lost. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@playwright/test';
import { createServer } from 'vite';

test('the development server serves a page whose first Start trains', async ({ page }) => {
  // An empty cache, as in a fresh clone
  const cacheDir = await mkdtemp(join(tmpdir(), 'polypath-vite-'));
  const server = await createServer({
    root: fileURLToPath(new URL('..', import.meta.url)),
    cacheDir,
    logLevel: 'warn',
    server: { port: 0, host: '127.0.0.1' },
  });
  try {
    await server.listen();
    let loads = 0;
    page.on('load', () => loads++);
    const failures: string[] = [];
    page.on('pageerror', (error) => failures.push(error.message));
    page.on('response', (response) => {
      if (response.status() >= 400) failures.push(`${response.status()} ${response.url()}`);
    });
    const address = server.httpServer?.address();
    await page.goto(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`);
    await page.evaluate(() => {
      const scope = window as unknown as {
        steps: number;
        polypath: { onEvent(listener: (event: { type: string }) => void): void };
      };
      scope.steps = 0;
      scope.polypath.onEvent((event) => {
        if (event.type === 'step') scope.steps++;
      });
    });
    // The shipped base model, on the processor: both are fetched in other ways than in the built page.
    await page.getByTestId('go-recipe').click();
    await page.getByRole('combobox', { name: 'Recipe' }).click();
    await page.getByRole('option', { name: /^Parallel chain sums, from the base model/ }).click();
    await page.getByRole('combobox', { name: 'Compute' }).click();
    await page.getByRole('option', { name: 'Processor' }).click();
    await page.getByTestId('start').click();
    await expect
      .poll(() => page.evaluate(() => (window as unknown as { steps: number }).steps), { timeout: 120_000 })
      .toBeGreaterThanOrEqual(2);
    expect(loads).toBe(1);
    expect(failures).toEqual([]);
  } finally {
    await server.close();
    await rm(cacheDir, { recursive: true, force: true });
  }
});
