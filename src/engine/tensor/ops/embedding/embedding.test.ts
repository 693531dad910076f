import { beforeAll, describe, test } from 'vitest';
import { openBackend } from '../../device.ts';
import { expectGradient } from '../../differences.ts';
import { expectOpMatches } from '../../testing.ts';
import { embeddingCases, embeddingGradCases, embeddingPieceCases } from './embedding.cases.ts';
import { embeddingGradAddOp, embeddingGradOp, embeddingOp, embeddingRowsOp } from './embedding.ts';

const exact = { atol: 0, rtol: 0, why: 'the host kernel is the reference itself' };

describe.each(['cpu', 'wasm'] as const)('embedding on %s', (backend) => {
  beforeAll(async () => {
    await openBackend(backend);
  });

  test.each(embeddingCases())('forward, $name', (c) => expectOpMatches(embeddingOp, c, exact));
  test.each(embeddingGradCases())('backward, $name', (c) => expectOpMatches(embeddingGradOp, c, exact));
  test.each(embeddingPieceCases('rows'))('a piece, $name', (c) => expectOpMatches(embeddingRowsOp, c, exact));
  test.each(embeddingPieceCases('grad'))('gradient of a piece, $name', (c) =>
    expectOpMatches(embeddingGradAddOp, c, exact),
  );
  test.each(embeddingCases())('differences, $name', (c) =>
    expectGradient(embeddingOp, c, { inputs: [0], outputs: [0], tolerance: 1e-2 }),
  );
});
