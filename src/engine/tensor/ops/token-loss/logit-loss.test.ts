import { beforeAll, describe, test } from 'vitest';
import { openBackend } from '../../device.ts';
import { expectOpMatches } from '../../testing.ts';
import { logitChunkTests } from './logit-chunk.checks.ts';
import { logitLossCases, logitLossGradCases } from './logit-loss.cases.ts';
import { logitLossGradOp, logitLossOp } from './token-loss.ts';

const exact = { atol: 0, rtol: 0, why: 'the host kernel is the reference itself' };

describe.each(['cpu', 'wasm'] as const)('logit-loss on %s', (backend) => {
  beforeAll(async () => {
    await openBackend(backend);
  });

  const rounding = { atol: 3e-5, rtol: 2e-4, why: 'float32 state between pieces, logits of size 200' };
  logitChunkTests(rounding, rounding);
  test.each(logitLossCases())('forward, $name', (c) => expectOpMatches(logitLossOp, c, exact));
  test.each(logitLossGradCases())('backward, $name', (c) => expectOpMatches(logitLossGradOp, c, exact));
});
