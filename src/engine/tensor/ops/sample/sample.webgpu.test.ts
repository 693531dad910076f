import { describe, expect, test } from 'vitest';
import { expectOpMatches, requireWebGpu, runOp } from '../../testing.ts';
import { filterCases, sampleCases } from './sample.cases.ts';
import { sampleOp } from './sample.ts';

const tolerance = { atol: 1e-5, rtol: 3e-6, why: 'log-probs in float32; ids must be equal' };

describe.skipIf(!(await requireWebGpu()))('sample on WebGPU equals its reference', () => {
  test.each(sampleCases())('$name', (c) => expectOpMatches(sampleOp, c, tolerance));

  test('the golden filters: nothing outside the kept set, and the same ids as the reference', async () => {
    for (const c of filterCases()) {
      const { outputs } = await runOp(sampleOp, c);
      for (const id of outputs[0]) expect(c.kept, c.name).toContain(id);
      await expectOpMatches(sampleOp, c, tolerance);
    }
  });
});
