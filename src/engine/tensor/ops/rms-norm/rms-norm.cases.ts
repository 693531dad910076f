import { Rng } from '../../../../base/rng.ts';
import { f32, normals, type OpCase } from '../../testing.ts';
import type { NormGradAddAttributes } from './add-norm.ts';
import { rmsNormReference } from './rms-norm.reference.ts';

/** Rows and columns: single elements, odd sizes, more rows than workgroups of the backward pass, columns beyond 64. */
const SIZES: readonly (readonly [number, number])[] = [
  [1, 1],
  [3, 12],
  [7, 65],
  [600, 10],
  [5, 200],
];

/** Also rows of vec4s: fewer than a workgroup of the direct style, and more in both directions. */
const ADD_SIZES: typeof SIZES = [...SIZES, [70, 132]];

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

/** Cases of add-norm. */
export function addNormCases(): OpCase<{ eps: number }>[] {
  return ADD_SIZES.map(([N, C]) => {
    const rng = new Rng(8, N, C);
    return {
      name: `N=${N} C=${C}`,
      inputs: [normals(rng, [N, C]), normals(rng, [N, C]), normals(rng, [C])],
      attributes: { eps: 1e-6 },
    };
  });
}

/** The gradient that adds to dw, without and with a residual. */
export function normGradAddCases(): OpCase<NormGradAddAttributes>[] {
  return addNormCases().flatMap(({ name, inputs: [x, dres, w], attributes }) => {
    const [N, C] = x.shape;
    const rng = new Rng(9, N, C);
    const inv = f32([N], new Float32Array(N));
    rmsNormReference([x.values, w.values], [new Float32Array(N * C), inv.values], attributes.eps);
    const inputs = [normals(rng, [N, C]), x, w, inv, normals(rng, [C])];
    return [
      { name, inputs, attributes: { residual: false } },
      { name: `${name}, residual`, inputs: [...inputs, dres], attributes: { residual: true } },
    ];
  });
}
