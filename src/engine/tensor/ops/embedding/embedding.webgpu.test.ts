import { describe, expect, test } from 'vitest';
import { expectOpMatches, requireWebGpu, runOp } from '../../testing.ts';
import { embeddingCases, embeddingGradCases, embeddingPieceCases } from './embedding.cases.ts';
import { embeddingGradAddOp, embeddingGradOp, embeddingOp, embeddingRowsOp } from './embedding.ts';

const exact = { atol: 0, rtol: 0, why: 'rows are copied' };
const sums = {
  atol: 2e-5,
  rtol: 1e-5,
  why: 'the reference rounds to float32 after every term, too, but fused ones differ',
};

describe.skipIf(!(await requireWebGpu()))('embedding on WebGPU equals its reference', () => {
  test.each(embeddingCases())('forward, $name', (c) => expectOpMatches(embeddingOp, c, exact));
  test.each(embeddingGradCases())('gradient, $name', (c) => expectOpMatches(embeddingGradOp, c, sums));
  test.each(embeddingPieceCases('rows'))('a piece, $name', (c) => expectOpMatches(embeddingRowsOp, c, exact));
  test.each(embeddingPieceCases('grad'))('gradient of a piece, $name', (c) =>
    expectOpMatches(embeddingGradAddOp, c, sums),
  );
  test('the gradient is the same on every run', async () => {
    const big = embeddingGradCases()[2];
    const first = await runOp(embeddingGradOp, big);
    for (let i = 0; i < 3; i++)
      expect((await runOp(embeddingGradOp, big)).outputs[0]).toEqual(first.outputs[0]);
  });
});
