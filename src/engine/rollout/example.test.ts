import { expect, test } from 'vitest';
import { signedChain } from '../data/tasks/signed-chain.ts';
import { loadTokenizer } from '../tokenizer/hf-tokenizer.ts';
import { taskTokenizerDocuments } from '../tokenizer/task-tokenizer.ts';
import { exampleOf } from './example.ts';

const { json, configJson } = taskTokenizerDocuments(signedChain);
const tokenizer = loadTokenizer(json, configJson);
const document = { prompt: '+1+2?', completion: '+1=1+2=3Final Answer:3', positionGap: 5 };

test('<bos> once, <eos> trained, the prompt not, positions moved by the gap', () => {
  const { tokens, targets, positions, promptLength } = exampleOf(document, tokenizer, {
    loss: 'completion',
    maxTokens: 99,
  });
  expect(tokens[0]).toBe(tokenizer.special.bos);
  expect(Array.from(tokens).filter((token) => token === tokenizer.special.bos)).toHaveLength(1);
  expect(tokens.at(-1)).toBe(tokenizer.special.eos);
  expect(promptLength).toBe(6);
  expect(Array.from(targets)).toEqual([...Array(6).fill(0), ...Array(11).fill(1)]);
  expect(Array.from(positions.slice(4, 8))).toEqual([4, 5, 11, 12]);
});

test('whole-text loss trains the prompt as well, never <bos>; long examples are cut', () => {
  const { targets, tokens } = exampleOf(document, tokenizer, { loss: 'all', maxTokens: 8 });
  expect(tokens).toHaveLength(8);
  expect(Array.from(targets)).toEqual([0, 1, 1, 1, 1, 1, 1, 1]);
});

const PARALLEL = {
  prompt: '+1+2!',
  completion:
    '<Parallel><Path>+1=1</Path><Path>+1=1+2=3</Path></Parallel><Summary>1,3>3</Summary>Final Answer:3',
};

test('paths are isolated and share their start; positions go on behind the longest', () => {
  const { tokens, positions, branches } = exampleOf(PARALLEL, tokenizer, {
    loss: 'completion',
    maxTokens: 99,
  });
  // <bos> + 1 + 2 ! are 0–5, <Parallel> is 6; path 1 is 7–12, path 2 is 7–16, </Parallel> 17
  const paths = [...Array(6).fill(17), ...Array(10).fill(18)];
  expect(Array.from(branches)).toEqual([...Array(7).fill(0), ...paths, ...Array(tokens.length - 23).fill(0)]);
  expect(Array.from(positions.slice(6, 25))).toEqual([
    6, 7, 8, 9, 10, 11, 12, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
  ]);
});

test('the plain variant has consecutive positions and no branches', () => {
  const options = { loss: 'completion', maxTokens: 99, variant: 'seen' } as const;
  const { tokens, positions, branches } = exampleOf(PARALLEL, tokenizer, options);
  expect(Array.from(positions)).toEqual([...tokens.keys()]);
  expect(branches.every((code) => code === 0)).toBe(true);
});

test('an example that is cut in a path keeps the isolation up to the cut', () => {
  const { tokens, branches } = exampleOf(PARALLEL, tokenizer, { loss: 'completion', maxTokens: 16 });
  expect(tokens).toHaveLength(16);
  expect(Array.from(branches.slice(6))).toEqual([0, 17, 17, 17, 17, 17, 17, 18, 18, 18]);
});

test('a prompt that fills the example leaves nothing to train on', () => {
  const { targets, promptLength } = exampleOf(document, tokenizer, { loss: 'completion', maxTokens: 4 });
  expect(promptLength).toBe(4);
  expect(Array.from(targets)).toEqual([0, 0, 0, 0]);
});

test('tags in the prompt open no block', () => {
  const { branches } = exampleOf({ ...document, prompt: '<Parallel><Path>+1?' }, tokenizer, {
    loss: 'completion',
    maxTokens: 99,
  });
  expect(branches.every((code) => code === 0)).toBe(true);
});

test('a vocabulary without <bos> starts with the prompt, whose first token is never a target', () => {
  const { bos_token, ...config } = configJson as Record<string, unknown>;
  expect(bos_token).toBe('<bos>');
  const { tokens, targets } = exampleOf(document, loadTokenizer(json, config), {
    loss: 'all',
    maxTokens: 99,
  });
  expect(tokens[0]).toBe(tokenizer.id('+'));
  expect(targets[0]).toBe(0);
  expect(targets[1]).toBe(1);
});
