import { beforeAll, describe, test } from 'vitest';
import { openBackend } from '../../device.ts';
import { expectClose, expectOpMatches, runReference } from '../../testing.ts';
import { cachedAttentionCases, cachedAttentionPackedCases } from './cached-attention.cases.ts';
import { cachedAttentionOp } from './cached-attention.ts';
import { cachedAttentionPackedOp } from './cached-attention-packed.ts';

const exact = { atol: 0, rtol: 0, why: 'the host kernel is the reference itself' };

describe.each(['cpu', 'wasm'] as const)('cached-attention on %s', (backend) => {
  beforeAll(async () => {
    await openBackend(backend);
  });

  test.each(cachedAttentionCases())('$name', (c) => expectOpMatches(cachedAttentionOp, c, exact));
  test.each(cachedAttentionPackedCases())('packed, $name', (c) =>
    expectOpMatches(cachedAttentionPackedOp, c, exact),
  );
});

describe('packed cached-attention', () => {
  const packed = cachedAttentionPackedCases();
  const cases = cachedAttentionCases().map((c, i) => ({ name: c.name, c, p: packed[i] }));

  test.each(cases)('equals the other and leaves idle lanes out, $name', ({ c, p }) => {
    const expected = runReference(cachedAttentionOp, c);
    const actual = runReference(cachedAttentionPackedOp, p);
    const width = c.inputs[0].shape[1];
    const none = Array<number>(width).fill(0);
    expectClose(actual.outputs[0], [...none, ...expected.outputs[0], ...none, ...none], exact);
    for (const cache of [0, 1, 2]) expectClose(actual.inputs[1 + cache], expected.inputs[3 + cache], exact);
  });
});
