/**
 * Random trees of 1–8 paths and 0–8 blocks, with tags as words, a prompt that speaks of tags, a gap and a cut anywhere.
 * The oracle knows each token's node and what the node hangs on, and reads no tags.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TEST_IDS as IDS } from '../tokenizer/test-ids.ts';
import { finishedRollout, Row } from './row.ts';
import { structureOf, treeOf, visible } from './tree.ts';

const { parallel, parallelEnd, path, pathEnd, summary, summaryEnd, eos } = IDS;
const WORD = 12;
const words = (...tags: number[]) =>
  fc.array(fc.oneof({ weight: 3, arbitrary: fc.constant(WORD) }, fc.constantFrom(...tags)), { maxLength: 6 });
/** Tags that mean nothing where they stand. */
const inTrunk = words(path, pathEnd, parallelEnd, summaryEnd);
const inPath = words(parallel, parallelEnd, path, summary, summaryEnd);
const inSummary = words(parallel, parallelEnd, path, pathEnd, summary);

const shape = fc.record({
  prompt: fc.array(fc.constantFrom(WORD, parallel, path, pathEnd, parallelEnd, summary, summaryEnd), {
    minLength: 1,
    maxLength: 6,
  }),
  gap: fc.nat(5),
  start: inTrunk,
  blocks: fc.array(
    fc.record({
      paths: fc.array(inPath, { minLength: 1, maxLength: 8, size: 'max' }),
      summary: inSummary,
      after: inTrunk,
    }),
    { maxLength: 8, size: 'max' },
  ),
  cut: fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.nat(200)),
});
type Shape = typeof shape extends fc.Arbitrary<infer T> ? T : never;

interface Node {
  /** The stretch that this one goes on from; a join goes on from all paths of its block. */
  parents: Node[];
  /** Position of its first token. */
  from: number;
  tokens: number;
}

/** Tokens in text order, each with its node and its place in it. */
function write({ prompt, gap, start, blocks, cut }: Shape): { token: number; node: Node; at: number }[] {
  const out: { token: number; node: Node; at: number }[] = [];
  const stretch = (parents: Node[], from: number, tokens: readonly number[]): Node => {
    const node = { parents, from, tokens: tokens.length };
    tokens.forEach((token, at) => {
      out.push({ token, node, at });
    });
    return node;
  };
  const end = (node: Node) => node.from + node.tokens;
  const root = stretch([], 0, prompt);
  let trunk = stretch([root], end(root) + gap, [...start, ...(blocks.length > 0 ? [parallel] : [])]);
  blocks.forEach((block, b) => {
    const paths = block.paths.map((inside) => stretch([trunk], end(trunk), [path, ...inside, pathEnd]));
    const next = b + 1 < blocks.length ? [parallel] : [];
    const behind = [parallelEnd, 9, summary, ...block.summary, summaryEnd, ...block.after, ...next];
    trunk = stretch(paths, Math.max(...paths.map(end)), behind);
  });
  return out.slice(0, Math.max(prompt.length, cut));
}

/** Everything that a stretch comes from. */
function above(node: Node): Set<Node> {
  const nodes = new Set(node.parents);
  for (const each of nodes) for (const parent of each.parents) nodes.add(parent);
  return nodes;
}

test('positions and visibility are those of the oracle', () => {
  fc.assert(
    fc.property(shape, (tree) => {
      const all = write(tree);
      const tokens = all.map(({ token }) => token);
      const options = { positionGap: tree.gap };
      const { positions, branches } = structureOf(tokens, tree.prompt.length, IDS, options);
      expect(Array.from(positions)).toEqual(all.map(({ node, at }) => node.from + at));
      const ancestors = new Map(all.map(({ node }) => [node, above(node)]));
      // A token sees its own stretch up to itself, and all of the stretches that this one comes from.
      all.forEach((a, i) => {
        const known = ancestors.get(a.node)!;
        all.forEach((b, j) => {
          const sees = a.node === b.node ? b.at <= a.at : known.has(b.node);
          if (visible(branches, i, j) !== sees) throw new Error(`token ${i} and ${j} of ${tokens.join(' ')}`);
        });
      });
    }),
    { numRuns: 150 },
  );
});

test('the tree that is drawn has the blocks, paths and summaries of the oracle', () => {
  fc.assert(
    fc.property(shape, (tree) => {
      const whole = { ...tree, cut: Number.POSITIVE_INFINITY };
      const tokens = write(whole).map(({ token }) => token);
      const { blocks } = treeOf(tokens, tree.prompt.length, IDS, (ids) => ids.join(' '));
      expect(blocks).toEqual(
        tree.blocks.map((block) => ({
          paths: block.paths.map((inside) => inside.join(' ')),
          summary: block.summary.join(' '),
        })),
      );
      expect(structureOf(tokens, tree.prompt.length, IDS).blocks).toBe(tree.blocks.length);
    }),
    { numRuns: 100 },
  );
});

test('a rollout of random tokens has the structure that its flat text is read with', () => {
  const settings = { maxBlocks: 8, pathTokens: 5, summaryTokens: 5, parallel: true, noise: null };
  const draw = fc.constantFrom(
    WORD,
    WORD,
    parallel,
    path,
    pathEnd,
    pathEnd,
    parallelEnd,
    summary,
    summaryEnd,
    eos,
  );
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 8 }),
      fc.integer({ min: 40, max: 160 }),
      fc.array(draw, { minLength: 1, maxLength: 200, size: 'max' }),
      (paths, maxTokens, samples) => {
        const row = new Row([1, parallel, WORD], 1, { ...settings, paths, maxTokens }, IDS);
        let next = 0;
        while (!row.done) {
          const asked = row.feeds.filter(({ lane }) => lane >= 0);
          row.feeds = [];
          for (const { lane, banned } of asked) {
            const token = samples[next++ % samples.length];
            row.advance(lane, token === banned ? WORD : token, -1);
          }
        }
        const rollout = finishedRollout(row);
        const flat = structureOf(rollout.tokens, rollout.promptLength, IDS);
        expect(Array.from(flat.positions)).toEqual(Array.from(rollout.positions));
        expect(Array.from(flat.branches)).toEqual(Array.from(rollout.branches));
        expect(flat.blocks).toBe(rollout.blocks);
        const drawn = treeOf(rollout.tokens, rollout.promptLength, IDS, (ids) => ids.join(' '));
        expect(drawn.blocks.map((block) => block.paths.length)).toEqual(
          Array<number>(rollout.blocks).fill(paths),
        );
      },
    ),
    { numRuns: 300 },
  );
});

describe('malformed text', () => {
  test('a <Parallel> inside a summary opens no block; the next one on the trunk does', () => {
    const block = (text: number[]) => [
      parallel,
      path,
      WORD,
      pathEnd,
      parallelEnd,
      9,
      summary,
      ...text,
      summaryEnd,
    ];
    const tokens = [1, ...block([parallel, path, WORD, pathEnd]), ...block([WORD])];
    const { branches, positions, blocks } = structureOf(tokens, 1, IDS);
    expect(blocks).toBe(2);
    expect(Array.from(branches)).toEqual([
      0, 0, 17, 17, 17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 33, 33, 33, 0, 0, 0, 0, 0,
    ]);
    expect(Array.from(positions)).toEqual([...tokens.keys()]);
    expect(treeOf(tokens, 1, IDS, (ids) => ids.join(' ')).blocks).toHaveLength(2);
  });

  test('a <Summary> that no block awaits is a word: it hides no block', () => {
    const tokens = [1, summary, WORD, parallel, path, WORD, pathEnd];
    expect(structureOf(tokens, 1, IDS).blocks).toBe(1);
  });

  test('any soup of tags has a structure: as many blocks as are drawn, codes in range, no position left out', () => {
    const soup = fc.array(
      fc.constantFrom(WORD, parallel, path, pathEnd, parallelEnd, summary, summaryEnd, eos),
      {
        maxLength: 80,
        size: 'max',
      },
    );
    fc.assert(
      fc.property(soup, (response) => {
        const tokens = [1, ...response];
        const { positions, branches, blocks } = structureOf(tokens, 1, IDS);
        expect(treeOf(tokens, 1, IDS, () => '').blocks).toHaveLength(blocks);
        const used = new Set(positions);
        for (let p = 0; p <= Math.max(...positions); p++) expect(used.has(p)).toBe(true);
        for (const code of branches)
          expect(code === 0 || (code >> 4 <= blocks && (code & 15) > 0)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});
