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
    {
      name: 'a range at five times the rate',
      norm: 0.3,
      step: 3,
      ranges: [[], [{ from: 2, to: 5, multiplier: 5 }]],
    },
  ].map(({ name, norm, step, ranges }) => {
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
      attributes: { decay: SHAPES.map((_, i) => i % 2 === 1), ranges },
    };
  });
}

/** Arenas of a model: clipped and not, first step and later; one gradient that is not finite. */
export function arenaAdamwCases(): OpCase<{ decayEnds: readonly number[] }>[] {
  return [
    { name: 'first step, clipped', scale: 1, step: 1, sizes: [4096, 512], decayEnds: [4096, 100] },
    { name: 'later step, not clipped', scale: 1e-3, step: 20, sizes: [9216], decayEnds: [64] },
    { name: 'odd size', scale: 1, step: 3, sizes: [333], decayEnds: [333] },
    {
      name: 'a range at five times the rate',
      scale: 1,
      step: 3,
      sizes: [256, 512],
      decayEnds: [256, 100],
      ranges: [
        [
          { from: 65, to: 131, multiplier: 5 },
          { from: 3, to: 4, multiplier: 2 },
        ],
        [{ from: 90, to: 120, multiplier: 0.5 }],
      ],
    },
    {
      name: 'a gradient that is not finite',
      scale: Number.POSITIVE_INFINITY,
      step: 3,
      sizes: [128],
      decayEnds: [0],
    },
  ].map(({ name, scale, step, sizes, decayEnds, ranges }) => {
    const rng = new Rng(17, step, sizes[0]);
    const hyper = [3e-3, 0.9, 0.999, 1e-8, 0.1, 1, 1 - 0.9 ** step, 1 - 0.999 ** step];
    const arenas = sizes.flatMap((size) => {
      const square = normals(rng, [size], 0.1);
      square.values.forEach((v, k) => {
        square.values[k] = v * v;
      });
      const gradient = normals(rng, [size], Number.isFinite(scale) ? scale : 1);
      if (!Number.isFinite(scale)) gradient.values[77] = scale;
      return [normals(rng, [size]), gradient, normals(rng, [size], 0.1), square];
    });
    return { name, inputs: [f32([8], hyper), f32([1], [0]), ...arenas], attributes: { decayEnds, ranges } };
  });
}
