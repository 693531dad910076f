import { beforeAll, describe, test } from 'vitest';
import { openBackend } from '../../device.ts';
import { expectOpMatches } from '../../testing.ts';
import { cachedAttentionCases } from './cached-attention.cases.ts';
import { cachedAttentionOp } from './cached-attention.ts';

const exact = { atol: 0, rtol: 0, why: 'the host kernel is the reference itself' };

describe.each(['cpu', 'wasm'] as const)('cached-attention on %s', (backend) => {
  beforeAll(async () => {
    await openBackend(backend);
  });

  test.each(cachedAttentionCases())('$name', (c) => expectOpMatches(cachedAttentionOp, c, exact));
});
