import { Rng } from '../../../../base/rng.ts';
import { f32, type OpCase } from '../../testing.ts';
import { rmsNormReference } from './rms-norm.reference.ts';

/** Rows and columns: single elements, odd sizes, more rows than workgroups of the backward pass, columns beyond 64. */
const SIZES: readonly (readonly [number, number])[] = [
  [1, 1],
  [3, 12],
  [7, 65],
  [600, 10],
  [5, 200],
];

function normals(rng: Rng, size: number): number[] {
  return Array.from({ length: size }, () => rng.normal());
}

/** Cases of rms-norm. */
export function rmsNormCases(): OpCase<{ eps: number }>[] {
  return SIZES.map(([N, C]) => {
    const rng = new Rng(1, N, C);
    return {
      name: `N=${N} C=${C}`,
      inputs: [f32([N, C], normals(rng, N * C)), f32([C], normals(rng, C))],
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
    const dy = f32([N, C], normals(new Rng(2, N, C), N * C));
    return { name, inputs: [dy, x, w, inv], attributes: {} };
  });
}
