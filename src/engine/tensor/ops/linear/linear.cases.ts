import { Rng } from '../../../../base/rng.ts';
import { type HostTensor, i32, normals, type OpCase } from '../../testing.ts';
import type { LinearAttributes, ProductAttributes, WeightGradAttributes } from './linear.ts';

/** N, I, O: single elements, odd sizes, narrow to wide and wide to narrow, few rows, whole vectors. */
const SIZES = [
  [1, 1, 1],
  [3, 5, 7],
  [33, 12, 20],
  [130, 6, 33],
  [5, 36, 130],
] as const;

/** Enough where only the ending of a product differs: few rows and odd sizes, and more rows in whole vectors. */
const TWO_SIZES = SIZES.slice(1, 3);

const nameOf = (N: number, I: number, O: number, attributes: object): string => {
  const parts = Object.entries(attributes).map(([key, value]) => (value === true ? key : `${key}=${value}`));
  return [`N=${N} I=${I} O=${O}`, ...parts].join(' ');
};

export function linearCases(bias: boolean): OpCase<LinearAttributes>[] {
  return SIZES.map(([N, I, O]) => {
    const rng = new Rng(5, N, I, O);
    const inputs = [normals(rng, [N, I]), normals(rng, [O, I]), ...(bias ? [normals(rng, [O])] : [])];
    return { name: nameOf(N, I, O, {}), inputs, attributes: {} };
  });
}

/** Pairs of f16 numbers: one in eight is zero or subnormal, the others lie between 1/16 and 4. */
function halves(rng: Rng, O: number, I: number): HostTensor {
  const half = (): number => {
    const exponent = rng.int(8) === 0 ? 0 : 11 + rng.int(6);
    return (rng.int(2) << 15) | (exponent << 10) | (rng.int(8) === 0 ? 0 : rng.int(1024));
  };
  return i32(
    [O, I / 2],
    Array.from({ length: (O * I) / 2 }, () => half() | (half() << 16)),
  );
}

const FUSED: LinearAttributes[] = [
  { bias: false, residual: true },
  { residual: true, alpha: -0.5 },
  { bias: true, residual: true, alpha: 2 },
];

/** Scale, bias and residual; I even with `half`. */
export function fusedLinearCases(half: boolean): OpCase<LinearAttributes>[] {
  return FUSED.flatMap((fused) =>
    TWO_SIZES.map(([N, oddI, O]) => {
      const I = half ? oddI + (oddI % 2) : oddI;
      const attributes = { ...fused, ...(half ? { half } : {}) };
      const rng = new Rng(7, N, I, O);
      const inputs = [normals(rng, [N, I]), half ? halves(rng, O, I) : normals(rng, [O, I])];
      if (fused.bias) inputs.push(normals(rng, [O]));
      inputs.push(normals(rng, [N, O]));
      return { name: nameOf(N, I, O, attributes), inputs, attributes };
    }),
  );
}

export function linearInputGradCases(): OpCase<ProductAttributes>[] {
  return [{}, { residual: true, alpha: 0.5 }, { half: true }, { half: true, residual: true }].flatMap(
    (attributes: ProductAttributes) =>
      (attributes.residual ? TWO_SIZES : SIZES).map(([N, oddI, O]) => {
        const { half, residual } = attributes;
        const I = half ? oddI + (oddI % 2) : oddI;
        const rng = new Rng(6, N, I, O);
        const inputs = [normals(rng, [N, O]), half ? halves(rng, O, I) : normals(rng, [O, I])];
        if (residual) inputs.push(normals(rng, [N, I]));
        return { name: nameOf(N, I, O, attributes), inputs, attributes };
      }),
  );
}

export function linearWeightGradCases(): OpCase<{ alpha?: number }>[] {
  return [{}, { alpha: -2 }].flatMap((attributes) =>
    (attributes.alpha ? TWO_SIZES : SIZES).map(([N, I, O]) => {
      const rng = new Rng(8, N, I, O);
      const inputs = [normals(rng, [N, O]), normals(rng, [N, I])];
      return { name: nameOf(N, I, O, attributes), inputs, attributes };
    }),
  );
}

export function linearWeightGradAddCases(): OpCase<WeightGradAttributes>[] {
  return [{}, { bias: true, alpha: 0.5 }].flatMap((attributes: WeightGradAttributes) =>
    (attributes.bias ? SIZES : TWO_SIZES).map(([N, I, O]) => {
      const rng = new Rng(9, N, I, O);
      const inputs = [normals(rng, [N, O]), normals(rng, [N, I]), normals(rng, [O, I])];
      if (attributes.bias) inputs.push(normals(rng, [O]));
      return { name: nameOf(N, I, O, attributes), inputs, attributes };
    }),
  );
}
