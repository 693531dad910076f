import { describe, expect, test } from 'vitest';
import tinyRecipe from '../../../models/tiny-recipe.json' with { type: 'json' };
import type { Metrics } from './events.ts';
import { curriculumWarnings, Promotion } from './promotion.ts';
import {
  type GrpoStage,
  parseRecipe,
  type Recipe,
  type SftStage,
  type Stage,
  scaleRecipe,
} from './recipe.ts';

const tiny = parseRecipe(tinyRecipe);
const rl = { ...(tiny.stages.find(({ kind }) => kind === 'grpo') as GrpoStage), steps: 50 };
const sft = { ...(tiny.stages.find(({ name }) => name === 'sft-1') as SftStage), steps: 50 };

/** The step at which a stage with these values ends, and why; null if it runs to the end. */
function endOf(stage: Stage, values: readonly number[], from = new Promotion(stage)) {
  for (const [i, value] of values.entries()) {
    const metrics: Metrics = stage.kind === 'grpo' ? { accuracy: value, loss: 0 } : { loss: value };
    const why = from.see(i + 1, metrics);
    if (why !== null) return { step: i + 1, why };
  }
  return null;
}

const ramp = Array.from({ length: 50 }, (_, i) => i / 50);

describe('promotion', () => {
  test('by steps is what a recipe has that says nothing', () => {
    expect(tiny.stages.every(({ promotion }) => promotion.kind === 'steps')).toBe(true);
    expect(endOf(rl, ramp)).toBeNull();
    expect(new Promotion(rl).solveRate).toBeNull();
  });

  test('by solve rate: the moving average counts, not one lucky step, and not before the fewest steps', () => {
    const stage: GrpoStage = {
      ...rl,
      promotion: { kind: 'solve-rate', window: 4, threshold: 0.5, minSteps: 1 },
    };
    // mean of 0.44 … 0.56 (steps 23 to 26) is 0.47; of steps 25 to 28 it is 0.51
    expect(endOf(stage, ramp)).toEqual({
      step: 28,
      why: 'its solve rate was 0.510 over the last 4 steps (asked: 0.5)',
    });
    expect(endOf(stage, [0, 0, 0, 1, 0, 0, 0, 1])).toBeNull();
    expect(endOf(stage, [1, 1, 1])).toBeNull();
    const late = { ...stage, promotion: { ...stage.promotion, minSteps: 10 } } as GrpoStage;
    expect(endOf(late, Array(20).fill(1))?.step).toBe(10);
  });

  test('by plateau: RL when the solve rate, SFT when the loss gets no better', () => {
    const promotion = { kind: 'plateau' as const, window: 3, minGain: 0.01, minSteps: 1 };
    const rise = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6];
    // steps 6 to 8 and 9 to 11 are the first pair of windows without a gain
    expect(endOf({ ...rl, promotion }, rise)?.step).toBe(11);
    expect(endOf({ ...rl, promotion }, ramp)).toBeNull();
    const fall = rise.map((x) => 1 - x);
    const found = endOf({ ...sft, promotion }, fall);
    expect(found).toMatchObject({
      step: 11,
      why: expect.stringMatching(/its loss went from 0.400 to 0.400/),
    });
    // A loss that rises is no gain either.
    expect(endOf({ ...sft, promotion }, rise)?.step).toBe(6);
  });

  test('goes on from a save as if it had never stopped', () => {
    const stage: GrpoStage = {
      ...rl,
      promotion: { kind: 'solve-rate', window: 4, threshold: 0.5, minSteps: 1 },
    };
    const first = new Promotion(stage);
    for (let i = 0; i < 26; i++) expect(first.see(i + 1, { accuracy: ramp[i] })).toBeNull();
    const second = new Promotion(stage, JSON.parse(JSON.stringify(first.state)));
    expect(second.solveRate).toBeCloseTo(0.47, 12);
    expect(second.see(27, { accuracy: ramp[26] })).toBeNull();
    expect(second.see(28, { accuracy: ramp[27] })).not.toBeNull();
  });

  test('a stage that falls short says so', () => {
    const stage: GrpoStage = {
      ...rl,
      promotion: { kind: 'solve-rate', window: 5, threshold: 0.9, minSteps: 1 },
    };
    const watch = new Promotion(stage);
    expect(endOf(stage, Array(50).fill(0.25), watch)).toBeNull();
    expect(watch.fallShort()).toMatch(
      /used up its 50 steps with a solve rate of 0.250 .* below the 0.9 asked/,
    );
    expect(new Promotion(rl).fallShort()).toBeNull();
  });

  test('of a recipe is checked and scaled', () => {
    const recipe = structuredClone(tinyRecipe) as unknown as { stages: Record<string, unknown>[] };
    const stages = (i: number, promotion: unknown) => ({
      ...recipe,
      stages: recipe.stages.map((stage, at) => (at === i ? { ...stage, promotion } : stage)),
    });
    expect(() => parseRecipe(stages(0, { kind: 'solve-rate', threshold: 0.5 }))).toThrow(
      /stages\[0\].promotion.kind" must be one of "steps", "plateau"/,
    );
    expect(() => parseRecipe(stages(7, { kind: 'plateau', minSteps: 4 }))).toThrow(
      /"stages\[7\].promotion.minSteps" \(4\) must not exceed "stages\[7\].steps" \(3\)/,
    );
    const scaled = scaleRecipe(parseRecipe(stages(0, { kind: 'plateau', minSteps: 4 })), 2);
    expect(scaled.stages[0].promotion).toEqual({ kind: 'plateau', window: 5, minGain: 0.01, minSteps: 8 });
  });
});

describe('warnings about the curriculum', () => {
  const recipes = import.meta.glob<unknown>('../../../models/*-recipe.json', {
    import: 'default',
    eager: true,
  });
  test('none of the recipes that the page offers needs one', () => {
    expect(Object.keys(recipes).length).toBeGreaterThan(4);
    for (const [path, document] of Object.entries(recipes))
      expect(curriculumWarnings(parseRecipe(document)), path).toEqual([]);
  });

  const load = (): Recipe => parseRecipe(recipes['../../../models/from-base-recipe.json']);
  const messages = (recipe: Recipe) => curriculumWarnings(recipe).map(({ message }) => message);

  test('parallel RL without a cold start, whatever the model', () => {
    const recipe = load();
    const stages = recipe.stages.filter(({ kind }) => kind === 'grpo');
    expect(messages({ ...recipe, stages })).toEqual([
      expect.stringMatching(/Stage "rl-easy" trains parallel thinking by RL, but no supervised stage.*SFT/),
      expect.stringMatching(/jumps in stage "rl-hard": 100 % of its terms are big, and at most 25 %/),
    ]);
    const [, hard] = stages;
    const sequential = { ...hard, rollout: { ...(hard as GrpoStage).rollout, mode: 'sequential' } } as Stage;
    expect(messages({ ...recipe, stages: [sequential] })).toEqual([]);
    // A supervised stage of plain solutions is no cold start.
    const plain = recipe.stages.map((stage) =>
      stage.kind === 'sft' && stage.data.source === 'task'
        ? { ...stage, data: { ...stage.data, mix: stage.data.mix.filter(({ kind }) => kind === 'base') } }
        : stage,
    );
    expect(messages({ ...recipe, stages: plain })).toHaveLength(1);
  });

  test('problems longer than any parallel solution that was shown, and terms much bigger', () => {
    const recipe = load();
    const change = (data: Partial<GrpoStage['data']>, i = recipe.stages.length - 1) => ({
      ...recipe,
      stages: recipe.stages.map((stage, at) =>
        at === i ? ({ ...stage, data: { ...stage.data, ...data } } as Stage) : stage,
      ),
    });
    // Base documents have up to nine terms, parallel ones six.
    expect(messages(change({ terms: [4, 8] }))).toEqual([
      expect.stringMatching(
        /jumps in stage "rl-hard": .* up to 8 terms, .*parallel solutions of more than 6/,
      ),
    ]);
    const small = {
      ...recipe,
      stages: recipe.stages.map((stage) =>
        stage.kind === 'sft' && stage.data.source === 'task'
          ? {
              ...stage,
              data: { ...stage.data, mix: stage.data.mix.map((part) => ({ ...part, bigShare: 0 })) },
            }
          : stage,
      ),
    };
    expect(messages(small)).toEqual([
      expect.stringMatching(/stage "rl-hard": 100 % of its terms are big, and at most 25 %/),
    ]);
    // Nobody knows what a dropped file shows.
    const dropped = { ...sft, name: 'own', data: { source: 'dropped' as const, name: 'x.jsonl' } };
    const wild = change({ terms: [40] });
    expect(messages({ ...wild, stages: [dropped, ...wild.stages] })).toEqual([]);
  });
});
