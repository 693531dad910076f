import { expect, test } from 'vitest';
import { recipeLink, unpackRecipe } from './share.ts';

const recipe = {
  version: 1,
  name: 'Längste – “chain”',
  stages: [{ kind: 'sft', steps: 3, notes: 'é'.repeat(2000) }],
};

const packedOf = (link: string): string => new URL(link).hash.split('?r=')[1];

test('a link brings back the recipe, letter by letter, and is short', () => {
  const link = recipeLink(recipe, 'https://host/sub/path/#/runs?compare=a');
  expect(link).toMatch(/^https:\/\/host\/sub\/path\/#\/recipe\?r=[\w-]+$/);
  expect(unpackRecipe(decodeURIComponent(packedOf(link)))).toEqual(recipe);
  expect(link.length).toBeLessThan(300);
});

test.each([
  ['cut off', (text: string) => text.slice(0, text.length - 8)],
  ['another alphabet', () => '$$$'],
  ['empty', () => ''],
  ['a number instead of a recipe', () => packedOf(recipeLink(7, 'https://host/'))],
])('a damaged link says so: %s', (_, damage) => {
  expect(() => unpackRecipe(damage(packedOf(recipeLink(recipe, 'https://host/'))))).toThrow(
    /^The link has no recipe that can be read: .*\. Ask for it again/,
  );
});

test('a bomb is refused before it is unpacked', () => {
  const bomb = packedOf(recipeLink({ name: 'a'.repeat(50_000_000) }, 'https://host/'));
  expect(() => unpackRecipe(bomb)).toThrow(/more than a recipe can be/);
});
