/** Gradients against central differences, through the kernels of the current backend. */
import { assert } from '../../base/assert.ts';
import { Rng } from '../../base/rng.ts';
import type { Op } from './op.ts';
import type { OpCase } from './testing.ts';
import { type Tensor, tf } from './tfjs.ts';

/** Relative step: float32 keeps 7 digits, and the error of a central difference falls with its square. */
const STEP = 5e-3;

/**
 * Compares the directional derivative that the op's gradient gives with (L(x + hu) − L(x − hu)) / 2h, for a random
 * direction u of each float input and a random loss L = Σ w·y over the outputs that the gradient takes part in.
 * @param outputs indices of the outputs that have a gradient
 * @param tolerance relative
 */
export async function expectGradient<A>(
  op: Op<A>,
  { inputs, attributes, name }: OpCase<A>,
  options: { inputs: readonly number[]; outputs: readonly number[]; tolerance: number },
): Promise<void> {
  const rng = new Rng(77, inputs.length);
  const shapes = op.spec.outputs(
    inputs.map(({ shape, dtype }) => ({ shape, dtype })),
    attributes,
  );
  const normals = (size: number) => Float32Array.from({ length: size }, () => rng.normal());
  const weights = options.outputs.map((o) => normals(shapes[o].shape.reduce((a, b) => a * b, 1)));
  const lossOf = async (values: readonly ArrayLike<number>[]): Promise<number> => {
    const tensors = inputs.map(({ shape, dtype }, i) => tf.tensor(Array.from(values[i]), shape, dtype));
    const results = op(tensors, attributes);
    let sum = 0;
    for (const [k, o] of options.outputs.entries()) {
      const y = await results[o].data();
      for (let i = 0; i < y.length; i++) sum += y[i] * weights[k][i];
    }
    tf.dispose([...tensors, ...results]);
    return sum;
  };

  const tensors = inputs.map(({ shape, dtype, values }) => tf.tensor(values.slice(), shape, dtype));
  const xs = options.inputs.map((i) => tensors[i]);
  const { value, grads } = tf.engine().gradients(() => {
    const results = op(tensors, attributes);
    const parts = options.outputs.map((o, k) =>
      tf.sum(tf.mul(results[o], tf.tensor(weights[k], results[o].shape as number[]))),
    );
    return tf.addN(parts as Tensor[]) as tf.Scalar;
  }, xs);

  for (const [k, i] of options.inputs.entries()) {
    const base = inputs[i].values;
    const direction = normals(base.length);
    const moved = (sign: number) =>
      inputs.map(({ values }, j) =>
        j === i ? values.map((x, n) => x + sign * STEP * direction[n]) : values,
      );
    const difference = ((await lossOf(moved(1))) - (await lossOf(moved(-1)))) / (2 * STEP);
    const gradient = await grads[k].data();
    const derivative = direction.reduce((sum, u, n) => sum + u * gradient[n], 0);
    const scale = Math.max(
      Math.abs(difference),
      1e-2 * Math.hypot(...Array.from(gradient).slice(0, 1000)),
      1e-3,
    );
    assert(
      Math.abs(derivative - difference) <= options.tolerance * scale,
      `${op.spec.name}, ${name}, input ${i}: gradient gives ${derivative}, differences give ${difference}`,
    );
  }
  tf.dispose([value, ...grads, ...tensors]);
}
