import { expect, test } from 'vitest';
import offered from '../../../models/experiments.json' with { type: 'json' };
import { armRecipe, parseExperiment } from './experiment.ts';

const experiments = import.meta.glob<object>('../../../models/recipes/*.json', {
  import: 'default',
  eager: true,
});
const recipes = import.meta.glob<object>('../../../models/*-recipe.json', { import: 'default', eager: true });
const documents = new Map(
  Object.entries(recipes).map(([path, recipe]) => [path.slice(path.lastIndexOf('/') + 1), recipe]),
);

test('the page offers every experiment', () => {
  expect(offered.map(({ file }) => `../../../models/${file}`).sort()).toEqual(
    Object.keys(experiments).sort(),
  );
  for (const { file, title } of offered)
    expect((experiments[`../../../models/${file}`] as { name: string }).name).toBe(title);
});

test('there are experiments', () => {
  expect(Object.keys(experiments).length).toBeGreaterThanOrEqual(7);
});

test.each(Object.entries(experiments))(
  '%s: every arm is a recipe, and no two are the same',
  (_, document) => {
    const experiment = parseExperiment(document);
    const arms = experiment.arms.map((arm) => armRecipe(experiment, arm, 0, documents));
    const told = arms.map(({ name: _name, ...recipe }) => JSON.stringify(recipe));
    expect(new Set(told).size).toBe(arms.length);
    // The table asks for sets that at least one arm evaluates.
    const sets = new Set(arms.flatMap((recipe) => recipe.evaluation.sets.map(({ name }) => name)));
    for (const set of experiment.report.sets) expect(sets).toContain(set);
  },
);
