import { afterEach, describe, expect, test, vi } from 'vitest';
import { rmsNormOp } from '../tensor/ops/rms-norm/rms-norm.ts';
import { requireWebGpu } from '../tensor/testing.ts';
import { type KernelStyle, kernelStyle, setKernelStyle } from '../tensor/wgsl.ts';
import { failedKernels, openDevice, passGate } from './kernel-gate.ts';

describe.skipIf(!(await requireWebGpu()))('the gate of the kernels', () => {
  const style = kernelStyle();
  afterEach(() => {
    setKernelStyle(style);
    vi.restoreAllMocks();
  });

  test.each<KernelStyle>(['tiled', 'direct'])('%s kernels pass', async (each) => {
    setKernelStyle(each);
    const { checked, failures } = await failedKernels();
    expect(failures).toEqual([]);
    expect(checked).toBeGreaterThanOrEqual(19);
  });

  test('a style that fails gives way to the other', async () => {
    const { wgsl } = rmsNormOp.spec;
    vi.spyOn(rmsNormOp.spec, 'wgsl').mockImplementation((inputs, outputs, attributes) =>
      wgsl!(inputs, outputs, kernelStyle() === 'direct' ? { eps: 0.5 } : attributes),
    );
    setKernelStyle('direct');
    const gate = await passGate();
    expect(gate).toMatchObject({ style: 'tiled' });
    expect(gate!.failures).toHaveLength(1);
    expect(kernelStyle()).toBe('tiled');
  });

  test('a kernel that computes something else is caught, by name; WebGPU is then left alone', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    const { wgsl } = rmsNormOp.spec;
    // As a driver might: everything runs, one number is wrong.
    vi.spyOn(rmsNormOp.spec, 'wgsl').mockImplementation((inputs, outputs) =>
      wgsl!(inputs, outputs, { eps: 0.5 }),
    );
    const { failures } = await failedKernels();
    expect(failures).toHaveLength(1);
    expect(failures[0]).toMatch(/^rms-norm: .*elements differ/);
    expect(await passGate()).toBeNull();
    const report = await openDevice('webgpu');
    expect(report.backend).toBe('wasm');
    expect(report.notice).toMatch(/computes wrong numbers/);
  });
});
