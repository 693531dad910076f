import { Rng } from '../../../../base/rng.ts';
import { f32, i32, normals, type OpCase } from '../../testing.ts';
import { type AttentionAttributes, PADDING_SEGMENT } from './attend.reference.ts';
import { ropeAttentionReference } from './rope-attention.reference.ts';

const PADDING = PADDING_SEGMENT << 16;

/** One packed example: lengths of its stretches of trunk (a number) and blocks of paths (an array). */
type ExampleShape = (number | number[])[];

/** Branch codes and positions of a row of packed examples, padded to T. */
export function packedRow(examples: ExampleShape[], T: number): { branches: number[]; positions: number[] } {
  const branches: number[] = [];
  const positions: number[] = [];
  examples.forEach((stretches, example) => {
    let block = 0;
    let position = 0;
    for (const stretch of stretches) {
      const paths = Array.isArray(stretch) ? stretch : [stretch];
      if (Array.isArray(stretch)) block++;
      paths.forEach((length, path) => {
        for (let i = 0; i < length; i++) {
          branches.push((example << 16) + (Array.isArray(stretch) ? 16 * block + path + 1 : 0));
          positions.push(position + i);
        }
      });
      position += Math.max(...paths);
    }
  });
  while (branches.length < T) {
    branches.push(PADDING);
    positions.push(0);
  }
  return { branches: branches.slice(0, T), positions: positions.slice(0, T) };
}

// Few head sizes, since software WebGPU takes 2 s a pipeline: 12 (part of one chunk), 10 (not a multiple of 4),
// 64 (two full chunks) and 70 (three chunks, the last one not full and not a multiple of 4).
const LAYOUTS: { name: string; attributes: AttentionAttributes; rows: ExampleShape[][] }[] = [
  { name: 'one token', attributes: { B: 1, T: 1, H: 1, Hkv: 1, D: 12 }, rows: [[[1]]] },
  {
    name: 'causal, odd length, padding',
    attributes: { B: 2, T: 7, H: 2, Hkv: 2, D: 12 },
    rows: [[[7]], [[5]]],
  },
  {
    name: 'blocks of three and two paths, GQA',
    attributes: { B: 2, T: 37, H: 4, Hkv: 2, D: 12 },
    rows: [[[5, [4, 6, 3], 4, [3, 5], 4]], [[9, [8, 2], 3]]],
  },
  {
    name: 'packed examples over several tiles, padding',
    attributes: { B: 2, T: 101, H: 3, Hkv: 1, D: 10 },
    rows: [
      [[3, [6, 5], 2], [20, [9, 9, 4], 3], [31]],
      [[70, [5, 6], 4], [2]],
    ],
  },
  { name: 'D = 64', attributes: { B: 1, T: 65, H: 2, Hkv: 1, D: 64 }, rows: [[[30, [10, 12], 5]]] },
  { name: 'D = 70', attributes: { B: 1, T: 40, H: 2, Hkv: 2, D: 70 }, rows: [[[3, [12, 14], 2], [9]]] },
];

const POSITIONS = 128;

/** cos and sin (POSITIONS, D/2) with base 100, so that short sequences turn far. */
export function rotationTables(D: number) {
  const half = D / 2;
  const angles = Array.from(
    { length: POSITIONS * half },
    (_, k) => Math.floor(k / half) * 100 ** ((-2 * (k % half)) / D),
  );
  return [f32([POSITIONS, half], angles.map(Math.cos)), f32([POSITIONS, half], angles.map(Math.sin))];
}

export function ropeAttentionCases(): OpCase<AttentionAttributes>[] {
  return LAYOUTS.map(({ name, attributes, rows }) => {
    const { B, T, H, Hkv, D } = attributes;
    const rng = new Rng(3, T, D);
    const packed = rows.map((examples) => packedRow(examples, T));
    return {
      name,
      attributes,
      inputs: [
        normals(rng, [B * T, H * D]),
        normals(rng, [B * T, Hkv * D]),
        normals(rng, [B * T, Hkv * D]),
        ...rotationTables(D),
        i32(
          [B * T],
          packed.flatMap(({ positions }) => positions),
        ),
        i32(
          [B * T],
          packed.flatMap(({ branches }) => branches),
        ),
      ],
    };
  });
}

/** The same for the gradient, with `out` and `lse` of the reference. */
export function ropeAttentionGradCases(): OpCase<AttentionAttributes>[] {
  return ropeAttentionCases().map(({ name, attributes, inputs }) => {
    const { B, T, H, D } = attributes;
    const out = f32([B * T, H * D], new Float32Array(B * T * H * D));
    const lse = f32([B * T, H], new Float32Array(B * T * H));
    ropeAttentionReference(
      inputs.map(({ values }) => values),
      [out.values, lse.values],
      attributes,
    );
    return { name, attributes, inputs: [normals(new Rng(4, T, D), [B * T, H * D]), ...inputs, out, lse] };
  });
}
