import { expect, test } from 'vitest';
import { openBackend } from './device.ts';
import { tf } from './tfjs.ts';

test('without WebGPU, auto takes wasm and says so', async () => {
  const report = await openBackend('auto');
  expect(report).toMatchObject({ backend: 'wasm', name: 'WebAssembly SIMD', software: false });
  expect(report.notice).toMatch(/^No WebGPU here: .*\. Training runs on the processor instead, slowly\.$/);
  expect(tf.getBackend()).toBe('wasm');
});

test('wasm and cpu come as asked, without a notice', async () => {
  expect(await openBackend('wasm')).toMatchObject({ backend: 'wasm', notice: null });
  expect(await openBackend('cpu')).toMatchObject({ backend: 'cpu', notice: null });
  expect(tf.getBackend()).toBe('cpu');
});
