import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Rng } from '../../base/rng.ts';
import { signedChain } from '../data/tasks/signed-chain.ts';
import { byteTokenizerDocuments } from './byte-tokenizer.ts';
import { characterTokenizerDocuments } from './character-tokenizer.ts';
import { documentTokenizer } from './for-documents.ts';
import { loadTokenizer } from './hf-tokenizer.ts';
import { TAGS } from './tags.ts';
import { type TokenizerDocuments, taskTokenizerDocuments } from './task-tokenizer.ts';

const load = ({ json, configJson }: TokenizerDocuments) => loadTokenizer(json, configJson);
const KNOBS = {
  difficulty: 'easy',
  terms: [3, 4, 5],
  bigShare: 0.25,
  teacherNoiseSmall: 0.03,
  teacherNoiseBig: 0.15,
  redoShare: 0.4,
  templates: { S: 1, E: 1, L: 1, EL: 1 },
  paths: 3,
  gapProbability: 0,
  gapMax: 0,
};

describe('the task vocabulary', () => {
  const tokenizer = load(taskTokenizerDocuments(signedChain));

  test('has 48 tokens, tags and numbers among them as single ones', () => {
    expect(tokenizer.vocabSize).toBe(48);
    for (const token of [
      ...TAGS,
      ...Array.from({ length: 31 }, (_, n) => String(n)),
      'Final Answer:',
      '?',
      '!',
    ])
      expect(tokenizer.encode(token), token).toEqual([tokenizer.id(token)]);
    expect(tokenizer.encode('<Path>+12=30</Path>')).toHaveLength(6);
  });

  test('gives back every document', () => {
    for (let i = 0; i < 300; i++) {
      const document = signedChain.document(new Rng(3, i), i % 2 ? 'parallel' : 'base', KNOBS);
      const text = document.prompt + document.completion;
      expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
    }
  });

  test('leaves <bos>, <eos> and <pad> out of texts', () => {
    const { bos, eos, pad } = tokenizer.special;
    expect(tokenizer.decode([bos, ...tokenizer.encode('+3=3'), eos, pad])).toBe('+3=3');
    expect(tokenizer.decode([])).toBe('');
  });
});

describe('the byte vocabulary', () => {
  const tokenizer = load(byteTokenizerDocuments());

  test('has one token a byte and one a tag', () => {
    expect(tokenizer.vocabSize).toBe(265);
    expect(tokenizer.encode('é')).toHaveLength(2);
    expect(tokenizer.encode('a<Path>b')).toHaveLength(3);
  });

  test('gives any text back', () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc
        .array(fc.constantFrom('a', ' ', '\n', '\r\n', '<Path>', '</Path>', '€', '🙂', '\t'))
        .map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(text, (value) => {
        // A lone surrogate has no bytes; TextEncoder turns it into U+FFFD.
        fc.pre(value.isWellFormed());
        expect(tokenizer.decode(tokenizer.encode(value))).toBe(value);
      }),
      { numRuns: 300 },
    );
  });
});

describe('a character vocabulary', () => {
  const tokenizer = load(characterTokenizerDocuments(['abc 🙂\n', 'ba<Path>x</Path>']));

  test('knows the characters of its texts and calls the others unknown', () => {
    expect(tokenizer.vocabSize).toBe(3 + 6 + 1 + 7);
    expect(tokenizer.decode(tokenizer.encode('cab 🙂\n<Path>x'))).toBe('cab 🙂\n<Path>x');
    expect(tokenizer.encode('aéa')).toEqual([tokenizer.id('a'), tokenizer.id('<unk>'), tokenizer.id('a')]);
    expect(tokenizer.id('P')).toBe(-1);
  });
});

test('a vocabulary that cannot be made is refused with a sentence', () => {
  expect(() => documentTokenizer('task', null, [])).toThrow(/"bytes" or "characters"/);
  expect(() => documentTokenizer('characters', null, [])).toThrow(/Drop a data file/);
  const { json, configJson } = byteTokenizerDocuments();
  const { added_tokens, ...rest } = json as { added_tokens: { content: string }[]; model: { vocab: object } };
  const bare = {
    ...rest,
    added_tokens: added_tokens.filter(({ content }) => content !== '<Summary>'),
    model: {
      ...rest.model,
      vocab: Object.fromEntries(Object.entries(rest.model.vocab).filter(([word]) => word !== '<Summary>')),
    },
  };
  expect(() => loadTokenizer(bare, configJson)).toThrow(/<Summary>/);
});
