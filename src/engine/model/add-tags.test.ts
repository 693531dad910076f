import { beforeAll, describe, expect, test } from 'vitest';
import { UserError } from '../../base/assert.ts';
import { openBackend } from '../tensor/device.ts';
import { tf } from '../tensor/tfjs.ts';
import { byteCharacters } from '../tokenizer/byte-tokenizer.ts';
import { loadTokenizer } from '../tokenizer/hf-tokenizer.ts';
import { TAGS, tagIds } from '../tokenizer/tags.ts';
import { addTags } from './add-tags.ts';
import { parseModelConfig } from './config.ts';
import { Decoder, type WeightArray } from './decoder.ts';
import { initialWeights } from './init.ts';

const CONFIG = {
  model_type: 'llama',
  hidden_size: 16,
  intermediate_size: 24,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  max_position_embeddings: 64,
};

/** A byte-level vocabulary with an end token, and a model of random weights whose embedding has `rows` rows. */
function model({
  rows = 257,
  tied = true,
  extra = [] as string[],
  config = { eos_token: '<end>' } as object,
} = {}) {
  const words = [...byteCharacters(), '<end>', ...extra];
  const parsed = parseModelConfig({ ...CONFIG, vocab_size: rows, tie_word_embeddings: tied });
  return {
    config: parsed,
    weights: initialWeights(parsed, { embeddingStd: 0.5, headStd: 0.5 } as never, 3) as ReadonlyMap<
      string,
      WeightArray
    >,
    tokenizer: {
      json: {
        model: { type: 'BPE', vocab: Object.fromEntries(words.map((word, id) => [word, id])), merges: [] },
        pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: false },
        decoder: { type: 'ByteLevel' },
        added_tokens: [{ id: 256, content: '<end>', special: true }],
      },
      configJson: config,
    },
  };
}

function logits({
  config,
  weights,
}: {
  config: ReturnType<typeof parseModelConfig>;
  weights: ReadonlyMap<string, WeightArray>;
}) {
  const decoder = new Decoder(config, weights);
  const ids = [72, 101, 7, 255, 256, 0];
  const int = (values: number[]) => tf.tensor1d(Int32Array.from(values), 'int32');
  const values = tf.tidy(() => {
    const batch = {
      B: 1,
      T: 6,
      tokens: int(ids),
      positions: int([0, 1, 2, 3, 4, 5]),
      branches: int(ids.map(() => 0)),
    };
    return tf
      .matMul(decoder.hidden(batch) as tf.Tensor2D, decoder.head as tf.Tensor2D, false, true)
      .arraySync();
  });
  decoder.dispose();
  return values as number[][];
}

beforeAll(async () => {
  await openBackend('cpu');
});

describe.each([true, false])('tied: %s', (tied) => {
  test('everything grows together, and old logits stay', () => {
    const before = model({ tied });
    const after = addTags(before, 1);
    expect(after.added).toEqual([...TAGS, '<pad>']);
    expect(after.config.vocabSize).toBe(264);
    expect(before.config.vocabSize).toBe(257);
    const tokenizer = loadTokenizer(after.tokenizer.json, after.tokenizer.configJson);
    expect(tokenizer.vocabSize).toBe(264);
    expect(tagIds(tokenizer.special)).toEqual([257, 258, 259, 260, 261, 262]);
    expect(tokenizer.special).toMatchObject({ eos: 256, pad: 263, beforeSummary: [10] });
    // Ids of the byte vocabulary are in byte order.
    expect(tokenizer.encode('a<Path>b</Path>')).toEqual([97, 259, 98, 260]);
    for (const name of tied ? ['model.embed_tokens.weight'] : ['model.embed_tokens.weight', 'lm_head.weight'])
      expect(after.weights.get(name)!.shape).toEqual([264, 16]);
    expect(after.weights.has('lm_head.weight')).toBe(!tied);
    const [old, grown] = [logits(before), logits(after)];
    expect(grown.map((row) => row.slice(0, 257))).toEqual(old);
  });
});

test('new rows are the mean of their pieces, distinct, and the same each time', () => {
  const before = model();
  const { data } = addTags(before, 1).weights.get('model.embed_tokens.weight')!;
  const old = before.weights.get('model.embed_tokens.weight')!.data;
  const row = (id: number) => Array.from(data.subarray(id * 16, id * 16 + 16));
  const bytes = Array.from(new TextEncoder().encode('</Path>'));
  const mean = Array.from(
    { length: 16 },
    (_, c) => bytes.reduce((sum, b) => sum + old[b * 16 + c], 0) / bytes.length,
  );
  // The noise is uniform with half-width 0.1 · √3 · 0.5 ≈ 0.087.
  row(260).forEach((value, c) => {
    expect(Math.abs(value - mean[c])).toBeLessThan(0.09);
  });
  const noise = row(260).map((value, c) => value - mean[c]);
  expect(Math.hypot(...noise) / 4).toBeGreaterThan(0.02);
  const rows = [257, 258, 259, 260, 261, 262].map(row);
  for (const [i, a] of rows.entries())
    for (const b of rows.slice(i + 1)) expect(Math.hypot(...a.map((x, c) => x - b[c]))).toBeGreaterThan(0.05);
  expect(addTags(before, 1).weights.get('model.embed_tokens.weight')!.data).toEqual(data);
  expect(addTags(before, 2).weights.get('model.embed_tokens.weight')!.data).not.toEqual(data);
});

test('spare rows are used before the embedding grows', () => {
  const roomy = addTags(model({ rows: 320 }), 1);
  expect(roomy.config.vocabSize).toBe(320);
  expect(roomy.notes.join()).toContain('spare rows');
  const tight = addTags(model({ rows: 260 }), 1);
  expect(tight.config.vocabSize).toBe(264);
  expect(logits(tight).map((row) => row.slice(0, 257))).toEqual(
    logits(model({ rows: 260 })).map((row) => row.slice(0, 257)),
  );
});

test('a model that has everything is left as it is', () => {
  const once = addTags(model(), 1);
  const twice = addTags(once, 1);
  expect(twice.added).toEqual([]);
  expect(twice.tokenizer).toBe(once.tokenizer);
  expect(twice.weights.get('model.embed_tokens.weight')).toBe(once.weights.get('model.embed_tokens.weight'));
});

test('an end token where none is named', () => {
  const { tokenizer, added } = addTags(model({ config: {} }), 1);
  expect(added).toEqual([...TAGS, '<eos>', '<pad>']);
  expect(loadTokenizer(tokenizer.json, tokenizer.configJson).special).toMatchObject({ eos: 263, pad: 264 });
});

test('tags that are there already keep their ids, and the others are told to be no neighbours', () => {
  const { tokenizer, added, notes } = addTags(model({ rows: 258, extra: ['<Path>'] }), 1);
  expect(added).toEqual([...TAGS.filter((tag) => tag !== '<Path>'), '<pad>']);
  const { special, encode } = loadTokenizer(tokenizer.json, tokenizer.configJson);
  expect(special.path).toBe(257);
  expect(encode('<Path>')).toEqual([257]);
  expect(notes.join()).toContain('no neighbours');
});

test('a tokenizer with more tokens than the model has rows', () => {
  expect(() => addTags(model({ rows: 200 }), 1)).toThrow(UserError);
});
