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
  attempts: 3,
  blocks: 1,
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
    for (let i = 0; i < 500; i++) {
      const document = signedChain.document(new Rng(3, i), i % 2 ? 'parallel' : 'base', KNOBS);
      const text = document.prompt + document.completion;
      expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
    }
  });

  test('keeps its ids, which shipped models depend on', () => {
    const named = ['<pad>', '<bos>', '<eos>', ...TAGS, '?', 'Final Answer:', '+', '-', '=', ',', '>', '!'];
    expect(named.map((token) => tokenizer.id(token))).toEqual([...named.keys()]);
    expect([0, 1, 30].map((n) => tokenizer.id(String(n)))).toEqual([17, 18, 47]);
  });

  test('has the id of <pad> for what it has no token for, as the Rust library has', () => {
    expect(tokenizer.encode('+1 2')).toEqual([11, 18, tokenizer.special.pad, 19]);
    expect(tokenizer.encode('31')).toEqual([tokenizer.special.pad]);
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

  test('gives any of its own texts back, and marks each other character once', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom(...TAGS, '\r\n', '👩‍🚀', '<Pa', '007'),
    );
    const text = fc.array(piece, { maxLength: 5 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, text, (seen, other) => {
        const own = load(characterTokenizerDocuments([seen]));
        expect(own.decode(own.encode(seen))).toBe(seen);
        const known = new Set(seen.split(/<\/?(?:Parallel|Path|Summary)>/).flatMap((part) => [...part]));
        const parts = other.split(/(<\/?(?:Parallel|Path|Summary)>)/);
        const shown = parts.map((part, i) =>
          i % 2 ? part : [...part].map((character) => (known.has(character) ? character : '<unk>')).join(''),
        );
        expect(own.decode(own.encode(other))).toBe(shown.join(''));
      }),
      { numRuns: 200 },
    );
  });

  test('a tag inside a broken tag hides no character; half an emoji is the replacement character', () => {
    const own = load(characterTokenizerDocuments(['<Pa<Parallel>th>', 'x\ud83d']));
    expect(own.decode(own.encode('<Pa<Parallel>th>'))).toBe('<Pa<Parallel>th>');
    expect(own.id('\ufffd')).toBeGreaterThan(0);
    expect(JSON.stringify(own.json)).not.toContain('\\ud83d');
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
