/** Where Chromium is and how it is started, for journeys, kernel tests and the headless commands alike. */
import { execFileSync } from 'node:child_process';

/** CHROMIUM_PATH, the system's Chromium, or undefined for Playwright's own. */
export function chromiumPath(): string | undefined {
  if (process.env.CHROMIUM_PATH) return process.env.CHROMIUM_PATH;
  try {
    return execFileSync('which', ['chromium'], { encoding: 'utf8' }).trim() || undefined;
  } catch {
    return undefined;
  }
}

/** Software WebGPU needs no display; on a machine with a GPU set POLYPATH_WEBGPU_ADAPTER to "" for the real one. */
const adapter = process.env.POLYPATH_WEBGPU_ADAPTER ?? 'swiftshader';

export const chromiumArguments = [
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
