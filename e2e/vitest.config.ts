/**
 * Two vitest projects, run from the repository root:
 * `npx vitest run -c e2e/vitest.config.ts --project unit` (Node) and `--project kernel` (Chromium with WebGPU).
 * The kernel project fails without an adapter, unless POLYPATH_ALLOW_NO_WEBGPU=1.
 */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { playwright } from '@vitest/browser-playwright';
import { defineConfig } from 'vitest/config';

const root = fileURLToPath(new URL('..', import.meta.url));

/** CHROMIUM_PATH, the system's Chromium, or undefined for Playwright's own. */
function chromiumPath(): string | undefined {
  if (process.env.CHROMIUM_PATH) return process.env.CHROMIUM_PATH;
  try {
    return execFileSync('which', ['chromium'], { encoding: 'utf8' }).trim() || undefined;
  } catch {
    return undefined;
  }
}

/** Software WebGPU without a display; on a machine with a GPU set POLYPATH_WEBGPU_ADAPTER to "" for the real one. */
const adapter = process.env.POLYPATH_WEBGPU_ADAPTER ?? 'swiftshader';
const chromiumArguments = [
  '--no-sandbox',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--enable-unsafe-webgpu',
  ...(adapter ? [`--use-webgpu-adapter=${adapter}`] : []),
  '--enable-features=Vulkan',
];

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
