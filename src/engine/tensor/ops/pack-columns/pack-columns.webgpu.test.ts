import { describe, test } from 'vitest';
import { Rng } from '../../../../base/rng.ts';
import { expectOpMatches, normals, requireWebGpu } from '../../testing.ts';
import { packColumnsOp } from './pack-columns.ts';

const exact = { atol: 0, rtol: 0, why: 'numbers are copied' };

describe.skipIf(!(await requireWebGpu()))('pack-columns on WebGPU equals its reference', () => {
  test.each([
    { N: 1, widths: [1, 1, 1] },
    { N: 7, widths: [24, 12, 12] },
    { N: 65, widths: [5, 3, 9] },
  ])('$N rows of $widths', ({ N, widths }) =>
    expectOpMatches(
      packColumnsOp,
      { name: '', inputs: widths.map((w, i) => normals(new Rng(31, i), [N, w])), attributes: {} },
      exact,
    ),
  );
});
