import { describe, expect, test } from 'vitest';
import { openBackend } from './device.ts';
import { requireWebGpu } from './testing.ts';
import { tf } from './tfjs.ts';
import type { PolypathBackend } from './webgpu-backend.ts';

describe.skipIf(!(await requireWebGpu()))('device', () => {
  test('auto takes WebGPU on a graphics card only', async () => {
    const software = (await openBackend('webgpu')).software;
    const report = await openBackend('auto');
    expect(report.backend).toBe(software ? 'wasm' : 'webgpu');
    if (software) expect(report.notice).toMatch(/software.*Compute: WebGPU/);
  });

  test('WebGPU has the limits of the adapter', async () => {
    const report = await openBackend('webgpu');
    expect(report.backend).toBe('webgpu');
    expect(report.name).not.toBe('');
    expect(report.notice === null).toBe(!report.software);
    const { limits } = (tf.backend() as unknown as PolypathBackend).device;
    const adapter = (await navigator.gpu.requestAdapter())!;
    expect(limits.maxStorageBufferBindingSize).toBe(adapter.limits.maxStorageBufferBindingSize);
    expect(limits.maxBufferSize).toBe(adapter.limits.maxBufferSize);
  });

  test('opening WebGPU again gives a new device that works', async () => {
    const first = tf.backend();
    await openBackend('webgpu');
    expect(tf.backend()).not.toBe(first);
    const y = tf.tidy(() => tf.matMul(tf.tensor2d([[1, 2]]), tf.tensor2d([[3], [4]])));
    expect([...(await y.data())]).toEqual([11]);
    y.dispose();
  });

  test('wasm runs in the browser from the files that Vite serves', async () => {
    expect(await openBackend('wasm')).toMatchObject({
      backend: 'wasm',
      name: 'WebAssembly SIMD',
      notice: null,
    });
    const y = tf.tidy(() => tf.matMul(tf.tensor2d([[1, 2]]), tf.tensor2d([[3], [4]])));
    expect([...(await y.data())]).toEqual([11]);
    y.dispose();
    await openBackend('webgpu');
  });
});
