import { beforeEach, expect, test } from 'vitest';
import tiny from '../../../models/tiny-recipe.json' with { type: 'json' };
import type { EngineEvent, Recipe } from '../../worker/protocol.ts';
import { planExperiment, type Runner, runExperiment, useExperiment } from './experiment.ts';

const document = {
  kind: 'experiment',
  name: 'test',
  recipe: 'tiny-recipe.json',
  arms: [{ name: 'a' }, { name: 'b', set: { 'evaluation.rollout.mode': 'sequential' } }],
  seeds: [0, 1],
  report: { sets: ['hard'], metrics: ['accuracy'] },
};
const load = async (file: string) => (file === 'tiny-recipe.json' ? tiny : undefined);

/** A runner whose runs end at once: as `ends` says, with an accuracy of their seed. */
function runner(ends: readonly ('finished' | 'failed' | 'stopped')[]) {
  const listeners = new Set<(event: EngineEvent) => void>();
  const started: Recipe[] = [];
  const tell = (event: EngineEvent) => {
    for (const listener of [...listeners]) listener(event);
  };
  const self: Runner = {
    start(recipe) {
      const run = recipe as Recipe;
      const ended = ends[started.length];
      started.push(run);
      queueMicrotask(() => {
        tell({ type: 'state', state: 'running' });
        const accuracy = 0.5 + run.seed / 10;
        const evaluation = { stage: 's', stageIndex: 0, step: 1, difficulty: 'hard', metrics: { accuracy } };
        tell({ type: 'evaluation', set: 'hard', ...evaluation } as unknown as EngineEvent);
        tell({ type: 'state', state: ended });
      });
    },
    onEvent(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  return { self, started, listeners };
}

beforeEach(() => {
  useExperiment.setState({ experiment: null, runs: [], results: [], report: null });
});

test('all arms and seeds run in order, and the table grows', async () => {
  const { self, started, listeners } = runner(['finished', 'finished', 'finished', 'finished']);
  await runExperiment(await planExperiment(document, load), self);
  expect(started.map(({ name }) => name)).toEqual([
    'test: a, seed 0',
    'test: a, seed 1',
    'test: b, seed 0',
    'test: b, seed 1',
  ]);
  const { runs, report } = useExperiment.getState();
  expect(runs.every(({ state }) => state === 'done')).toBe(true);
  expect(report?.arms.b.hard.accuracy.values).toEqual([0.5, 0.6]);
  expect(listeners.size).toBe(0);
});

test('Stop ends the experiment; it goes on with what is not done, and a failed run is tried again', async () => {
  const planned = await planExperiment(document, load);
  const first = runner(['finished', 'failed', 'stopped']);
  await runExperiment(planned, first.self);
  expect(useExperiment.getState().runs.map(({ state }) => state)).toEqual([
    'done',
    'failed',
    'waiting',
    'waiting',
  ]);
  const second = runner(['finished', 'finished', 'finished']);
  await runExperiment(await planExperiment(document, load), second.self);
  expect(second.started.map(({ name }) => name)).toEqual([
    'test: a, seed 1',
    'test: b, seed 0',
    'test: b, seed 1',
  ]);
  expect(useExperiment.getState().results).toHaveLength(4);
});

test('a fault is told before anything runs', async () => {
  await expect(planExperiment({ ...document, recipe: 'none.json' }, load)).rejects.toThrow(/"none\.json"/);
});
