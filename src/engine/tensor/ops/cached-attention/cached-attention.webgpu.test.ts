import { afterAll, beforeAll, describe, test } from 'vitest';
import { expectOpMatches, requireWebGpu } from '../../testing.ts';
import { kernelStyle, setKernelStyle } from '../../wgsl.ts';
import { cachedAttentionCases, cachedAttentionPackedCases } from './cached-attention.cases.ts';
import { cachedAttentionOp } from './cached-attention.ts';
import { cachedAttentionPackedOp } from './cached-attention-packed.ts';

const tolerance = {
  atol: 2e-5,
  rtol: 2e-5,
  why: 'float32 sums of up to 600 terms against double sums, and WGSL exp (3 + 2·|x| ulp)',
};
const webgpu = await requireWebGpu();

// The caches, which change in place, are compared too.
describe.skipIf(!webgpu)('cached-attention on WebGPU equals its reference', () => {
  test.each(cachedAttentionCases())('$name', (c) => expectOpMatches(cachedAttentionOp, c, tolerance));
});

describe.skipIf(!webgpu).each(['tiled', 'direct'] as const)(
  'packed cached-attention on WebGPU, %s',
  (style) => {
    const before = kernelStyle();
    beforeAll(() => setKernelStyle(style));
    afterAll(() => setKernelStyle(before));

    test.each(cachedAttentionPackedCases())('$name', (c) =>
      expectOpMatches(cachedAttentionPackedOp, c, tolerance),
    );
  },
);
