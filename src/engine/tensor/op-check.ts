/** Runs an op on the current backend and its slow truth, and compares them element by element. */
import { assert } from '../../base/assert.ts';
import type { Rng } from '../../base/rng.ts';
import type { Op } from './op.ts';
import { type DType, type HostArray, type Tensor, tf } from './tfjs.ts';

export interface HostTensor {
  shape: number[];
  dtype: DType;
  values: HostArray;
}

/** A call of an op. */
export interface OpCase<Attributes> {
  name: string;
  inputs: HostTensor[];
  attributes: Attributes;
}

export interface Tolerance {
  atol: number;
  rtol: number;
  /** Why this much. */
  why: string;
}

export function f32(shape: number[], values: ArrayLike<number>): HostTensor {
  return { shape, dtype: 'float32', values: Float32Array.from(values) };
}

export function i32(shape: number[], values: ArrayLike<number>): HostTensor {
  return { shape, dtype: 'int32', values: Int32Array.from(values) };
}

/** Standard normal numbers times `scale`. */
export function normals(rng: Rng, shape: number[], scale = 1): HostTensor {
  const size = shape.reduce((a, b) => a * b, 1);
  return f32(
    shape,
    Array.from({ length: size }, () => scale * rng.normal()),
  );
}

/** Throws unless |actual − expected| ≤ atol + |expected|·rtol everywhere; names the worst element. */
export function expectClose(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  { atol, rtol, why }: Tolerance,
  label = 'value',
): void {
  assert(
    actual.length === expected.length,
    `${label}: ${actual.length} elements, expected ${expected.length}`,
  );
  let worst = -1;
  let worstRatio = 1;
  let failures = 0;
  for (let i = 0; i < expected.length; i++) {
    if (actual[i] === expected[i]) continue; // infinities too
    const ratio = Math.abs(actual[i] - expected[i]) / (atol + Math.abs(expected[i]) * rtol);
    // NaN and Infinity must fail: compare the negated way round.
    if (ratio <= 1) continue;
    failures++;
    if (worst < 0 || !(ratio <= worstRatio)) {
      worst = i;
      worstRatio = ratio;
    }
  }
  if (worst >= 0)
    throw new Error(
      `${label}: ${failures} of ${expected.length} elements differ; the worst is [${worst}]: ${actual[worst]} instead of ${expected[worst]} (${worstRatio.toPrecision(3)} times the tolerance ${atol} + |x|·${rtol}: ${why})`,
    );
}

export interface OpResult {
  outputs: HostArray[];
  /** The inputs as they are after the call, for ops that work in place. */
  inputs: HostArray[];
}

/** Runs the op's kernel on the current backend. */
export async function runOp<A>(op: Op<A>, { inputs, attributes }: OpCase<A>): Promise<OpResult> {
  const tensors: Tensor[] = inputs.map(({ shape, dtype, values }) => tf.tensor(values.slice(), shape, dtype));
  const outputs = op(tensors, attributes);
  const read = (list: Tensor[]) => Promise.all(list.map(async (t) => (await t.data()).slice() as HostArray));
  const result = { outputs: await read(outputs), inputs: await read(tensors) };
  tf.dispose([...tensors, ...outputs]);
  return result;
}

/** Runs the op's slow truth on plain arrays. */
export function runReference<A>({ spec }: Op<A>, { inputs, attributes }: OpCase<A>): OpResult {
  const values = inputs.map((input) => input.values.slice());
  const specs = inputs.map(({ shape, dtype }) => ({ shape, dtype }));
  const outputs = spec.outputs(specs, attributes).map(({ shape, dtype }) => {
    const size = shape.reduce((a, b) => a * b, 1);
    return dtype === 'int32' ? new Int32Array(size) : new Float32Array(size);
  });
  spec.reference(
    values,
    outputs,
    attributes,
    inputs.map(({ shape }) => shape),
  );
  return { outputs, inputs: values };
}

/** Runs kernel and truth on one case and compares every output and every input (changed in place or not). */
export async function expectOpMatches<A>(op: Op<A>, opCase: OpCase<A>, tolerance: Tolerance): Promise<void> {
  const expected = runReference(op, opCase);
  const actual = await runOp(op, opCase);
  const label = `${op.spec.name}, ${opCase.name}`;
  expected.outputs.forEach((values, i) => {
    expectClose(actual.outputs[i], values, tolerance, `${label}, output ${i}`);
  });
  expected.inputs.forEach((values, i) => {
    expectClose(actual.inputs[i], values, tolerance, `${label}, input ${i} afterwards`);
  });
}
