import { Rng } from '../../../../base/rng.ts';
import { i32, normals, type OpCase } from '../../testing.ts';

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
