import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { byteTokenizerDocuments } from './byte-tokenizer.ts';
import { characterTokenizerDocuments } from './character-tokenizer.ts';
import { loadTokenizer } from './hf-tokenizer.ts';
import { TAGS } from './tags.ts';

/** A word-level document with the given tokens; those in `added` are added tokens. */
function documents(words: readonly string[], added: readonly string[] = []) {
  return {
    model: { type: 'WordLevel', vocab: Object.fromEntries(words.map((word, id) => [word, id])) },
    added_tokens: added.map((content) => ({ id: words.indexOf(content), content, special: false })),
    normalizer: null,
    pre_tokenizer: { type: 'Split', pattern: { Regex: '\\w+|\\s' }, behavior: 'Isolated', invert: false },
    post_processor: null,
    decoder: { type: 'Fuse' },
  };
}
const WORDS = ['<eos>', '<unk>', ...TAGS, 'one', 'two', ' ', ','];
const CONFIG = { eos_token: '<eos>', unk_token: '<unk>' };

describe('special tokens', () => {
  test.each([
    ['strings', { eos_token: '<eos>', pad_token: '<unk>' }],
    [
      'added tokens',
      { eos_token: { content: '<eos>' }, pad_token: { __type: 'AddedToken', content: '<unk>' } },
    ],
  ])('given as %s', (_, config) => {
    const { special } = loadTokenizer(documents(WORDS, ['<eos>', ...TAGS]), config);
    expect(special).toMatchObject({ eos: 0, pad: 1, bos: -1, parallel: 2, summaryEnd: 7 });
  });

  test.each([
    ['no eos_token', {}],
    ['no configuration', null],
    ['an empty eos_token', { eos_token: null }],
  ])('%s is an error that says what to add', (_, config) => {
    expect(() => loadTokenizer(documents(WORDS), config)).toThrow(/no end-of-text token.*eos_token/);
  });

  test('an eos_token that the vocabulary lacks is named', () => {
    expect(() => loadTokenizer(documents(WORDS), { eos_token: '</s>' })).toThrow(/"<\/s>".*not in tokenizer/);
  });
});

describe('tags', () => {
  const without = WORDS.filter((word) => word !== '<Summary>' && word !== '</Path>');

  test('missing ones are all named, with the way out', () => {
    expect(() => loadTokenizer(documents(without), CONFIG)).toThrow(
      /<\/Path>, <Summary> as single tokens.*Drop the model's files.*both add them/,
    );
  });

  test('are −1 where they are not required', () => {
    const { special } = loadTokenizer(documents(without), CONFIG, { requireTags: false });
    expect(special).toMatchObject({ pathEnd: -1, summary: -1, parallel: 2 });
  });
});

describe('documents', () => {
  test.each([[null], [[]], [{}], [{ model: {} }], ['text']])('%j is no tokenizer.json', (json) => {
    expect(() => loadTokenizer(json, CONFIG)).toThrow(/not a tokenizer\.json/);
  });

  test('a model that the library does not know is a sentence too', () => {
    const odd = { ...documents(WORDS), pre_tokenizer: { type: 'Nonsense' } };
    expect(() => loadTokenizer(odd, CONFIG)).toThrow(/can't be read.*Nonsense/);
  });

  test('may leave out added tokens and everything that is null', () => {
    const { model, pre_tokenizer, decoder } = documents(WORDS);
    const tokenizer = loadTokenizer({ model, pre_tokenizer, decoder }, CONFIG);
    expect(tokenizer.encode('one two')).toEqual([8, 10, 9]);
  });

  test('a Unigram vocabulary is a list in id order', () => {
    const vocab = [...WORDS, 'o', 'n', 'e'].map((word) => [word, -1]);
    const json = {
      ...documents(WORDS, [...TAGS]),
      model: { type: 'Unigram', unk_id: 1, vocab },
      pre_tokenizer: null,
    };
    const tokenizer = loadTokenizer(json, CONFIG);
    expect(tokenizer.vocabSize).toBe(WORDS.length + 3);
    expect(tokenizer.id('two')).toBe(9);
    expect(tokenizer.encode('<Path>one')).toEqual([4, 8]);
  });
});

describe('encode and decode', () => {
  const tokenizer = loadTokenizer(documents(WORDS, ['<eos>', ...TAGS]), { ...CONFIG, bos_token: 'two' });

  test('an unknown word is the unknown token, also where only the document names it', () => {
    expect(tokenizer.encode('one three')).toEqual([8, 10, 1]);
    const named = documents(WORDS);
    const inDocument = { ...named, model: { ...named.model, unk_token: '<unk>' } };
    expect(loadTokenizer(inDocument, { eos_token: '<eos>' }).encode('one three')).toEqual([8, 10, 1]);
  });

  test('without an unknown token, what can’t be said is left out (as in the Rust library)', () => {
    expect(loadTokenizer(documents(WORDS), { eos_token: '<eos>' }).encode('one three')).toEqual([8, 10]);
  });

  test('decoding shows tags and leaves out <bos>, <eos> and ids without a name', () => {
    expect(tokenizer.decode([9, 4, 8, 5, 0, 99])).toBe('<Path>one</Path>');
    expect(tokenizer.decode(Int32Array.of(8, 10, 11))).toBe('one ,');
    expect(tokenizer.token(4)).toBe('<Path>');
    expect(tokenizer.token(99)).toBe('');
  });

  test('names of Object.prototype are ordinary words', () => {
    expect(tokenizer.id('constructor')).toBe(-1);
    const { json, configJson } = characterTokenizerDocuments(['__proto__ constructor']);
    const own = loadTokenizer(json, configJson);
    expect(own.decode(own.encode('__proto__ constructor'))).toBe('__proto__ constructor');
  });

  test('nothing is hidden by a vocabulary without <pad> and <bos>', () => {
    const { json, configJson } = byteTokenizerDocuments();
    const { pad_token, bos_token, ...config } = configJson as Record<string, unknown>;
    const bytes = loadTokenizer(json, config);
    expect([pad_token, bos_token]).toEqual(['<pad>', '<bos>']);
    expect(bytes.decode([0, 1, 2, ...bytes.encode('a')])).toBe('<pad><bos>a');
  });
});

/** The folder `shared` lies beside the repository, here and in CI. */
const SHARED = fileURLToPath(new URL('../../../../shared/data/tokenizers/', import.meta.url));

test('phi-3-mini (BPE with byte fallback): the ids of llama.cpp', (context) => {
  if (!existsSync(SHARED)) {
    if (process.env.CI) throw new Error(`CI must have ${SHARED}`);
    console.warn(`SKIPPED: the phi-3-mini tokenizer test needs ${SHARED}`);
    context.skip();
  }
  const read = (name: string) => readFileSync(SHARED + name, 'utf8');
  const [json, config] = ['tokenizer', 'tokenizer_config'].map((part) => read(`phi-3-mini.${part}.json`));
  const documents = [JSON.parse(json), JSON.parse(config)] as const;
  expect(() => loadTokenizer(...documents)).toThrow(/<Parallel>/);
  const tokenizer = loadTokenizer(...documents, { requireTags: false });
  expect(tokenizer.special).toMatchObject({ bos: 1, pad: 32000, parallel: -1 });
  expect(tokenizer.id('<|end|>')).toBe(32007);
  const inputs = read('ggml-vocab-phi-3.gguf.inp').split('\n__ggml_vocab_test__\n');
  const outputs = read('ggml-vocab-phi-3.gguf.out').split('\n');
  const ids = outputs.map((line) => line.trim().split(/\s+/).filter(Boolean).map(Number));
  expect(inputs.length).toBe(ids.length);
  inputs.forEach((text, i) => {
    expect(tokenizer.encode(text), JSON.stringify(text)).toEqual(ids[i]);
    expect(tokenizer.decode(ids[i])).toBe(text);
  });
});
