import { expect, test } from 'vitest';
import { IDS, SETTINGS } from './generate.golden.ts';
import { finishedRollout, Row, type RowSettings } from './row.ts';

const [A, B, C] = [10, 11, 12];

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
