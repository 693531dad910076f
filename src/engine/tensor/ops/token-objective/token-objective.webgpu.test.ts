import { describe, test } from 'vitest';
import { expectOpMatches, requireWebGpu } from '../../testing.ts';
import { sequenceRatioOp } from './sequence-ratio.ts';
import { sequenceRatioCases, tokenObjectiveCases } from './token-objective.cases.ts';
import { tokenObjectiveOp } from './token-objective.ts';

const tolerance = {
  atol: 2e-6,
  rtol: 1e-5,
  why: 'WGSL exp is good to 3 + 2·|x| ulp; float32 sums of 200 terms',
};

describe.skipIf(!(await requireWebGpu()))('token-objective on WebGPU equals its reference', () => {
  test.each(tokenObjectiveCases())('$name', (c) => expectOpMatches(tokenObjectiveOp, c, tolerance));
  test.each(sequenceRatioCases())('sequence ratio, $name', (c) =>
    expectOpMatches(sequenceRatioOp, c, tolerance),
  );
});
