import { Rng } from '../../../../base/rng.ts';
import { f32, type HostTensor, normals, type OpCase } from '../../testing.ts';
import { type AttentionAttributes, attendReference } from './attend.reference.ts';
import { ropeAttentionCases } from './rope-attention.cases.ts';
import { type HeadAttributes, rotatePackedReference } from './rotate-packed.reference.ts';

const columnsOf = ({ shape, values }: HostTensor, n: number) =>
  Array.from(values.slice(n * shape[1], (n + 1) * shape[1]));

/** Tensors of N rows side by side. */
export function sideBySide(parts: readonly HostTensor[]): HostTensor {
  const N = parts[0].shape[0];
  const rows = Array.from({ length: N }, (_, n) => parts.flatMap((part) => columnsOf(part, n)));
  return f32([N, rows[0].length], rows.flat());
}

/** The calls of rope-attention as calls of `rotatePackedOp`. */
export function rotatePackedCases(): OpCase<HeadAttributes>[] {
  return ropeAttentionCases().map(
    ({ name, attributes: { H, Hkv, D }, inputs: [q, k, v, cos, sin, positions] }) => ({
      name,
      attributes: { H, Hkv, D },
      inputs: [sideBySide([q, k, v]), cos, sin, positions],
    }),
  );
}

const emptyLike = (N: number, columns: number) => f32([N, columns], new Float32Array(N * columns));

/** Its gradient. */
export function rotatePackedGradCases(): OpCase<HeadAttributes>[] {
  return rotatePackedCases().map(({ name, attributes, inputs: [qkv, cos, sin, positions] }) => {
    const { H, Hkv, D } = attributes;
    const N = qkv.shape[0];
    const rng = new Rng(17, N, D);
    const dys = [H, Hkv, Hkv].map((heads) => normals(rng, [N, heads * D]));
    return { name, attributes, inputs: [...dys, cos, sin, positions] };
  });
}

/** And of `attendOp`. */
export function attendCases(): OpCase<AttentionAttributes>[] {
  const rotations = rotatePackedCases();
  return ropeAttentionCases().map(({ name, attributes, inputs: [, , , , , , branches] }, i) => {
    const { B, T, H, Hkv, D } = attributes;
    const rows = [H, Hkv, Hkv].map((heads) => emptyLike(B * T, heads * D));
    rotatePackedReference(
      rotations[i].inputs.map(({ values }) => values),
      rows.map(({ values }) => values),
      attributes,
    );
    return { name, attributes, inputs: [...rows, branches] };
  });
}

/** Its gradient, with `out` and `stats` of the reference. */
export function attendGradCases(): OpCase<AttentionAttributes>[] {
  return attendCases().map(({ name, attributes, inputs }) => {
    const { B, T, H, D } = attributes;
    const outputs = [emptyLike(B * T, H * D), emptyLike(B * T, 2 * H)];
    attendReference(
      inputs.map(({ values }) => values),
      outputs.map(({ values }) => values),
      attributes,
      2,
    );
    return {
      name,
      attributes,
      inputs: [normals(new Rng(4, T, D), [B * T, H * D]), ...inputs, ...outputs],
    };
  });
}
