import { afterAll, beforeAll, describe, test } from 'vitest';
import { expectOpMatches, requireWebGpu } from '../../testing.ts';
import { type KernelStyle, setKernelStyle } from '../../wgsl.ts';
import { logitChunkTests } from './logit-chunk.checks.ts';
import { logitLossCases, logitLossGradCases } from './logit-loss.cases.ts';
import { logitLossGradOp, logitLossOp } from './token-loss.ts';

const tolerance = {
  atol: 3e-5,
  rtol: 3e-6,
  why: 'lse of size 100 has a last bit of 8e-6; WGSL exp 3 + 2·|x| ulp',
};
const gradTolerance = {
  atol: 3e-5,
  rtol: 2e-4,
  why: 'p = e^(x − lse) with an lse of size 100 is good to 2e-5, times log p',
};

describe.skipIf(!(await requireWebGpu()))('logit-loss on WebGPU equals its reference', () => {
  describe.each<KernelStyle>(['tiled', 'direct'])('%s', (style) => {
    beforeAll(() => setKernelStyle(style));
    afterAll(() => setKernelStyle('tiled'));
    logitChunkTests(tolerance, gradTolerance);

    test.each(logitLossCases())('forward, $name', (c) => expectOpMatches(logitLossOp, c, tolerance));
    test.each(logitLossGradCases())('gradient, $name', (c) =>
      expectOpMatches(logitLossGradOp, c, gradTolerance),
    );
  });
});
