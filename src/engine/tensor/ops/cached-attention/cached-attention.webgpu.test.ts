import { describe, test } from 'vitest';
import { expectOpMatches, requireWebGpu } from '../../testing.ts';
import { cachedAttentionCases } from './cached-attention.cases.ts';
import { cachedAttentionOp } from './cached-attention.ts';

const tolerance = {
  atol: 2e-5,
  rtol: 2e-5,
  why: 'float32 sums of up to 600 terms against double sums, and WGSL exp (3 + 2·|x| ulp)',
};

describe.skipIf(!(await requireWebGpu()))('cached-attention on WebGPU equals its reference', () => {
  // The caches, which change in place, are compared too.
  test.each(cachedAttentionCases())('$name', (c) => expectOpMatches(cachedAttentionOp, c, tolerance));
});
