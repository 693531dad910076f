import { expect, test } from 'vitest';
import tinyRecipe from '../../../models/tiny-recipe.json' with { type: 'json' };
import { signedChain } from '../data/tasks/signed-chain.ts';
import { byteTokenizerDocuments } from '../tokenizer/byte-tokenizer.ts';
import { loadTokenizer } from '../tokenizer/hf-tokenizer.ts';
import { taskTokenizerDocuments } from '../tokenizer/task-tokenizer.ts';
import { type GrpoStage, parseRecipe, type SftStage } from './recipe.ts';
import { exampleSource, heldOutProblems, heldOutQuestions, problemSource } from './stage-data.ts';

const recipe = parseRecipe(tinyRecipe);
const sft = recipe.stages.find((stage) => stage.kind === 'sft') as SftStage;
const grpo = recipe.stages.find((stage) => stage.kind === 'grpo') as GrpoStage;
const tokenizers = [taskTokenizerDocuments(signedChain), byteTokenizerDocuments()].map(
  ({ json, configJson }) => loadTokenizer(json, configJson),
);

test('the same step has the same examples, whenever it is asked for; another step has others', () => {
  const source = () => exampleSource(recipe, 0, sft, tokenizers[0], new Map(), new Set());
  const a = source();
  const third = a(3);
  expect(source()(3)).toEqual(third);
  expect(a(4)).not.toEqual(third);
});

test('held-out problems are distinct, and asked plainly or in parallel are the same questions', () => {
  const [parallel, plain] = [true, false].map((mode) => heldOutProblems(recipe, mode));
  expect(plain.flat().map(({ prompt }) => prompt.replace('?', '!'))).toEqual(
    parallel.flat().map(({ prompt }) => prompt),
  );
  for (const set of parallel) expect(new Set(set.map(({ prompt }) => prompt)).size).toBe(set.length);
});

test('training draws around held-out questions, however few there are', () => {
  // Two terms below ten: 200 questions, of which half are held out.
  const narrow = { ...grpo, data: { ...grpo.data, terms: [2], bigShare: 0 } };
  const all = problemSource(recipe, 6, narrow, new Set());
  const questions = [...new Set(Array.from({ length: 4000 }, (_, i) => all(1, i).prompt))];
  expect(questions).toHaveLength(200);
  const half = questions.slice(0, 100);
  const heldOut = heldOutQuestions([half.map((prompt) => ({ prompt, answer: '', difficulty: '' }))]);
  const source = problemSource(recipe, 6, narrow, heldOut);
  for (let i = 0; i < 1000; i++) expect(half).not.toContain(source(1, i).prompt);
});

test('each epoch of a dropped file is a permutation of its rows', () => {
  const rows = Array.from({ length: 10 }, (_, i) => ({ prompt: `question ${i} `, completion: `${i}` }));
  const stage = {
    ...sft,
    data: { source: 'dropped' as const, name: 'x.jsonl' },
    batchSize: 5,
    maxTokens: 64,
  };
  const source = exampleSource(recipe, 0, stage, tokenizers[1], new Map([['x.jsonl', rows]]), new Set());
  const epoch = (n: number) =>
    [1, 2].flatMap((step) => source(2 * n + step)).map(({ tokens }) => tokenizers[1].decode(tokens));
  for (const n of [0, 1]) expect(new Set(epoch(n)).size).toBe(10);
  expect(epoch(0)).not.toEqual(epoch(1));
  // Out of order, as after a resume
  expect(epoch(0)).toEqual(epoch(0));
});

test('a stage whose file is not loaded says so', () => {
  const stage = { ...sft, data: { source: 'dropped' as const, name: 'y.jsonl' } };
  expect(() => exampleSource(recipe, 0, stage, tokenizers[1], new Map(), new Set())).toThrow(
    /y\.jsonl.*Drop it/s,
  );
});
