/** Helpers of kernel and unit tests. */
import { openBackend } from './device.ts';

export * from './op-check.ts';

/**
 * Opens WebGPU for a kernel test. Without an adapter it throws, so that no test passes by being skipped; only
 * POLYPATH_ALLOW_NO_WEBGPU=1 turns that into `false`.
 */
export async function requireWebGpu(): Promise<boolean> {
  const report = await openBackend('webgpu');
  if (report.backend === 'webgpu') return true;
  if (import.meta.env.POLYPATH_ALLOW_NO_WEBGPU === '1') return false;
  throw new Error(`Kernel tests need WebGPU. ${report.notice}`);
}
