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

const webgpu = await requireWebGpu();

// In the direct style longer heads have a test of their own, that of packed attention.
const LONGEST = { tiled: 128, direct: 16 };

describe.skipIf(!webgpu).each(['tiled', 'direct'] as const)(
  'rope-attention on WebGPU equals its reference, %s',
  (style) => {
    const before = kernelStyle();
    const few = <C extends { attributes: { D: number } }>(cases: C[]): C[] =>
      cases.filter(({ attributes }) => attributes.D <= LONGEST[style]);
    beforeAll(() => setKernelStyle(style));
    afterAll(() => setKernelStyle(before));

    test.each(few(ropeAttentionCases()))('forward, $name', (c) =>
      expectOpMatches(ropeAttentionOp, c, tolerance),
    );
    test.each(few(ropeAttentionGradCases()))('gradient, $name', (c) =>
      expectOpMatches(ropeAttentionGradOp, c, gradTolerance),
    );
  },
);
