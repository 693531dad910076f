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
