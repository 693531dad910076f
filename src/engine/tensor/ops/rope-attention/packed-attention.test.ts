import { beforeAll, describe, expect, test } from 'vitest';
import { openBackend } from '../../device.ts';
import { expectGradient } from '../../differences.ts';
import { expectOpMatches, f32, i32, runReference } from '../../testing.ts';
import {
  attendCases,
  attendGradCases,
  rotatePackedCases,
  rotatePackedGradCases,
  sideBySide,
} from './packed-attention.cases.ts';
import { attendGradOp, attendOp, rotatePackedGradOp, rotatePackedOp } from './packed-attention.ts';
import { ropeAttentionCases, ropeAttentionGradCases } from './rope-attention.cases.ts';
import { ropeAttentionGradOp, ropeAttentionOp } from './rope-attention.ts';

const exact = { atol: 0, rtol: 0, why: 'the host kernel is the reference itself' };

describe.each(['cpu', 'wasm'] as const)('packed attention on %s', (backend) => {
  beforeAll(async () => {
    await openBackend(backend);
  });

  test.each(rotatePackedCases())('rotate, $name', (c) => expectOpMatches(rotatePackedOp, c, exact));
  test.each(rotatePackedGradCases())('rotate back, $name', (c) =>
    expectOpMatches(rotatePackedGradOp, c, exact),
  );
  test.each(attendCases())('attend, $name', (c) => expectOpMatches(attendOp, c, exact));
  test.each(attendGradCases())('attend backward, $name', (c) => expectOpMatches(attendGradOp, c, exact));
  test.each(rotatePackedCases())('rotate differences, $name', (c) =>
    expectGradient(rotatePackedOp, c, { inputs: [0], outputs: [0, 1, 2], tolerance: 1e-2 }),
  );
  test.each(attendCases())('attend differences, $name', (c) =>
    expectGradient(attendOp, c, { inputs: [0, 1, 2], outputs: [0], tolerance: 2e-2 }),
  );
});

describe('the chain of steps equals rope-attention, there and back', () => {
  test.each(ropeAttentionCases().map((whole, i) => ({ name: whole.name, whole, i })))(
    '$name',
    ({ whole, i }) => {
      const { attributes, inputs } = whole;
      const [, , , cos, sin, positions, branches] = inputs;
      const float = (shape: number[], values: ArrayLike<number>) => f32(shape, values);
      const N = positions.shape[0];
      const { H, Hkv, D } = attributes;
      const expected = runReference(ropeAttentionOp, whole).outputs;
      const rotated = runReference(rotatePackedOp, rotatePackedCases()[i]).outputs;
      const rows = rotated.map((values, part) => float([N, (part === 0 ? H : Hkv) * D], values));
      const [out, stats] = runReference(attendOp, {
        name: '',
        attributes,
        inputs: [...rows, branches],
      }).outputs;
      expect(out).toEqual(expected[0]);
      expect(stats.filter((_, at) => at % 2 === 0)).toEqual(expected[1]);

      const wholeGrad = ropeAttentionGradCases()[i];
      const [dq, dk, dv] = runReference(ropeAttentionGradOp, wholeGrad).outputs;
      const [dout] = wholeGrad.inputs;
      const turned = runReference(attendGradOp, {
        name: '',
        attributes,
        inputs: [dout, ...rows, branches, float([N, H * D], out), float([N, 2 * H], stats)],
      }).outputs;
      const dys = turned.map((values, part) => float([N, (part === 0 ? H : Hkv) * D], values));
      const [dqkv] = runReference(rotatePackedGradOp, {
        name: '',
        attributes: { H, Hkv, D },
        inputs: [...dys, cos, sin, i32([N], positions.values)],
      }).outputs;
      const packed = sideBySide([float([N, H * D], dq), float([N, Hkv * D], dk), float([N, Hkv * D], dv)]);
      expect(dqkv).toEqual(packed.values);
    },
  );
});
