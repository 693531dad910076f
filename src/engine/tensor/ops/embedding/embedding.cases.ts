import { Rng } from '../../../../base/rng.ts';
import { i32, normals, type OpCase } from '../../testing.ts';
import type { EmbeddingPiece } from './embedding.ts';

/** V rows of C numbers and N ids, of which only the first `used` occur: repeats, and rows that stay zero. */
const SIZES = [
  { V: 1, C: 1, N: 1, used: 1 },
  { V: 11, C: 3, N: 7, used: 5 },
  { V: 70, C: 65, N: 300, used: 40 },
];

function idsOf({ N, used }: { N: number; used: number }) {
  const rng = new Rng(8, N);
  return i32(
    [N],
    Array.from({ length: N }, () => rng.int(used)),
  );
}

export function embeddingCases(): OpCase<object>[] {
  return SIZES.map((size) => ({
    name: `V=${size.V} C=${size.C} N=${size.N}`,
    inputs: [normals(new Rng(9, size.V), [size.V, size.C]), idsOf(size)],
    attributes: {},
  }));
}

export function embeddingGradCases(): OpCase<{ V: number }>[] {
  return SIZES.map((size) => ({
    name: `V=${size.V} C=${size.C} N=${size.N}`,
    inputs: [idsOf(size), normals(new Rng(10, size.N), [size.N, size.C])],
    attributes: { V: size.V },
  }));
}

/** The middle third of the vocabulary as a piece; rows of the output that it does not own stay as they are. */
export function embeddingPieceCases(of: 'rows' | 'grad'): OpCase<EmbeddingPiece>[] {
  return SIZES.map((size) => {
    const { V, C, N } = size;
    const firstRow = Math.floor(V / 3);
    const rng = new Rng(16, V);
    const piece = normals(rng, [Math.max(1, Math.floor(V / 3)), C]);
    const rows = normals(rng, [N, C]);
    return {
      name: `V=${V} C=${C} N=${N}`,
      inputs: of === 'rows' ? [piece, idsOf(size), rows] : [idsOf(size), rows, piece],
      attributes: { firstRow },
    };
  });
}
