/**
 * Two vitest projects, run from the repository root:
 * `npx vitest run -c e2e/vitest.config.ts --project unit` (Node) and `--project kernel` (Chromium with WebGPU).
 * The kernel project fails without an adapter, unless POLYPATH_ALLOW_NO_WEBGPU=1.
 */
import { fileURLToPath } from 'node:url';
import { playwright } from '@vitest/browser-playwright';
import { defineConfig } from 'vitest/config';
import { chromiumArguments, chromiumPath } from './chromium.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

const tensorflow = [
  '@tensorflow/tfjs-core',
  '@tensorflow/tfjs-core/dist/register_all_gradients',
  '@tensorflow/tfjs-backend-cpu',
  '@tensorflow/tfjs-backend-wasm',
  '@tensorflow/tfjs-backend-webgpu',
];

export default defineConfig({
  root,
  test: {
    projects: [
      {
        root,
        test: {
          name: 'unit',
          environment: 'node',
          include: ['src/**/*.test.{ts,tsx}'],
          exclude: ['src/**/*.webgpu.test.ts'],
          testTimeout: 60_000,
        },
      },
      {
        root,
        // Found before the first test: a dependency discovered later reloads the page in the middle of a run.
        optimizeDeps: { include: tensorflow },
        test: {
          name: 'kernel',
          include: ['src/**/*.webgpu.test.ts'],
          // Read by requireWebGpu in src/engine/tensor/testing.ts.
          env: { POLYPATH_ALLOW_NO_WEBGPU: process.env.POLYPATH_ALLOW_NO_WEBGPU ?? '' },
          testTimeout: 120_000,
          hookTimeout: 60_000,
          browser: {
            enabled: true,
            headless: true,
            screenshotFailures: false,
            provider: playwright({
              launchOptions: { executablePath: chromiumPath(), args: chromiumArguments },
            }),
            instances: [{ browser: 'chromium' }],
          },
        },
      },
    ],
  },
});
