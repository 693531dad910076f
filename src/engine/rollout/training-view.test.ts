import { describe, expect, test } from 'vitest';
import { Rng } from '../../base/rng.ts';
import { TEST_IDS as IDS } from '../tokenizer/test-ids.ts';
import { finishedRollout, type Rollout, Row, type RowSettings } from './row.ts';
import { trainingView, viewDiffers } from './training-view.ts';
import { structureOf } from './tree.ts';

const WORDS = [10, 11, 12, 13];

/** A rollout of random words that keeps the format. */
function rolloutOf(seed: number, over: Partial<RowSettings>): Rollout {
  const settings: RowSettings = {
    paths: 3,
    maxBlocks: 2,
    pathTokens: 9,
    summaryTokens: 5,
    maxTokens: 120,
    parallel: true,
    noise: null,
    ...over,
  };
  const rng = new Rng(seed);
  const row = new Row([1, 10, 11], seed, settings, IDS);
  while (!row.done) {
    const feeds = row.feeds.filter(({ lane }) => lane >= 0);
    row.feeds = [];
    for (const { lane, banned } of feeds) {
      const ends = { trunk: [IDS.parallel, IDS.eos], paths: [IDS.pathEnd], summary: [IDS.summaryEnd] };
      const tags = ends[row.mode as keyof typeof ends].filter((token) => token !== banned);
      row.advance(lane, rng.pick(rng.next() < 0.25 && tags.length > 0 ? tags : WORDS), -1);
    }
  }
  return finishedRollout(row);
}

const seeds = Array.from({ length: 40 }, (_, i) => i);

describe('positions of the paths', () => {
  test('disjoint: the flat text has the positions of the rollout; nothing else changes', () => {
    let blocks = 0;
    for (const seed of seeds) {
      const shared = rolloutOf(seed, {});
      const apart = rolloutOf(seed, { pathStride: 20 });
      blocks += apart.blocks;
      expect(apart.tokens).toEqual(shared.tokens);
      expect(apart.branches).toEqual(shared.branches);
      expect(apart.critical).toBe(shared.critical);
      const flat = structureOf(apart.tokens, apart.promptLength, IDS, {
        positions: 'disjoint',
        pathStride: 20,
      });
      expect(Array.from(flat.positions)).toEqual(Array.from(apart.positions));
      // Paths of one block of at most 11 tokens have no position in common.
      for (const block of new Set(Array.from(apart.branches, (code) => code >> 4).filter((b) => b > 0))) {
        const own = apart.positions.filter((_, t) => apart.branches[t] >> 4 === block);
        expect(new Set(own).size).toBe(own.length);
      }
    }
    expect(blocks).toBeGreaterThan(20);
  });

  test('consecutive: as plain text counts, with the branches of the block', () => {
    const { tokens, branches, promptLength } = rolloutOf(3, {});
    const flat = structureOf(tokens, promptLength, IDS, { positions: 'consecutive' });
    expect(Array.from(flat.positions)).toEqual([...tokens.keys()]);
    expect(Array.from(flat.branches)).toEqual(Array.from(branches));
  });
});

describe('what training sees of a rollout', () => {
  const rollout = rolloutOf(5, {});

  test('unseen: the rollout itself', () => {
    expect(viewDiffers({ variant: 'unseen', positions: 'disjoint' })).toBe(false);
    expect(trainingView(rollout, { variant: 'unseen', positions: 'shared' })).toBe(rollout);
  });

  test('seen: plain causal text; log-probs, masks and tokens stay', () => {
    const view = trainingView(rollout, { variant: 'seen', positions: 'shared' });
    expect(Array.from(view.branches).every((code) => code === 0)).toBe(true);
    expect(Array.from(view.positions)).toEqual([...rollout.tokens.keys()]);
    expect([view.tokens, view.sampled, view.logp]).toEqual([rollout.tokens, rollout.sampled, rollout.logp]);
    // The same that supervised text is given.
    const flat = structureOf(rollout.tokens, rollout.promptLength, IDS, { variant: 'seen' });
    expect(flat.positions).toEqual(view.positions);
    expect(flat.branches).toEqual(view.branches);
  });
});
