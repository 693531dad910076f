import { foldKey, Rng } from '../../../../base/rng.ts';
import { f32, type HostTensor, i32, normals, type OpCase } from '../../testing.ts';
import filters from './fixtures/filters.json' with { type: 'json' };
import type { SampleAttributes } from './sample.reference.ts';

const PLAIN: SampleAttributes = { temperature: 1, topK: 0, topP: 1, minP: 0 };

function sampleCase(
  name: string,
  logits: HostTensor,
  attributes: SampleAttributes,
  banned: (row: number) => number = () => -1,
): OpCase<SampleAttributes> {
  const [N] = logits.shape;
  const column = (value: (n: number) => number) =>
    i32(
      [N],
      Array.from({ length: N }, (_, n) => value(n)),
    );
  return {
    name,
    attributes,
    inputs: [logits, column((n) => foldKey(17, n)), column((n) => 3 * n), column(banned)],
  };
}

/** Random logits: sizes below and beyond the threads of the small and of the large kernel, filters and bans. */
export function sampleCases(): OpCase<SampleAttributes>[] {
  const random = (N: number, V: number, scale = 2) => normals(new Rng(18, N, V), [N, V], scale);
  return [
    sampleCase('one token', random(2, 1), PLAIN),
    sampleCase('temperature 1', random(60, 40), PLAIN),
    sampleCase(
      'temperature 0.7, a ban on every second row',
      random(60, 40),
      { ...PLAIN, temperature: 0.7 },
      (n) => (n % 2 === 0 ? n % 40 : -1),
    ),
    sampleCase('more tokens than threads', random(20, 700), PLAIN),
    sampleCase('a large vocabulary', random(6, 1500), PLAIN),
    sampleCase('all filters, a large vocabulary', random(6, 1500), {
      temperature: 1.2,
      topK: 300,
      topP: 0.9,
      minP: 0.01,
    }),
    sampleCase(
      'filters and a ban of the likeliest token',
      f32([8, 5], Array(8).fill([9, 1, 1, 0, -1]).flat()),
      {
        temperature: 1,
        topK: 3,
        topP: 0.8,
        minP: 0,
      },
      () => 0,
    ),
    sampleCase(
      'a banned token that outweighs all others',
      f32([4, 3], Array(4).fill([300, 1, 0]).flat()),
      PLAIN,
      () => 0,
    ),
    sampleCase('greedy', random(30, 300), { ...PLAIN, temperature: 0 }),
    sampleCase(
      'greedy, ties and a ban',
      f32([2, 4], [1, 3, 3, 2, 1, 3, 3, 2]),
      { ...PLAIN, temperature: 0 },
      (n) => (n === 1 ? 1 : -1),
    ),
  ];
}

/** The golden filter cases (05_sampling), each drawn from 8 times. */
export function filterCases(): (OpCase<SampleAttributes> & { kept: number[] })[] {
  const rows = filters.rows as Record<string, (number | null)[]>;
  return filters.cases.map((c) => {
    const row = rows[c.row].map((x) => x ?? Number.NEGATIVE_INFINITY);
    const attributes = { temperature: c.temperature, topK: c.top_k, topP: c.top_p, minP: c.min_p };
    const logits = f32([8, row.length], Array<number[]>(8).fill(row).flat());
    return { ...sampleCase(`${c.row} ${JSON.stringify(attributes)}`, logits, attributes), kept: c.kept };
  });
}
