import { Rng } from '../../../../base/rng.ts';
import { f32, normals, type OpCase } from '../../testing.ts';

/** Shapes of one model: a single number, odd sizes, more than one workgroup, more than one part of the norm. */
const SHAPES = [[1], [7], [33, 9], [70, 131]];

export function globalNormCases(): OpCase<object>[] {
  const rng = new Rng(14);
  return [
    { name: 'one tensor', inputs: [normals(rng, [5])], attributes: {} },
    { name: 'several tensors', inputs: SHAPES.map((shape) => normals(rng, shape)), attributes: {} },
  ];
}

/** Clipped and not clipped, first step and later; decayed and not. Gradients down to the size of ε. */
export function adamwCases(): OpCase<{ decay: readonly boolean[] }>[] {
  return [
    { name: 'first step, clipped', norm: 3.7, step: 1 },
    { name: 'later step, not clipped', norm: 0.3, step: 20 },
  ].map(({ name, norm, step }) => {
    const rng = new Rng(15, step);
    const hyper = [3e-3, 0.9, 0.999, 1e-8, 0.1, 1, 1 - 0.9 ** step, 1 - 0.999 ** step];
    const tensors = SHAPES.flatMap((shape, i) => {
      const square = normals(rng, shape, 0.1);
      square.values.forEach((v, k) => {
        square.values[k] = v * v;
      });
      return [normals(rng, shape), normals(rng, shape, i === 1 ? 1e-8 : 1), normals(rng, shape, 0.1), square];
    });
    return {
      name,
      inputs: [f32([1], [norm]), f32([8], hyper), ...tensors],
      attributes: { decay: SHAPES.map((_, i) => i % 2 === 1) },
    };
  });
}
