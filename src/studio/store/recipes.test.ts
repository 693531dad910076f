import { expect, test } from 'vitest';
import { parseRecipe } from '../../worker/protocol.ts';
import { fileRecipe, modelRecipe } from './recipes.ts';

test('what the page makes for a file is a recipe', () => {
  const recipe = parseRecipe(fileRecipe('train.jsonl'));
  expect(recipe.stages[0].data).toEqual({ source: 'dropped', name: 'train.jsonl' });
  expect(recipe.model.source).toBe('scratch');
});

test('a model of the Hub is fine-tuned by its name and commit', () => {
  const recipe = parseRecipe(modelRecipe({ name: 'owner/small@abc123', source: 'hub' }, 'train.jsonl'));
  expect(recipe.model).toEqual({ source: 'hub', name: 'owner/small', revision: 'abc123' });
  expect(recipe.stages.map(({ kind, data }) => [kind, data])).toEqual([
    ['sft', { source: 'dropped', name: 'train.jsonl' }],
  ]);
  expect(parseRecipe(modelRecipe({ name: 'owner/small', source: 'hub' }, null)).model).toEqual({
    source: 'hub',
    name: 'owner/small',
  });
});

test('without a data set, a model learns the trajectories of the built-in task', () => {
  const recipe = parseRecipe(modelRecipe({ name: 'my folder', source: 'dropped' }, null));
  expect(recipe.model).toEqual({ source: 'dropped' });
  expect(recipe.stages[0].data).toMatchObject({ source: 'task', task: 'signed-chain' });
});
