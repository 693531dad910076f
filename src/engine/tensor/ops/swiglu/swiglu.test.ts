import { beforeAll, describe, test } from 'vitest';
import { openBackend } from '../../device.ts';
import { expectGradient } from '../../differences.ts';
import { expectOpMatches } from '../../testing.ts';
import { swigluCases, swigluGradCases, swigluPackedCases, swigluPackedGradCases } from './swiglu.cases.ts';
import { swigluGradOp, swigluOp } from './swiglu.ts';
import { swigluPackedGradOp, swigluPackedOp } from './swiglu-packed.ts';

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

  test.each(swigluPackedCases())('packed, $name', (c) => expectOpMatches(swigluPackedOp, c, exact));
  test.each(swigluPackedGradCases())('packed backward, $name', (c) =>
    expectOpMatches(swigluPackedGradOp, c, exact),
  );
  test.each(swigluPackedCases())('packed differences, $name', (c) =>
    expectGradient(swigluPackedOp, c, { inputs: [0], outputs: [0], tolerance: 1e-2 }),
  );
});
