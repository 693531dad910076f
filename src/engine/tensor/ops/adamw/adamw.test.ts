import { beforeAll, describe, test } from 'vitest';
import { openBackend } from '../../device.ts';
import { expectOpMatches } from '../../testing.ts';
import { adamwCases, arenaAdamwCases, globalNormCases } from './adamw.cases.ts';
import { adamwOp, arenaAdamwOp, globalNormOp } from './adamw.ts';

const exact = { atol: 0, rtol: 0, why: 'the host kernel is the reference itself' };

describe.each(['cpu', 'wasm'] as const)('adamw on %s', (backend) => {
  beforeAll(async () => {
    await openBackend(backend);
  });

  test.each(adamwCases())('step, $name', (c) => expectOpMatches(adamwOp, c, exact));
  test.each(arenaAdamwCases())('arenas, $name', (c) => expectOpMatches(arenaAdamwOp, c, exact));
  test.each(globalNormCases())('norm, $name', (c) => expectOpMatches(globalNormOp, c, exact));
});
