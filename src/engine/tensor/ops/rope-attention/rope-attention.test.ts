import { beforeAll, describe, test } from 'vitest';
import { openBackend } from '../../device.ts';
import { expectGradient } from '../../differences.ts';
import { expectOpMatches } from '../../testing.ts';
import { ropeAttentionCases, ropeAttentionGradCases } from './rope-attention.cases.ts';
import { ropeAttentionGradOp, ropeAttentionOp } from './rope-attention.ts';

const exact = { atol: 0, rtol: 0, why: 'the host kernel is the reference itself' };

describe.each(['cpu', 'wasm'] as const)('rope-attention on %s', (backend) => {
  beforeAll(async () => {
    await openBackend(backend);
  });

  test.each(ropeAttentionCases())('forward, $name', (c) => expectOpMatches(ropeAttentionOp, c, exact));
  test.each(ropeAttentionGradCases())('backward, $name', (c) =>
    expectOpMatches(ropeAttentionGradOp, c, exact),
  );
  test.each(ropeAttentionCases())('differences, $name', (c) =>
    expectGradient(ropeAttentionOp, c, { inputs: [0, 1, 2], outputs: [0], tolerance: 2e-2 }),
  );
});
