import { describe, expect, test } from 'vitest';
import { expectClose, expectOpMatches, requireWebGpu, runOp, runReference } from '../../testing.ts';
import { filterCases, sampleCases } from './sample.cases.ts';
import { sampleOp } from './sample.ts';

const tolerance = { atol: 1e-5, rtol: 3e-6, why: 'log-probs in float32; ids must be equal' };

describe.skipIf(!(await requireWebGpu()))('sample on WebGPU equals its reference', () => {
  test.each(sampleCases())('$name', (c) => expectOpMatches(sampleOp, c, tolerance));

  test('the golden filters: nothing outside the kept set, and the same ids as the reference', async () => {
    for (const c of filterCases()) {
      const { outputs } = await runOp(sampleOp, c);
      for (const id of outputs[0]) expect(c.kept, c.name).toContain(id);
      const expected = runReference(sampleOp, c).outputs;
      expect(outputs[0], c.name).toEqual(expected[0]);
      expectClose(outputs[1], expected[1], tolerance, c.name);
    }
  });
});
