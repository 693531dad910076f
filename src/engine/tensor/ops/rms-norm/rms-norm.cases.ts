import { Rng } from '../../../../base/rng.ts';
import { f32, normals, type OpCase } from '../../testing.ts';
import { rmsNormReference } from './rms-norm.reference.ts';

/** Rows and columns: single elements, odd sizes, more rows than workgroups of the backward pass, columns beyond 64. */
const SIZES: readonly (readonly [number, number])[] = [
  [1, 1],
  [3, 12],
  [7, 65],
  [600, 10],
  [5, 200],
];

/** Cases of rms-norm. */
export function rmsNormCases(): OpCase<{ eps: number }>[] {
  return SIZES.map(([N, C]) => {
    const rng = new Rng(1, N, C);
    return {
      name: `N=${N} C=${C}`,
      inputs: [normals(rng, [N, C]), normals(rng, [C])],
      attributes: { eps: 1e-6 },
    };
  });
}

/** The same sizes for the gradient, with `inv` as the forward pass makes it. */
export function rmsNormGradCases(): OpCase<object>[] {
  return rmsNormCases().map(({ name, inputs: [x, w], attributes }) => {
    const [N, C] = x.shape;
    const inv = f32([N], new Float32Array(N));
    rmsNormReference([x.values, w.values], [new Float32Array(N * C), inv.values], attributes.eps);
    const dy = normals(new Rng(2, N, C), [N, C]);
    return { name, inputs: [dy, x, w, inv], attributes: {} };
  });
}
