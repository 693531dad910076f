import { Rng } from '../../../../base/rng.ts';
import { f32, type HostTensor, normals, type OpCase } from '../../testing.ts';

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

/** The same with gate and up in the rows of one tensor. */
export function swigluPackedCases(): OpCase<object>[] {
  return swigluCases().map(({ name, attributes, inputs: [gate, up] }) => ({
    name,
    attributes,
    inputs: [packed(gate, up)],
  }));
}

export function swigluPackedGradCases(): OpCase<object>[] {
  return swigluGradCases().map(({ name, attributes, inputs: [dy, gate, up] }) => ({
    name,
    attributes,
    inputs: [dy, packed(gate, up)],
  }));
}

function packed(gate: HostTensor, up: HostTensor): HostTensor {
  const [N, F] = gate.shape;
  const rows = Array.from({ length: N }, (_, n) => [gate, up].map((x) => x.values.slice(n * F, (n + 1) * F)));
  return f32(
    [N, 2 * F],
    rows.flat().flatMap((row) => [...row]),
  );
}
