import { describe, test } from 'vitest';
import { expectOpMatches, requireWebGpu } from '../../testing.ts';
import { rmsNormCases, rmsNormGradCases } from './rms-norm.cases.ts';
import { rmsNormGradOp, rmsNormOp } from './rms-norm.ts';

const tolerance = {
  atol: 2e-5,
  rtol: 2e-5,
  why: 'float32 sums over up to 600 terms of size 1, in another order',
};

describe.skipIf(!(await requireWebGpu()))('rms-norm on WebGPU equals its reference', () => {
  test.each(rmsNormCases())('forward, $name', (c) => expectOpMatches(rmsNormOp, c, tolerance));
  test.each(rmsNormGradCases())('gradient, $name', (c) => expectOpMatches(rmsNormGradOp, c, tolerance));
});
