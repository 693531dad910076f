import { expect, test } from 'vitest';
import { bySeed, differences, lastScores, meanCurve } from './compare-runs.ts';
import { MetricLog } from './metric-log.ts';
import { initialState, type RunLog } from './studio-state.ts';

const recipe = (change: object = {}, sft: object = {}) =>
  ({
    version: 1,
    name: 'r',
    seed: 0,
    model: { layers: 2 },
    stages: [{ name: 'sft', steps: 3, mix: ['a', 'b'], ...sft }],
    ...change,
  }) as never;

function run(
  name: string,
  change: { recipe?: never; scores?: Record<string, number>; scale?: number } = {},
): RunLog {
  const { stages } = initialState();
  return {
    record: {
      name,
      recipe: change.recipe ?? recipe(),
      scale: change.scale ?? 1,
    } as never as RunLog['record'],
    log: new MetricLog(),
    stages,
    evaluations: Object.entries(change.scores ?? {}).flatMap(([set, score]) => [
      { row: 1, stage: 's', set, metrics: { 'eval/mean@k': 0 } },
      { row: 2, stage: 's', set, metrics: { 'eval/mean@k': score } },
      { row: 3, stage: 's', set, metrics: {} },
    ]),
  };
}

test('differences name the stage, keep lists whole, and leave names out', () => {
  const two = [
    recipe({ name: 'one' }),
    recipe({ name: 'two', seed: 4, extra: true }, { steps: 5, mix: ['a'] }),
  ];
  expect(differences(two)).toEqual([
    { path: 'seed', values: [0, 4] },
    { path: 'sft › steps', values: [3, 5] },
    { path: 'sft › mix', values: [['a', 'b'], ['a']] },
    { path: 'extra', values: [undefined, true] },
  ]);
  expect(differences([recipe(), recipe({ name: 'other' })])).toEqual([]);
  // A stage that has another name in each recipe has none.
  expect(differences([recipe(), recipe({}, { name: 'rl' })])[0].path).toBe('stage 1 › name');
});

test('runs that differ only in their seed are one group; names lose the seed', () => {
  const seeds = [1, 2].map((seed) => run(`parallel, seed ${seed}`, { recipe: recipe({ seed }) }));
  const other = run('parallel', { recipe: recipe({}, { steps: 9 }) });
  const scaled = run('parallel', { scale: 0.5 });
  const groups = bySeed([seeds[0], other, seeds[1], scaled]);
  expect(groups.map(({ name, runs }) => [name, runs.length])).toEqual([
    ['parallel', 2],
    ['parallel (2)', 1],
    ['parallel (3)', 1],
  ]);
  expect(groups[0].runs).toEqual(seeds);
});

test('a mean curve has Student’s interval where two runs have a value, and goes on with those that are left', () => {
  const { values, interval } = meanCurve([
    Float64Array.of(1, 2, Number.NaN, Number.NaN),
    Float64Array.of(3, Number.NaN),
  ]);
  expect([...values]).toEqual([2, 2, Number.NaN, Number.NaN]);
  // n = 2, s = √2, t = 12.706: half = 12.706 · √2 / √2.
  expect(interval!.high[0]).toBeCloseTo(2 + 12.706, 3);
  expect(interval!.low[0]).toBeCloseTo(2 - 12.706, 3);
  expect([...interval!.high.slice(1)]).toEqual([Number.NaN, Number.NaN, Number.NaN]);
  expect(meanCurve([Float64Array.of(5)])).toEqual({ values: Float64Array.of(5), interval: null });
});

test('the last score of each set counts, over seeds', () => {
  const scores = lastScores(
    [run('a', { scores: { hard: 0.5 } }), run('b', { scores: { hard: 0.7, easy: 1 } })],
    'eval/mean@k',
  );
  expect(scores.get('hard')!.mean).toBeCloseTo(0.6, 12);
  expect(scores.get('easy')).toEqual({ mean: 1, half: null, values: [1] });
});
