import { expect, test } from 'vitest';
import index from '../../../models/index.json' with { type: 'json' };
import { parseRecipe } from './recipe.ts';

const recipes = import.meta.glob<unknown>('../../../models/*-recipe.json', {
  import: 'default',
  eager: true,
});

test('every recipe that the page offers is a valid one, and every recipe is offered', () => {
  const files = Object.keys(recipes).map((path) => path.split('/').pop());
  expect(index.map(({ file }) => file).sort()).toEqual(files.sort());
  for (const [path, document] of Object.entries(recipes))
    expect(() => parseRecipe(document), path).not.toThrow();
});

test('the control arm differs from the parallel one only in forks, rewards and the split of its SFT steps', () => {
  const load = (name: string) => parseRecipe(recipes[`../../../models/${name}-recipe.json`]);
  const [parallel, sequential] = [load('from-base'), load('sequential')];
  expect(sequential.model).toEqual(parallel.model);
  const steps = (recipe: typeof parallel, kind: string) =>
    recipe.stages.filter((stage) => stage.kind === kind).reduce((sum, stage) => sum + stage.steps, 0);
  for (const kind of ['sft', 'grpo']) expect(steps(sequential, kind)).toBe(steps(parallel, kind));
  for (const [i, stage] of sequential.stages.entries()) {
    if (stage.kind !== 'grpo') continue;
    expect(stage).toEqual({
      ...parallel.stages[i],
      reward: { kind: 'accuracy' },
      rollout: { ...(parallel.stages[i] as typeof stage).rollout, mode: 'sequential' },
    });
  }
});
