/** Journeys: what a person does, in the built app, in real Chromium with WebGPU (software where there is no GPU). */
import { defineConfig } from '@playwright/test';
import { chromiumArguments, chromiumPath } from './chromium.ts';

/** Of the built app's server; two working copies side by side need two. */
const port = Number(process.env.POLYPATH_PORT ?? 4791);

export default defineConfig({
  testDir: '.',
  testMatch: '*.spec.ts',
  outputDir: '../test-results',
  // Software WebGPU takes every core it can get: two journeys at once only time out together.
  workers: 1,
  timeout: 240_000,
  expect: { timeout: 30_000 },
  reporter: [['list'], ['json', { outputFile: '../test-results/journeys.json' }]],
  use: {
    baseURL: `http://127.0.0.1:${port}/`,
    viewport: { width: 1280, height: 900 },
    launchOptions: { executablePath: chromiumPath(), args: chromiumArguments },
    screenshot: 'only-on-failure',
  },
  webServer: {
    command: `npx vite build --logLevel warn && npx vite preview --host 127.0.0.1 --port ${port} --strictPort`,
    cwd: '..',
    port,
    timeout: 120_000,
    reuseExistingServer: false,
  },
});
