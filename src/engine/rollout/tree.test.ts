import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TAGS } from '../tokenizer/tags.ts';
import structure from './fixtures/structure.json' with { type: 'json' };
import { IDS } from './generate.golden.ts';
import { structureOf, treeOf, visible } from './tree.ts';

const NAMES: Record<string, number> = {
  '<Parallel>': IDS.parallel,
  '</Parallel>': IDS.parallelEnd,
  '<Path>': IDS.path,
  '</Path>': IDS.pathEnd,
  '<Summary>': IDS.summary,
  '</Summary>': IDS.summaryEnd,
  eos: IDS.eos,
  '\\n': 9,
};
const WORD = 12;
const tokensOf = (words: readonly string[]) => words.map((word) => NAMES[word] ?? WORD);

describe('golden structures (PyTorch, hand-derived vectors)', () => {
  test.each(Object.entries(structure.cases))('%s', (name, golden) => {
    const variant = name.endsWith('_seen') || name === 'plain_causal' ? 'seen' : 'unseen';
    const unclosed = (/unclosed_(.*)/.exec(name)?.[1] ?? 'isolated') as 'isolated' | 'released' | 'plain';
    const { positions, branches } = structureOf(tokensOf(golden.tokens), 0, IDS, { variant, unclosed });
    expect(Array.from(positions)).toEqual(golden.position_ids);
    const rows = golden.tokens.map((_, i) =>
      golden.tokens.map((_, j) => (visible(branches, i, j) ? '1' : '.')).join(''),
    );
    expect(rows).toEqual(golden.visible_rows);
  });
});

test('tags in the prompt are words', () => {
  const tokens = [IDS.parallel, IDS.path, WORD, IDS.pathEnd, WORD, IDS.eos];
  const { positions, branches, blocks } = structureOf(tokens, 4, IDS);
  expect(Array.from(positions)).toEqual([0, 1, 2, 3, 4, 5]);
  expect(Array.from(branches)).toEqual([0, 0, 0, 0, 0, 0]);
  expect(blocks).toBe(0);
});

test('a gap moves the response, not the prompt', () => {
  const { positions } = structureOf([WORD, WORD, WORD, WORD], 2, IDS, { positionGap: 10 });
  expect(Array.from(positions)).toEqual([0, 1, 12, 13]);
});

/** A random tree: a trunk stretch, then blocks of paths, each with a summary and more trunk. */
const tree = fc.record({
  start: fc.nat(4),
  blocks: fc.array(
    fc.record({
      paths: fc.array(fc.nat(5), { minLength: 1, maxLength: 8 }),
      summary: fc.nat(3),
      after: fc.nat(3),
    }),
    { maxLength: 8 },
  ),
  cut: fc.nat(300),
});

interface Place {
  token: number;
  position: number;
  block: number;
  path: number;
}

/** The oracle: writes tokens with their places as a recursive description of the tree, not by reading tags. */
function places({ start, blocks, cut }: typeof tree extends fc.Arbitrary<infer T> ? T : never): Place[] {
  const out: Place[] = [];
  const trunk = (token: number, position: number): number => {
    out.push({ token, position, block: 0, path: 0 });
    return position + 1;
  };
  let p = 0;
  for (let i = 0; i <= start; i++) p = trunk(WORD, p);
  blocks.forEach(({ paths, summary, after }, b) => {
    p = trunk(IDS.parallel, p);
    const ends = paths.map((words, k) => {
      const inside = [IDS.path, ...Array<number>(words).fill(WORD), IDS.pathEnd];
      inside.forEach((token, i) => {
        out.push({ token, position: p + i, block: b + 1, path: k + 1 });
      });
      return p + inside.length;
    });
    p = Math.max(...ends);
    for (const token of [IDS.parallelEnd, IDS.summary, ...Array<number>(summary).fill(WORD), IDS.summaryEnd])
      p = trunk(token, p);
    for (let i = 0; i < after; i++) p = trunk(WORD, p);
  });
  return out.slice(0, Math.max(1, cut));
}

test('random trees, cut anywhere: positions and visibility are those of the oracle', () => {
  fc.assert(
    fc.property(tree, (shape) => {
      const all = places(shape);
      const { positions, branches } = structureOf(
        all.map(({ token }) => token),
        0,
        IDS,
      );
      expect(Array.from(positions)).toEqual(all.map(({ position }) => position));
      all.forEach((a, i) => {
        all.slice(0, i + 1).forEach((b, j) => {
          const siblings = a.block > 0 && a.block === b.block && a.path !== b.path;
          if (visible(branches, i, j) === siblings) throw new Error(`tokens ${i} and ${j}`);
        });
      });
    }),
    { numRuns: 200 },
  );
});

test('the other ways to treat a block that the text ends in: random trees against the oracle', () => {
  fc.assert(
    fc.property(tree, (shape) => {
      const all = places(shape);
      const tokens = all.map(({ token }) => token);
      const opened = tokens.lastIndexOf(IDS.parallel);
      // The text ends in a block iff nothing behind its <Parallel> is on the trunk again.
      const unclosed = opened >= 0 && all.slice(opened + 1).every(({ block }) => block > 0);
      const last = unclosed ? all[opened].position : -1;
      const released = structureOf(tokens, 0, IDS, { unclosed: 'released' });
      expect(Array.from(released.positions)).toEqual(all.map(({ position }) => position));
      const codes = all.map(({ block, path }, t) =>
        unclosed && t > opened ? 0 : block && 16 * block + path,
      );
      expect(Array.from(released.branches)).toEqual(codes);
      const plain = structureOf(tokens, 0, IDS, { unclosed: 'plain' });
      expect(Array.from(plain.branches)).toEqual(codes);
      expect(Array.from(plain.positions)).toEqual(
        all.map(({ position }, t) => (unclosed && t > opened ? last + t - opened : position)),
      );
      const seen = structureOf(tokens, 0, IDS, { variant: 'seen' });
      expect(Array.from(seen.positions)).toEqual([...tokens.keys()]);
      expect(new Set(seen.branches)).toEqual(new Set([0]));
    }),
    { numRuns: 200 },
  );
});

test('random trees are drawn as they were described', () => {
  fc.assert(
    fc.property(tree, (shape) => {
      const whole = { ...shape, cut: Number.POSITIVE_INFINITY };
      const tokens = places(whole).map(({ token }) => token);
      const { segments, blocks } = treeOf(tokens, 0, IDS, (ids) => 'w'.repeat(ids.length));
      expect(blocks).toEqual(
        shape.blocks.map(({ paths, summary }) => ({
          paths: paths.map((n) => 'w'.repeat(n)),
          summary: 'w'.repeat(summary),
        })),
      );
      const words = shape.start + 1 + shape.blocks.reduce((sum, { after }) => sum + after, 0);
      const trunk = segments.filter(({ kind }) => kind === 'trunk');
      expect(trunk.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(words);
      expect(segments.every(({ open }) => !open)).toBe(true);
    }),
    { numRuns: 100 },
  );
});

describe('treeOf', () => {
  const decode = (ids: number[]) => ids.map((id) => 'abcdefghijklmnop'[id]).join('');
  const response = [
    WORD,
    IDS.parallel,
    IDS.path,
    10,
    IDS.pathEnd,
    IDS.path,
    11,
    11,
    IDS.pathEnd,
    IDS.parallelEnd,
    IDS.summary,
    13,
    IDS.summaryEnd,
    14,
  ];

  test('reads trunk, paths and summary', () => {
    const { segments, blocks } = treeOf([1, ...response], 1, IDS, decode);
    expect(segments.map(({ kind, block, path, text, open }) => [kind, block, path, text, open])).toEqual([
      ['trunk', 0, 0, 'm', false],
      ['path', 1, 1, 'k', false],
      ['path', 1, 2, 'll', false],
      ['summary', 1, 0, 'n', false],
      ['trunk', 0, 0, 'o', false],
    ]);
    expect(blocks).toEqual([{ paths: ['k', 'll'], summary: 'n' }]);
  });

  test.each([
    [1, ['trunk open']],
    [4, ['trunk', 'path open']],
    [8, ['trunk', 'path', 'path open']],
    [12, ['trunk', 'path', 'path', 'summary open']],
  ])('a rollout that grows, after %i tokens', (count, expected) => {
    const { segments } = treeOf([1, ...response.slice(0, count)], 1, IDS, decode, true);
    expect(segments.map(({ kind, open }) => (open ? `${kind} open` : kind))).toEqual(expected);
  });

  test('paths that grow side by side are told apart by their branch codes', () => {
    const tokens = [1, WORD, IDS.parallel, IDS.path, 10, 10, IDS.path, 11];
    const codes = [0, 0, 0, 17, 17, 17, 18, 18];
    const { segments, blocks } = treeOf(tokens, 1, IDS, decode, true, codes);
    expect(segments.map(({ kind, path, text, open }) => [kind, path, text, open])).toEqual([
      ['trunk', 0, 'm', false],
      ['path', 1, 'kk', true],
      ['path', 2, 'l', true],
    ]);
    expect(blocks).toEqual([{ paths: ['kk', 'l'], summary: null }]);
    // A <Path> that a confused model writes into its path is a word of it.
    expect(
      treeOf(
        tokens,
        1,
        IDS,
        decode,
        true,
        codes.map((c) => c && 17),
      ).segments,
    ).toHaveLength(2);
  });

  test('the six tags never show up in a text of their own place', () => {
    const { segments } = treeOf(response, 0, IDS, (ids) =>
      ids.map((id) => TAGS[id - IDS.parallel] ?? 'w').join(''),
    );
    for (const { text } of segments) expect(text).not.toContain('<');
  });
});
