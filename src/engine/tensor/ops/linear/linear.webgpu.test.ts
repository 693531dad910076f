import { afterAll, beforeAll, describe, test } from 'vitest';
import { Rng } from '../../../../base/rng.ts';
import { expectOpMatches, normals, type OpCase, requireWebGpu } from '../../testing.ts';
import { kernelStyle, setKernelStyle } from '../../wgsl.ts';
import { linearTests } from './linear.checks.ts';
import {
  linearInputGradOp,
  linearOp,
  linearWeightGradAddOp,
  linearWeightGradOp,
  type WeightGradAttributes,
} from './linear.ts';

const tolerance = {
  atol: 2e-4,
  rtol: 2e-5,
  why: 'float32 sums of up to 2,100 products of size 1, in another order',
};

function big<A extends object>(attributes: A, ...shapes: number[][]): OpCase<A> {
  return {
    name: shapes.map((shape) => `[${shape}]`).join(' '),
    inputs: shapes.map((shape, i) => normals(new Rng(21, i), shape)),
    attributes,
  };
}

describe.skipIf(!(await requireWebGpu())).each(['tiled', 'direct'] as const)(
  'linear on WebGPU, %s kernels',
  (style) => {
    const before = kernelStyle();
    beforeAll(() => setKernelStyle(style));
    afterAll(() => setKernelStyle(before));
    linearTests();

    // Long sums over few tiles are shared by several workgroups.
    test.each([
      big({}, [3, 2100], [40, 2100], [40]),
      big({ residual: true, alpha: 0.5 }, [3, 2100], [40, 2100], [40], [3, 40]),
    ])('forward, k shared, $name', (c) => expectOpMatches(linearOp, c, tolerance));
    test('gradient of the input, k shared', () =>
      expectOpMatches(linearInputGradOp, big({ residual: true }, [9, 1030], [1030, 21], [9, 21]), tolerance));
    test('gradient of the weight, k shared', () =>
      expectOpMatches(linearWeightGradOp, big({}, [2100, 10], [2100, 33]), tolerance));
    test.each<OpCase<WeightGradAttributes>>([
      big({}, [2100, 10], [2100, 33], [10, 33]),
      big({ bias: true, alpha: 2 }, [2100, 36], [2100, 8], [36, 8], [36]),
    ])('gradient of the weight added, k shared, $name', (c) =>
      expectOpMatches(linearWeightGradAddOp, c, tolerance),
    );
    // More than one tile and large block each way, in whole vectors.
    test('several blocks', async () => {
      const all = { bias: true, residual: true };
      await expectOpMatches(linearOp, big(all, [130, 192], [68, 192], [68], [130, 68]), tolerance);
      const plus = { residual: true };
      await expectOpMatches(linearInputGradOp, big(plus, [130, 192], [192, 68], [130, 68]), tolerance);
      const bias = { bias: true };
      await expectOpMatches(
        linearWeightGradAddOp,
        big(bias, [192, 132], [192, 68], [132, 68], [132]),
        tolerance,
      );
    });
  },
);
