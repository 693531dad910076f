import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Rng } from '../../base/rng.ts';
import { IDS, SETTINGS } from './generate.golden.ts';
import { finishedRollout, type Rollout, Row, type RowSettings, slackSlots } from './row.ts';
import { structureOf } from './tree.ts';

const [A, B, C] = [10, 11, 12];

/** A response as letters: P<ww><w>pnSws for a block, w for words, e for <eos>. No block of a whole one is cut open. */
const shapeOf = ({ tokens, promptLength }: Rollout): string =>
  Array.from(tokens.subarray(promptLength), (token) => '  ePp<>Ssn'[token] ?? 'w').join('');
const WHOLE = /^(?:w|P(?:<w*>)+pnSw*s)*e?$/;

/** Drives a row with scripted samples: lanes that ask are answered from their own list, in order. */
function drive(script: Record<number, number[]>, over: Partial<RowSettings> = {}) {
  const row = new Row([1, A], 99, { ...SETTINGS, ...over }, IDS);
  const fed: string[] = [];
  const banned: number[] = [];
  for (let steps = 0; !row.done; steps++) {
    if (steps > 200) throw new Error('the row does not end');
    const feeds = row.feeds;
    row.feeds = [];
    fed.push(feeds.map(({ token, position }) => `${token}@${position}`).join(' '));
    for (const { lane, banned: ban } of feeds.filter((feed) => feed.lane >= 0)) {
      if (lane === 0) banned.push(ban);
      row.advance(lane, script[lane].shift() ?? IDS.eos, -1);
    }
  }
  return { row, fed, banned, rollout: finishedRollout(row) };
}

test('trunk → fork → paths → join → summary → trunk → end', () => {
  const { rollout, fed } = drive({
    0: [B, IDS.parallel, C, IDS.summaryEnd, A, IDS.eos],
    1: [A, B, IDS.pathEnd],
    2: [C, IDS.pathEnd],
  });
  const { parallel, path, pathEnd, parallelEnd, summary, summaryEnd, eos } = IDS;
  // prompt: 1@0 A@1; the fork feeds <Parallel> and both <Path> at once, the join all that it injects
  expect(fed[0]).toBe(`1@0 ${A}@1`);
  expect(fed[2]).toBe(`${parallel}@3 ${path}@4 ${path}@4`);
  expect(fed[3]).toBe(`${A}@5 ${C}@5`);
  expect(fed[5]).toBe(`${pathEnd}@7 ${parallelEnd}@8 9@9 ${summary}@10`);
  expect(Array.from(rollout.tokens)).toEqual([
    1,
    A,
    B,
    parallel,
    path,
    A,
    B,
    pathEnd,
    path,
    C,
    pathEnd,
    parallelEnd,
    9,
    summary,
    C,
    summaryEnd,
    A,
    eos,
  ]);
  expect(Array.from(rollout.positions)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14]);
  expect(Array.from(rollout.branches)).toEqual([0, 0, 0, 0, 17, 17, 17, 17, 18, 18, 18, 0, 0, 0, 0, 0, 0, 0]);
  // Injected: both <Path>, </Parallel>, the newline, <Summary>
  expect(Array.from(rollout.sampled)).toEqual([0, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 0, 0, 0, 1, 1, 1, 1]);
  expect(rollout).toMatchObject({ truncated: false, blocks: 1, promptLength: 2 });
  // Critical path: 13 positions after the prompt's last
  expect(rollout.critical).toBe(13);
});

test('<eos> inside a path or summary closes it, and that tag is the runtime’s', () => {
  const { rollout } = drive({ 0: [IDS.parallel, IDS.eos, A, IDS.eos], 1: [IDS.eos], 2: [B, IDS.eos] });
  const ends = Array.from(rollout.tokens.keys()).filter((i) =>
    [IDS.pathEnd, IDS.summaryEnd].includes(rollout.tokens[i]),
  );
  expect(ends).toHaveLength(3);
  for (const i of ends) expect(rollout.sampled[i]).toBe(0);
  expect(rollout.tokens.at(-1)).toBe(IDS.eos);
  expect(rollout.truncated).toBe(false);
});

test('a path at its limit gets </Path> appended', () => {
  const { rollout } = drive(
    { 0: [IDS.parallel, IDS.summaryEnd], 1: [A, A, A, A, A], 2: [IDS.pathEnd] },
    { pathTokens: 3 },
  );
  const first = Array.from(rollout.tokens).filter((_, i) => rollout.branches[i] === 17);
  expect(first).toEqual([IDS.path, A, A, A, IDS.pathEnd]);
});

test('at the limit of blocks <Parallel> is banned and the response goes on to its answer', () => {
  const { rollout, banned } = drive(
    { 0: [IDS.parallel, IDS.summaryEnd, A, IDS.eos], 1: [IDS.pathEnd], 2: [IDS.pathEnd] },
    { maxBlocks: 1 },
  );
  // Asked: first token, summary, after the summary (twice)
  expect(banned).toEqual([-1, -1, IDS.parallel, IDS.parallel]);
  expect(rollout.tokens.at(-1)).toBe(IDS.eos);
});

test('a budget that runs out ends the row after its last token', () => {
  const { rollout } = drive({ 0: Array(50).fill(B) }, { maxTokens: 7, parallel: false });
  expect(rollout.tokens).toHaveLength(2 + 7);
  expect(rollout.truncated).toBe(true);
});

test('three paths of different lengths join at the longest', () => {
  const { rollout } = drive(
    { 0: [IDS.parallel, IDS.summaryEnd], 1: [IDS.pathEnd], 2: [A, A, A, IDS.pathEnd], 3: [A, IDS.pathEnd] },
    { paths: 3 },
  );
  const at = Array.from(rollout.tokens).indexOf(IDS.parallelEnd);
  // <Parallel>@2, <Path>@3, longest path ends at 3 + 4
  expect(rollout.positions[at]).toBe(8);
  expect(new Set(rollout.branches)).toEqual(new Set([0, 17, 18, 19]));
});

describe('noise', () => {
  const noise = { after: B, replacements: [13, 14], probability: 1 };

  test('replaces what follows its token, and that token is not the policy’s', () => {
    const { rollout } = drive({ 0: [B, A, B, C, C, IDS.eos] }, { noise, parallel: false });
    const response = Array.from(rollout.tokens.slice(2));
    expect(response.map((token) => (token >= 13 ? 'n' : token))).toEqual([B, 'n', B, 'n', C, IDS.eos]);
    expect(Array.from(rollout.sampled.slice(2))).toEqual([1, 0, 1, 0, 1, 1]);
    expect(Array.from(rollout.logp.slice(2))).toEqual([-1, 0, -1, 0, -1, -1]);
  });

  test('looks at the last token of its own lane', () => {
    const { rollout } = drive(
      { 0: [IDS.parallel, IDS.summaryEnd], 1: [B, A, IDS.pathEnd], 2: [A, A, IDS.pathEnd] },
      { noise },
    );
    const path = (code: number) => Array.from(rollout.tokens).filter((_, i) => rollout.branches[i] === code);
    expect(path(17)[2]).toBeGreaterThanOrEqual(13);
    expect(path(18)).toEqual([IDS.path, A, A, IDS.pathEnd]);
  });

  test('is drawn by key and place alone', () => {
    const values = (key: number) => {
      const row = new Row([1, B], key, { ...SETTINGS, parallel: false, maxTokens: 30, noise }, IDS);
      while (!row.done) row.advance(0, B, 0);
      return row.tokens.slice(2);
    };
    expect(values(5)).toEqual(values(5));
    expect(values(5)).not.toEqual(values(6));
    // After every B a replacement, and after that B again
    expect(values(5).filter((_, i) => i % 2 === 1)).toEqual(Array(15).fill(B));
  });

  test('comes at its rate', () => {
    const rare = { ...noise, probability: 0.07 };
    const row = new Row([1, B], 3, { ...SETTINGS, parallel: false, maxTokens: 4000, noise: rare }, IDS);
    while (!row.done) row.advance(0, B, 0);
    const chances = row.tokens.slice(1, -1).filter((token) => token === B).length;
    const hits = row.tokens.filter((token) => token >= 13).length;
    // Binomial; five standard deviations
    expect(Math.abs(hits - 0.07 * chances)).toBeLessThan(5 * Math.sqrt(chances * 0.07 * 0.93));
  });
});

test('where no block has room any more, or parallel thinking is off, <Parallel> is banned', () => {
  const small = drive({ 0: [A, IDS.eos] }, { maxTokens: 2 * slackSlots(2, 1) - 1 });
  expect(small.banned).toEqual([IDS.parallel, IDS.parallel]);
  const enough = drive({ 0: [A, A, IDS.eos] }, { maxTokens: 2 * slackSlots(2, 1) + 1 });
  expect(enough.banned).toEqual([-1, -1, IDS.parallel]);
  const off = drive({ 0: [A, IDS.eos] }, { parallel: false });
  expect(off.banned).toEqual([IDS.parallel, IDS.parallel]);
});

test('a summary at its limit gets </Summary> appended', () => {
  const { rollout } = drive(
    { 0: [IDS.parallel, A, A, A, A, IDS.eos], 1: [B, IDS.pathEnd], 2: [B, IDS.pathEnd] },
    { summaryTokens: 2 },
  );
  const at = Array.from(rollout.tokens).indexOf(IDS.summary);
  expect(Array.from(rollout.tokens.slice(at + 1))).toEqual([A, A, IDS.summaryEnd, A, A, IDS.eos]);
  expect(Array.from(rollout.sampled.slice(at + 1))).toEqual([1, 1, 0, 1, 1, 1]);
});

test('a budget that runs out inside a block closes it: paths, summary, then the end', () => {
  const maxTokens = 2 * slackSlots(2, 1) + 4;
  const { rollout } = drive(
    { 0: [IDS.parallel, ...Array(99).fill(A)], 1: Array(99).fill(B), 2: Array(99).fill(C) },
    {
      maxTokens,
      pathTokens: 99,
      summaryTokens: 99,
    },
  );
  expect(rollout.truncated).toBe(true);
  expect(shapeOf(rollout)).toMatch(WHOLE);
  expect(shapeOf(rollout)).toContain('P<');
  expect(rollout.tokens.length - 2).toBeLessThanOrEqual(maxTokens);
});

describe('random scripts', () => {
  const settings = fc.record({
    paths: fc.integer({ min: 1, max: 8 }),
    maxBlocks: fc.integer({ min: 1, max: 3 }),
    pathTokens: fc.integer({ min: 1, max: 12 }),
    summaryTokens: fc.integer({ min: 1, max: 6 }),
    maxTokens: fc.integer({ min: 1, max: 160 }),
  });
  const words = [A, B, C, 13, 14];
  /** What may be sampled: weights by repetition. */
  const polite = [...words, ...words, IDS.parallel, IDS.pathEnd, IDS.summaryEnd, IDS.eos];

  /** Runs a row on random samples; a banned token is drawn again, as the sampler would. */
  function run(over: Partial<RowSettings>, seed: number, choice: (mode: string) => readonly number[]) {
    const rng = new Rng(seed);
    const row = new Row([1, A, B], seed, { ...SETTINGS, ...over }, IDS);
    const slots: number[] = [];
    let samples = 0;
    for (let steps = 0; !row.done; steps++) {
      if (steps > 2000) throw new Error('the row does not end');
      const feeds = row.feeds;
      row.feeds = [];
      slots.push(...feeds.map(({ slot }) => slot));
      for (const feed of feeds.filter(({ lane }) => lane >= 0)) {
        let token = rng.pick(choice(row.mode));
        while (token === feed.banned) token = rng.pick(choice(row.mode));
        row.advance(feed.lane, token, -0.5);
        samples++;
      }
    }
    return { row, slots, samples, rollout: finishedRollout(row) };
  }

  /** What holds for every row, whatever is sampled. */
  function expectWhole({ row, slots, rollout }: ReturnType<typeof run>, over: RowSettings) {
    const T = rollout.tokens.length;
    expect(T - rollout.promptLength).toBeLessThanOrEqual(over.maxTokens);
    // Every slot is fed once and in order; only the last token, or a last word and its </Summary>, need no feeding.
    expect(slots).toEqual([...Array(slots.length).keys()]);
    expect(T - slots.length).toBeLessThanOrEqual(rollout.truncated ? 2 : 1);
    // Nothing is lost by the reordering; the critical path ends at the last position.
    expect(Array.from(rollout.tokens).sort()).toEqual([...row.tokens].sort());
    expect(rollout.critical).toBe(Math.max(...rollout.positions) - (rollout.promptLength - 1));
    expect(rollout.blocks).toBeLessThanOrEqual(over.maxBlocks);
    expect(rollout.truncated).toBe(rollout.tokens[T - 1] !== IDS.eos);
    Array.from(rollout.sampled).forEach((own, t) => {
      expect(rollout.logp[t]).toBe(own ? -0.5 : 0);
    });
  }

  test('of a model that keeps the format: the structure is the one that the flat text has', () => {
    const inMode = (mode: string) =>
      mode === 'trunk'
        ? polite.filter((t) => t !== IDS.pathEnd && t !== IDS.summaryEnd)
        : polite.filter(
            (t) =>
              t !== IDS.parallel &&
              (mode === 'summary' || t !== IDS.summaryEnd) &&
              (mode === 'paths' || t !== IDS.pathEnd),
          );
    fc.assert(
      fc.property(settings, fc.nat(1e6), (over, seed) => {
        const result = run(over, seed, inMode);
        const { rollout } = result;
        expectWhole(result, { ...SETTINGS, ...over });
        const { positions, branches, blocks } = structureOf(rollout.tokens, rollout.promptLength, IDS);
        expect(Array.from(rollout.positions)).toEqual(Array.from(positions));
        expect(Array.from(rollout.branches)).toEqual(Array.from(branches));
        expect(blocks).toBe(rollout.blocks);
        expect(shapeOf(rollout)).toMatch(WHOLE);
      }),
      { numRuns: 300 },
    );
  });

  test('of a model that writes tags anywhere', () => {
    const anything = [...words, 3, 4, 5, 6, 7, 8, 2];
    fc.assert(
      fc.property(settings, fc.nat(1e6), (over, seed) => {
        expectWhole(
          run(over, seed, () => anything),
          { ...SETTINGS, ...over },
        );
      }),
      { numRuns: 300 },
    );
  });
});
