import { beforeAll, describe, test } from 'vitest';
import { openBackend } from '../../device.ts';
import { expectGradient } from '../../differences.ts';
import { expectOpMatches } from '../../testing.ts';
import { swigluCases, swigluGradCases } from './swiglu.cases.ts';
import { swigluGradOp, swigluOp } from './swiglu.ts';

const exact = { atol: 0, rtol: 0, why: 'the host kernel is the reference itself' };

describe.each(['cpu', 'wasm'] as const)('swiglu on %s', (backend) => {
  beforeAll(async () => {
    await openBackend(backend);
  });

  test.each(swigluCases())('forward, $name', (c) => expectOpMatches(swigluOp, c, exact));
  test.each(swigluGradCases())('backward, $name', (c) => expectOpMatches(swigluGradOp, c, exact));
  test.each(swigluCases())('differences, $name', (c) =>
    expectGradient(swigluOp, c, { inputs: [0, 1], outputs: [0], tolerance: 1e-2 }),
  );
});
