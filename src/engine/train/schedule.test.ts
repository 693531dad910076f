import { describe, expect, test } from 'vitest';
import golden from './fixtures/adamw-optimizer-only.json' with { type: 'json' };
import { learningRateAt } from './schedule.ts';

const settings = {
  learningRate: 2e-3,
  warmupSteps: 4,
  schedule: 'linear',
  minLearningRateRatio: 0.1,
} as const;

describe('learningRateAt', () => {
  test('cosine: the rule of the golden AdamW run', () => {
    const { lr, min_ratio, warmup, steps } = golden.hyper;
    const cosine = {
      learningRate: lr,
      warmupSteps: warmup,
      schedule: 'cosine',
      minLearningRateRatio: min_ratio,
    } as const;
    expect(golden.steps).toHaveLength(steps);
    for (const step of golden.steps) {
      const ours = learningRateAt(cosine, step.step, steps);
      expect(Math.abs(ours - step.lr) / step.lr, `step ${step.step}`).toBeLessThan(1e-9);
    }
  });

  test('linear and constant', () => {
    expect([1, 2, 4, 7, 10, 11].map((step) => learningRateAt(settings, step, 10))).toEqual(
      [0.0005, 0.001, 0.002, 0.0011, 0.0002, 0.0002].map((lr) => expect.closeTo(lr, 12)),
    );
    expect(
      [1, 4, 5, 10].map((step) => learningRateAt({ ...settings, schedule: 'constant' }, step, 10)),
    ).toEqual([0.0005, 0.002, 0.002, 0.002]);
  });

  test('never NaN when the warm-up fills the run or there is none', () => {
    for (const schedule of ['cosine', 'linear', 'constant'] as const) {
      expect(learningRateAt({ ...settings, schedule, warmupSteps: 4 }, 4, 4)).toBe(2e-3);
      expect(learningRateAt({ ...settings, schedule, warmupSteps: 0 }, 1, 1)).toBeGreaterThan(0);
    }
  });
});
