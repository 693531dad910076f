import { describe, test } from 'vitest';
import { expectOpMatches, requireWebGpu } from '../../testing.ts';
import { swigluCases, swigluGradCases, swigluPackedCases, swigluPackedGradCases } from './swiglu.cases.ts';
import { swigluGradOp, swigluOp } from './swiglu.ts';
import { swigluPackedGradOp, swigluPackedOp } from './swiglu-packed.ts';

const tolerance = { atol: 1e-6, rtol: 2e-5, why: 'WGSL exp: 3 + 2·|x| ulp, at most 25 ulp where it counts' };

describe.skipIf(!(await requireWebGpu()))('swiglu on WebGPU equals its reference', () => {
  test.each(swigluCases())('forward, $name', (c) => expectOpMatches(swigluOp, c, tolerance));
  test.each(swigluGradCases())('gradient, $name', (c) => expectOpMatches(swigluGradOp, c, tolerance));
  test.each(swigluPackedCases())('packed, $name', (c) => expectOpMatches(swigluPackedOp, c, tolerance));
  test.each(swigluPackedGradCases())('packed gradient, $name', (c) =>
    expectOpMatches(swigluPackedGradOp, c, tolerance),
  );
});
