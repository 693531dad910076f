import { beforeAll, describe, test } from 'vitest';
import { openBackend } from '../../device.ts';
import { expectGradient } from '../../differences.ts';
import { expectOpMatches } from '../../testing.ts';
import { addNormOp, normGradAddOp } from './add-norm.ts';
import { addNormCases, normGradAddCases, rmsNormCases, rmsNormGradCases } from './rms-norm.cases.ts';
import { rmsNormGradOp, rmsNormOp } from './rms-norm.ts';

const exact = { atol: 0, rtol: 0, why: 'the host kernel is the reference itself' };

describe.each(['cpu', 'wasm'] as const)('rms-norm on %s', (backend) => {
  beforeAll(async () => {
    await openBackend(backend);
  });

  test.each(rmsNormCases())('forward, $name', (c) => expectOpMatches(rmsNormOp, c, exact));
  test.each(rmsNormGradCases())('backward, $name', (c) => expectOpMatches(rmsNormGradOp, c, exact));
  test.each(rmsNormCases())('differences, $name', (c) =>
    expectGradient(rmsNormOp, c, { inputs: [0, 1], outputs: [0], tolerance: 1e-2 }),
  );

  test.each(addNormCases())('add-norm, $name', (c) => expectOpMatches(addNormOp, c, exact));
  test.each(normGradAddCases())('added gradient, $name', (c) => expectOpMatches(normGradAddOp, c, exact));
  test.each(addNormCases())('add-norm differences, $name', (c) =>
    expectGradient(addNormOp, c, { inputs: [0, 1, 2], outputs: [0, 1], tolerance: 1e-2 }),
  );
});
