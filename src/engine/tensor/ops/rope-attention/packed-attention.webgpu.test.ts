import { afterAll, beforeAll, describe, test } from 'vitest';
import { expectOpMatches, requireWebGpu } from '../../testing.ts';
import { kernelStyle, setKernelStyle } from '../../wgsl.ts';
import {
  attendCases,
  attendGradCases,
  rotatePackedCases,
  rotatePackedGradCases,
} from './packed-attention.cases.ts';
import { attendGradOp, attendOp, rotatePackedGradOp, rotatePackedOp } from './packed-attention.ts';

const rotation = { atol: 2e-6, rtol: 2e-6, why: 'three float32 roundings of numbers up to about 5' };
const tolerance = {
  atol: 2e-5,
  rtol: 2e-5,
  why: 'float32 sums of up to 128 products against double sums, and WGSL exp (3 + 2·|x| ulp, scores up to about 20)',
};
const gradTolerance = {
  ...tolerance,
  atol: 2e-4,
  rtol: 1e-4,
  why: `${tolerance.why}, twice over and summed over queries`,
};
const webgpu = await requireWebGpu();

describe.skipIf(!webgpu)('rotation of packed rows on WebGPU equals its reference', () => {
  test.each(rotatePackedCases())('forward, $name', (c) => expectOpMatches(rotatePackedOp, c, rotation));
  test.each(rotatePackedGradCases())('back, $name', (c) => expectOpMatches(rotatePackedGradOp, c, rotation));
});

// Software WebGPU takes seconds for each tiled pipeline, and those of longer heads have rope-attention's own test.
const LONGEST = { tiled: 16, direct: 64 };

describe.skipIf(!webgpu).each(['tiled', 'direct'] as const)(
  'attend on WebGPU equals its reference, %s',
  (style) => {
    const before = kernelStyle();
    const few = <C extends { attributes: { D: number } }>(cases: C[]): C[] =>
      cases.filter(({ attributes }) => attributes.D <= LONGEST[style]);
    beforeAll(() => setKernelStyle(style));
    afterAll(() => setKernelStyle(before));

    test.each(few(attendCases()))('forward, $name', (c) => expectOpMatches(attendOp, c, tolerance));
    test.each(few(attendGradCases()))('backward, $name', (c) =>
      expectOpMatches(attendGradOp, c, gradTolerance),
    );
  },
);
