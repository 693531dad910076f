import { Rng } from '../../../../base/rng.ts';
import { normals, type OpCase } from '../../testing.ts';

/** N, I, O: single elements, odd sizes, narrow to wide and wide to narrow. */
const SIZES = [
  [1, 1, 1],
  [3, 5, 7],
  [33, 12, 20],
  [17, 40, 9],
] as const;

export function linearCases(bias: boolean): OpCase<object>[] {
  return SIZES.map(([N, I, O]) => {
    const rng = new Rng(5, N, I, O);
    const inputs = [normals(rng, [N, I]), normals(rng, [O, I]), ...(bias ? [normals(rng, [O])] : [])];
    return { name: `N=${N} I=${I} O=${O}`, inputs, attributes: {} };
  });
}

/** [dy, w] for the gradient of the input, [dy, x] for that of the weight. */
export function linearGradCases(of: 'input' | 'weight'): OpCase<object>[] {
  return SIZES.map(([N, I, O]) => {
    const rng = new Rng(6, N, I, O);
    const inputs = [normals(rng, [N, O]), normals(rng, of === 'input' ? [O, I] : [N, I])];
    return { name: `N=${N} I=${I} O=${O}`, inputs, attributes: {} };
  });
}
