import { afterAll, beforeAll, describe, test } from 'vitest';
import { expectOpMatches, requireWebGpu } from '../../testing.ts';
import { kernelStyle, setKernelStyle } from '../../wgsl.ts';
import { addNormOp, normGradAddOp } from './add-norm.ts';
import { addNormCases, normGradAddCases, rmsNormCases, rmsNormGradCases } from './rms-norm.cases.ts';
import { rmsNormGradOp, rmsNormOp } from './rms-norm.ts';

const tolerance = {
  atol: 2e-5,
  rtol: 2e-5,
  why: 'float32 sums over up to 600 terms of size 1, in another order',
};

const webgpu = await requireWebGpu();

describe.skipIf(!webgpu).each(['tiled', 'direct'] as const)(
  'rms-norm on WebGPU equals its reference, %s',
  (style) => {
    const before = kernelStyle();
    beforeAll(() => setKernelStyle(style));
    afterAll(() => setKernelStyle(before));

    test.each(rmsNormCases())('forward, $name', (c) => expectOpMatches(rmsNormOp, c, tolerance));
    test.each(rmsNormGradCases())('gradient, $name', (c) => expectOpMatches(rmsNormGradOp, c, tolerance));
    test.each(addNormCases())('add-norm, $name', (c) => expectOpMatches(addNormOp, c, tolerance));
    test.each(normGradAddCases())('added gradient, $name', (c) =>
      expectOpMatches(normGradAddOp, c, tolerance),
    );
  },
);
