import { afterAll, beforeAll, describe, test } from 'vitest';
import { expectOpMatches, requireWebGpu } from '../../testing.ts';
import { kernelStyle, setKernelStyle } from '../../wgsl.ts';
import { ropeAttentionCases, ropeAttentionGradCases } from './rope-attention.cases.ts';
import { ropeAttentionGradOp, ropeAttentionOp } from './rope-attention.ts';

const tolerance = {
  atol: 2e-5,
  rtol: 2e-5,
  why: 'float32 sums of up to 128 products against double sums, and WGSL exp (3 + 2·|x| ulp, scores up to about 20)',
};
const gradTolerance = {
  ...tolerance,
  atol: 2e-4,
  rtol: 1e-4,
  why: `${tolerance.why}, twice over and summed over queries`,
};

describe.skipIf(!(await requireWebGpu()))('rope-attention on WebGPU equals its reference', () => {
  test.each(ropeAttentionCases())('forward, $name', (c) => expectOpMatches(ropeAttentionOp, c, tolerance));
  test.each(ropeAttentionGradCases())('gradient, $name', (c) =>
    expectOpMatches(ropeAttentionGradOp, c, gradTolerance),
  );
});

describe.skipIf(!(await requireWebGpu()))('rope-attention on WebGPU in the direct style', () => {
  const before = kernelStyle();
  beforeAll(() => setKernelStyle('direct'));
  afterAll(() => setKernelStyle(before));

  const short = ({ attributes }: { attributes: { D: number } }) => attributes.D <= 16;
  test.each(ropeAttentionCases().filter(short))('forward, $name', (c) =>
    expectOpMatches(ropeAttentionOp, c, tolerance),
  );
  test.each(ropeAttentionGradCases().filter(short))('gradient, $name', (c) =>
    expectOpMatches(ropeAttentionGradOp, c, gradTolerance),
  );
});
