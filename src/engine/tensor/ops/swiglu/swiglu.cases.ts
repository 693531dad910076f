import { Rng } from '../../../../base/rng.ts';
import { f32, normals, type OpCase } from '../../testing.ts';

/** Shapes with odd sizes and more than one workgroup, and values where e^−z overflows float32. */
function gates(): { name: string; shape: number[]; values: ArrayLike<number> }[] {
  const shapes = [
    [1, 1],
    [3, 7],
    [9, 300],
  ];
  return [
    ...shapes.map((shape) => ({
      name: shape.join('×'),
      shape,
      values: normals(new Rng(5, ...shape), shape, 3).values,
    })),
    { name: 'extremes', shape: [1, 6], values: [-1000, -100, -88, 88, 100, 1000] },
  ];
}

export function swigluCases(): OpCase<object>[] {
  return gates().map(({ name, shape, values }) => ({
    name,
    inputs: [f32(shape, values), normals(new Rng(6, ...shape), shape)],
    attributes: {},
  }));
}

export function swigluGradCases(): OpCase<object>[] {
  return swigluCases().map(({ name, inputs, attributes }) => {
    const { shape } = inputs[0];
    return { name, attributes, inputs: [normals(new Rng(7, ...shape), shape), ...inputs] };
  });
}
