import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Rng } from '../../base/rng.ts';
import { signSearch } from '../data/tasks/sign-search.ts';
import { signedChain } from '../data/tasks/signed-chain.ts';
import { byteTokenizerDocuments } from '../tokenizer/byte-tokenizer.ts';
import { loadTokenizer } from '../tokenizer/hf-tokenizer.ts';
import { taskTokenizerDocuments } from '../tokenizer/task-tokenizer.ts';
import { askPrompts, askSettings, drawQuestion, equalVotes, taskOfModel } from './ask-setup.ts';
import { parseRecipe } from './recipe.ts';

const shipped = (name: string) =>
  parseRecipe(JSON.parse(readFileSync(new URL(`../../../models/${name}`, import.meta.url), 'utf8')));
const tokenizerOf = ({ json, configJson }: { json: unknown; configJson: unknown }) =>
  loadTokenizer(json, configJson);
const taskTokens = tokenizerOf(taskTokenizerDocuments(signedChain));
const bytes = tokenizerOf(byteTokenizerDocuments());

test('whose answers a model gives: its recipe’s task, or the task whose vocabulary it has', () => {
  expect(taskOfModel(shipped('search-recipe.json'), bytes)).toBe(signSearch);
  expect(taskOfModel(null, taskTokens)?.name).toBe('signed-chain');
  expect(taskOfModel(null, bytes)).toBeNull();
});

test('a task’s question loses its own mark and blanks, and gets that of either prompt', () => {
  for (const question of ['+8+23-5', ' +8 +23 -5 ? ', '+8+23-5!'])
    expect(askPrompts(question, signedChain, taskTokens)).toEqual({
      plain: '+8+23-5?',
      parallel: '+8+23-5!',
    });
});

test('free text goes through the chat template, with what is asked of the form; bare text without one', () => {
  const configJson = { chat_template: '<user>{{ messages[0].content }}<model>' };
  const { plain, parallel } = askPrompts('What is 2 + 2?', null, { configJson });
  expect(plain).toMatch(/^<user>Solve .*Final Answer.*\n\nWhat is 2 \+ 2\?<model>$/s);
  expect(parallel).toMatch(/^<user>.*<Parallel><Path>.*\n\nWhat is 2 \+ 2\?<model>$/s);
  expect(askPrompts('Once', null, bytes)).toEqual({ plain: 'Once\n', parallel: 'Once\n' });
  expect(() => askPrompts('  ', null, bytes)).toThrow(/no question/);
});

test('a recipe’s model is asked as it was evaluated, noise included; the person’s limits come first', () => {
  const recipe = shipped('default-recipe.json');
  const settings = askSettings(recipe, signedChain, taskTokens, { temperature: 0.5 });
  const { rollout } = recipe.evaluation;
  expect(settings).toMatchObject({ paths: rollout.paths, maxTokens: rollout.maxTokens, temperature: 0.5 });
  expect(settings.noise?.probability).toBe(rollout.stepNoise);
  expect(askSettings(null, null, bytes, { maxTokens: 12 })).toMatchObject({ maxTokens: 12, noise: null });
});

test('a problem as hard as the recipe’s last held-out set', () => {
  const recipe = shipped('default-recipe.json');
  const terms = recipe.evaluation.sets.at(-1)!.terms;
  for (let seed = 0; seed < 20; seed++) {
    const { prompt, answer } = drawQuestion(recipe, signedChain, new Rng(seed));
    expect(terms).toContain(prompt.match(/[+-]\d+/g)!.length);
    expect(Number(answer)).toBeLessThan(31);
  }
});

test('votes at equal tokens: the most that cost no more, at least one', () => {
  expect([equalVotes(100, 40), equalVotes(40, 40), equalVotes(10, 40), equalVotes(10, 0)]).toEqual([
    2, 1, 1, 10,
  ]);
});
