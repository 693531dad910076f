import { describe, expect, test } from 'vitest';
import tiny from '../../../models/tiny-recipe.json' with { type: 'json' };
import {
  armRecipe,
  experimentReport,
  isExperiment,
  parseExperiment,
  reportTable,
  seedMean,
} from './experiment.ts';

const documents = new Map<string, unknown>([['tiny-recipe.json', tiny]]);
const document = {
  kind: 'experiment',
  name: 'test',
  recipe: 'tiny-recipe.json',
  set: { 'evaluation.rollout.temperature': 0.9 },
  arms: [
    { name: 'plain' },
    {
      name: 'sequential',
      set: {
        'stages.rl-hard.rollout.mode': 'sequential',
        'stages.*.learningRate': 0.5,
        'stages.base-a.data.mix.0.weight': 3,
      },
    },
    { name: 'no-sft', drop: ['sft-1'] },
  ],
  seeds: [0, 1, 2],
  report: { sets: ['hard'], metrics: ['accuracy', 'parallel/ratio'] },
};

describe('arms', () => {
  const experiment = parseExperiment(document);

  test('an arm changes what it names and nothing else', () => {
    expect(isExperiment(document)).toBe(true);
    expect(isExperiment(tiny)).toBe(false);
    const [plain, sequential, bare] = experiment.arms.map((arm) => armRecipe(experiment, arm, 7, documents));
    expect(plain.seed).toBe(7);
    expect(plain.evaluation.rollout.temperature).toBe(0.9);
    expect(sequential.stages.map(({ learningRate }) => learningRate)).toEqual(plain.stages.map(() => 0.5));
    const first = sequential.stages[0];
    expect('mix' in first.data && first.data.mix[0].weight).toBe(3);
    const hard = sequential.stages.find(({ name }) => name === 'rl-hard');
    expect(hard?.kind === 'grpo' && hard.rollout.mode).toBe('sequential');
    expect({ ...sequential, stages: [], name: '' }).toEqual({ ...plain, stages: [], name: '' });
    expect(bare.stages.map(({ name }) => name)).toEqual(
      plain.stages.map(({ name }) => name).filter((name) => name !== 'sft-1'),
    );
    // The documents themselves stay as they are.
    expect(tiny.stages.some(({ name }) => name === 'sft-1')).toBe(true);
  });

  test.each([
    [
      { name: 'a', set: { 'stages.nowhere.steps': 1 } },
      /Arm "a" sets "stages\.nowhere\.steps".*no "nowhere"/,
    ],
    [{ name: 'a', set: { 'stages.rl-hard.learnRate': 1 } }, /Arm "a": .*learnRate/],
    [{ name: 'a', drop: ['sft-9'] }, /drops the stage "sft-9"/],
    [{ name: 'a', recipe: 'other.json' }, /"other\.json", which is not there/],
  ])('a fault is told with the arm: %j', (arm, message) => {
    const one = parseExperiment({ ...document, arms: [arm] });
    expect(() => armRecipe(one, one.arms[0], 0, documents)).toThrow(message);
  });

  test('faults of the experiment itself', () => {
    expect(() => parseExperiment({ ...document, arms: [{ name: 'a' }, { name: 'a' }] })).toThrow(
      /Two arms.*"a"/,
    );
    expect(() => parseExperiment({ ...document, seeds: [] })).toThrow(/fault at seeds/);
    expect(() => parseExperiment({ ...document, arms: [{ name: 'a/b' }] })).toThrow(/names a folder/);
  });
});

describe('report', () => {
  test('mean and interval over seeds, by Student’s t', () => {
    expect(seedMean([0.5])).toEqual({ mean: 0.5, half: null, values: [0.5] });
    const { mean, half } = seedMean([0.7, 0.74, 0.78]);
    expect(mean).toBeCloseTo(0.74, 9);
    // s = 0.04, t(2) = 4.303: 4.303 · 0.04 / √3
    expect(half).toBeCloseTo(0.09937, 4);
  });

  test('the last evaluation of each run counts, and an arm without a metric shows none', () => {
    const experiment = parseExperiment(document);
    const line = (step: number, accuracy: number, ratio?: number) => ({
      stage: 'rl-hard',
      step,
      set: 'hard',
      metrics: { accuracy, ...(ratio !== undefined && { 'parallel/ratio': ratio }) },
    });
    const report = experimentReport(experiment, [
      { arm: 'plain', seed: 0, history: [line(1, 0.1, 1), line(2, 0.6, 0.9)] },
      { arm: 'plain', seed: 1, history: [line(2, 0.8, 0.7)] },
      { arm: 'sequential', seed: 0, history: [line(2, 0.5)] },
    ]);
    expect(report.arms.plain.hard.accuracy.values).toEqual([0.6, 0.8]);
    expect(report.arms['no-sft']).toBeUndefined();
    expect(reportTable(experiment, report)).toBe(
      [
        '| arm | hard: accuracy | hard: parallel/ratio |',
        '| --- | --- | --- |',
        '| plain | 0.700 ± 1.271 (2) | 0.800 ± 1.271 (2) |',
        '| sequential | 0.500 (1) | – |',
      ].join('\n'),
    );
  });
});
