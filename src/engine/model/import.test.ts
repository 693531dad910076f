import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { UserError } from '../../base/assert.ts';
import { taskNamed } from '../data/tasks/index.ts';
import { loadTokenizer } from '../tokenizer/hf-tokenizer.ts';
import { taskTokenizerDocuments } from '../tokenizer/task-tokenizer.ts';
import type { NamedBlob } from './blobs.ts';
import { isModelFile } from './blobs.ts';
import { parseModelConfig } from './config.ts';
import { importModel } from './import.ts';
import { blobOf, floatBytes, ggufBytes, jsonBlob, llama2cBytes } from './import-fixtures.ts';
import { readSafetensors, writeSafetensors } from './safetensors.ts';

type Name = 'llama' | 'qwen2' | 'qwen3';
type Floats = Map<string, { shape: readonly number[]; data: Float32Array }>;

const bytes = (name: Name, file: string) =>
  new Uint8Array(readFileSync(new URL(`./fixtures/ckpt/${name}/${file}`, import.meta.url)));
const configOf = (name: Name): Record<string, unknown> =>
  JSON.parse(new TextDecoder().decode(bytes(name, 'config.json')));
const tensorsOf = (name: Name) =>
  readSafetensors(bytes(name, 'model.safetensors').buffer, 'x').tensors as unknown as Floats;

function folder(name: Name, prefix = ''): NamedBlob[] {
  return ['config.json', 'model.safetensors'].map((file) => blobOf(prefix + file, bytes(name, file)));
}

const same = (weights: Floats, expected: Floats) => {
  for (const [name, { shape, data }] of expected) {
    expect(weights.get(name)?.shape, name).toEqual(shape);
    expect(weights.get(name)?.data, name).toEqual(data);
  }
};

/** Two shards and their index. */
function shards(name: Name): NamedBlob[] {
  const all = [...tensorsOf(name)];
  const parts = [all.slice(0, 7), all.slice(7)];
  const file = (i: number) => `model-0000${i + 1}-of-00002.safetensors`;
  return [
    blobOf('config.json', bytes(name, 'config.json')),
    ...parts.map((part, i) => blobOf(file(i), writeSafetensors(new Map(part)).bytes)),
    jsonBlob('model.safetensors.index.json', {
      weight_map: Object.fromEntries(parts.flatMap((part, i) => part.map(([key]) => [key, file(i)]))),
    }),
  ];
}

describe('Hugging Face folders', () => {
  test.each(['llama', 'qwen2', 'qwen3'] as const)('%s: flat, nested and in shards', async (name) => {
    for (const files of [folder(name), folder(name, 'downloads/the-model/'), shards(name)]) {
      const progress: number[] = [];
      const model = await importModel(files, {
        progress: (done, all) => {
          progress.push(done / all);
        },
      });
      expect(model.config).toEqual(parseModelConfig(configOf(name)));
      same(model.weights, tensorsOf(name));
      expect(progress.at(-1)).toBe(1);
      expect(progress).toEqual([...progress].sort((a, b) => a - b));
      expect(model.tokenizer).toBeNull();
    }
  });

  test('the shallowest config.json is the model', async () => {
    const inner = folder('qwen3', 'model/onnx/');
    const { config } = await importModel([...inner, ...folder('qwen2', 'model/')]);
    expect(config.architecture).toBe('qwen2');
  });

  test.each(['F16', 'BF16'] as const)('%s', async (floats) => {
    const written = writeSafetensors(tensorsOf('qwen3'), { floats }).bytes;
    const { weights, bytes: size } = await importModel([
      folder('qwen3')[0],
      blobOf('model.safetensors', written),
    ]);
    same(weights, readSafetensors(written.buffer, 'x').tensors as unknown as Floats);
    expect(size).toBe(2 * [...weights.values()].reduce((sum, { data }) => sum + data.length, 0));
  });

  test('tokenizer, template and special tokens that only config.json names', async () => {
    const documents = taskTokenizerDocuments(taskNamed('sign-search'));
    const { eos_token: _, pad_token: __, ...rest } = documents.configJson as Record<string, unknown>;
    const config = { ...configOf('llama'), vocab_size: 80, eos_token_id: [2, 7] };
    const model = await importModel([
      jsonBlob('config.json', config),
      folder('llama')[1],
      jsonBlob('tokenizer.json', documents.json),
      jsonBlob('tokenizer_config.json', {
        ...rest,
        chat_template: [
          { name: 'tools', template: 'T' },
          { name: 'default', template: 'D' },
        ],
      }),
      jsonBlob('generation_config.json', { pad_token_id: 0 }),
    ]);
    expect(model.chatTemplate).toBe('D');
    const { special } = loadTokenizer(model.tokenizer!.json, model.tokenizer!.configJson);
    expect(special).toMatchObject({ eos: 2, pad: 0, bos: 1 });
    const jinja = blobOf('chat_template.jinja', 'J');
    const files = [...folder('llama'), jsonBlob('tokenizer.json', documents.json), jinja];
    expect((await importModel(files)).chatTemplate).toBe('J');
  });

  test('a tied folder may carry the same head', async () => {
    const tensors = tensorsOf('qwen2');
    const embedding = tensors.get('model.embed_tokens.weight')!;
    const files = (data: Float32Array) => [
      folder('qwen2')[0],
      blobOf(
        'model.safetensors',
        writeSafetensors(new Map([...tensors, ['lm_head.weight', { ...embedding, data }]])).bytes,
      ),
    ];
    const model = await importModel(files(embedding.data));
    expect(model.weights.has('lm_head.weight')).toBe(false);
    const other = embedding.data.slice();
    other[5] += 1;
    await expect(importModel(files(other))).rejects.toThrow(/tie_word_embeddings.*differs/);
  });

  test('a weight that is not finite is told', async () => {
    const tensors = tensorsOf('llama');
    tensors.get('model.norm.weight')!.data[3] = Number.NaN;
    const { notes } = await importModel([
      folder('llama')[0],
      blobOf('model.safetensors', writeSafetensors(tensors).bytes),
    ]);
    expect(notes.join()).toMatch(/1 weights are not finite/);
  });

  test('stops when it is aborted', async () => {
    const controller = new AbortController();
    controller.abort(new UserError('cancelled'));
    await expect(importModel(folder('llama'), { signal: controller.signal })).rejects.toThrow('cancelled');
  });
});

const edited = (change: Record<string, unknown>) => [
  jsonBlob('config.json', { ...configOf('llama'), ...change }),
  folder('llama')[1],
];
const retensored = (edit: (tensors: Floats) => void) => {
  const tensors = tensorsOf('llama');
  edit(tensors);
  return [folder('llama')[0], blobOf('model.safetensors', writeSafetensors(tensors).bytes)];
};
const fp8 = () => {
  const header = JSON.stringify({ x: { dtype: 'F8_E4M3', shape: [2], data_offsets: [0, 2] } }).padEnd(80);
  return blobOf(
    'model.safetensors',
    new Uint8Array(new BigUint64Array([80n]).buffer),
    header,
    new Uint8Array(2),
  );
};

describe.each<[string, () => NamedBlob[], RegExp]>([
  ['no files', () => [], /No file/],
  [
    'a wrong shape',
    () => edited({ intermediate_size: 81 }),
    /"model.layers.0.mlp.gate_proj.weight" has the shape \[80,48\].*\[81,48\]/,
  ],
  [
    'a missing tensor',
    () => retensored((t) => t.delete('model.layers.1.mlp.up_proj.weight')),
    /lacks "model.layers.1.mlp.up_proj.weight"/,
  ],
  [
    'an unexpected tensor',
    () =>
      retensored((t) =>
        t.set('model.layers.0.self_attn.q_proj.bias', { shape: [1], data: new Float32Array(1) }),
      ),
    /holds "model.layers.0.self_attn.q_proj.bias"/,
  ],
  [
    'a cut file',
    () => [
      folder('llama')[0],
      blobOf('model.safetensors', bytes('llama', 'model.safetensors').subarray(0, 20_000)),
    ],
    /model.safetensors: tensor .* cut off/,
  ],
  [
    'a file cut in its header',
    () => [
      folder('llama')[0],
      blobOf('model.safetensors', bytes('llama', 'model.safetensors').subarray(0, 100)),
    ],
    /cut off inside its header/,
  ],
  [
    'an empty file',
    () => [folder('llama')[0], blobOf('model.safetensors')],
    /not a safetensors file: it has 0 bytes/,
  ],
  [
    'an unknown architecture',
    () => edited({ model_type: 'gemma2' }),
    /"gemma2" is not supported.*llama, qwen2 and qwen3/,
  ],
  ['a missing key', () => edited({ num_hidden_layers: undefined }), /no "num_hidden_layers"/],
  ['a mad number of layers', () => edited({ num_hidden_layers: 1e9 }), /asks for 1,000,000,000 layers/],
  ['a broken number of layers', () => edited({ num_hidden_layers: 1.5 }), /layers as 1.5/],
  [
    'scaled rotary positions',
    () => edited({ rope_scaling: { rope_type: 'llama3', factor: 8 } }),
    /rope_scaling/,
  ],
  ['a sliding window', () => edited({ use_sliding_window: true }), /use_sliding_window/],
  ['GPTQ', () => edited({ quantization_config: { quant_method: 'gptq' } }), /quantised \(gptq\)/],
  ['FP8', () => [folder('llama')[0], fp8()], /tensor "x" has the type "F8_E4M3"/],
  [
    'a missing shard',
    () => shards('llama').filter(({ path }) => !path.includes('00002-of')),
    /lacks "model-00002-of-00002.safetensors".*every shard/,
  ],
  [
    'shards without index',
    () => shards('llama').filter(({ path }) => !path.includes('index')),
    /2 safetensors files, but no model.safetensors.index.json/,
  ],
  [
    'an index that is no JSON',
    () => [...shards('llama').slice(0, 3), blobOf('model.safetensors.index.json', '{')],
    /index.json is not JSON/,
  ],
  [
    'pickled weights in a folder',
    () => [folder('llama')[0], blobOf('pytorch_model.bin', 'PK')],
    /"pytorch_model.bin" is in another format/,
  ],
  ['a pickle', () => [blobOf('pytorch_model.bin', 'PK')], /PyTorch pickle/],
  ['weights without config', () => [folder('llama')[1]], /no config.json/],
  [
    'an adapter',
    () => [jsonBlob('adapter_config.json', {}), blobOf('adapter_model.safetensors', '')],
    /LoRA adapter/,
  ],
  [
    'something else',
    () => [blobOf('a.bin', 'hello world, this is no model at all')],
    /No model was found in a.bin/,
  ],
  ['a false GGUF', () => [blobOf('a.gguf', 'hello')], /does not begin with "GGUF"/],
  [
    'a tokenizer that is larger than the model',
    () => [...folder('llama'), jsonBlob('tokenizer.json', { model: { vocab: { a: 0, b: 80 } } })],
    /up to number 80, but the model's vocabulary ends at 79/,
  ],
])('refuses %s', (_, files, message) => {
  test('by name', async () => {
    await expect(importModel(files())).rejects.toThrow(UserError);
    await expect(importModel(files())).rejects.toThrow(message);
  });
});

/** Rows of halves → neighbouring pairs, as the converters write q and k of a Llama. */
function toPairs({ shape, data }: { shape: readonly number[]; data: Float32Array }, heads: number) {
  const [rows, C] = shape;
  const D = rows / heads;
  const out = new Float32Array(data.length);
  for (let h = 0; h < heads; h++)
    for (let i = 0; i < D / 2; i++)
      for (let j = 0; j < 2; j++)
        for (let c = 0; c < C; c++)
          out[(h * D + 2 * i + j) * C + c] = data[(h * D + j * (D / 2) + i) * C + c];
  return out;
}

const GGUF_NAMES: [RegExp, string][] = [
  [/^model\.embed_tokens/, 'token_embd'],
  [/^model\.norm/, 'output_norm'],
  [/^lm_head/, 'output'],
  [/^model\.layers\./, 'blk.'],
  [/self_attn\.([qkv])_proj/, 'attn_$1'],
  [/self_attn\.o_proj/, 'attn_output'],
  [/self_attn\.([qk])_norm/, 'attn_$1_norm'],
  [/input_layernorm/, 'attn_norm'],
  [/post_attention_layernorm/, 'ffn_norm'],
  [/mlp\.(\w+)_proj/, 'ffn_$1'],
];

function ggufOf(
  name: Name,
  change: Record<string, number | string | string[] | number[]> = {},
  drop = '',
): NamedBlob {
  const config = parseModelConfig(configOf(name));
  const tensors = Object.fromEntries(
    [...tensorsOf(name)].map(([key, tensor]) => {
      const heads = name === 'llama' && /\.([qk])_proj/.exec(key)?.[1];
      const data = heads ? toPairs(tensor, heads === 'q' ? config.heads : config.kvHeads) : tensor.data;
      const renamed = GGUF_NAMES.reduce((text, [from, to]) => text.replace(from, to), key);
      return [renamed, { type: 0, shape: tensor.shape, data: floatBytes(data) }];
    }),
  );
  delete tensors[drop];
  return blobOf(
    'model.gguf',
    ggufBytes(
      {
        'general.architecture': name,
        [`${name}.block_count`]: config.layers,
        [`${name}.embedding_length`]: config.hiddenSize,
        [`${name}.feed_forward_length`]: config.intermediateSize,
        [`${name}.attention.head_count`]: config.heads,
        [`${name}.attention.head_count_kv`]: config.kvHeads,
        [`${name}.attention.key_length`]: config.headDim,
        [`${name}.attention.layer_norm_rms_epsilon`]: config.rmsNormEps,
        [`${name}.rope.freq_base`]: config.ropeTheta,
        [`${name}.context_length`]: config.maxPositions,
        ...change,
      },
      tensors,
    ),
  );
}

describe('GGUF', () => {
  test.each(['llama', 'qwen2', 'qwen3'] as const)('%s: the golden checkpoint comes back', async (name) => {
    const { config, weights, tokenizer } = await importModel([ggufOf(name)]);
    const expected = parseModelConfig(configOf(name));
    expect(config).toEqual({ ...expected, rmsNormEps: Math.fround(expected.rmsNormEps) });
    same(weights, tensorsOf(name));
    expect(tokenizer).toBeNull();
  });

  test('tokenizer and chat template', async () => {
    const tokens = ['<unk>', '<s>', '</s>', '<0x0A>', '▁', 'a', 'b', '▁a', 'ab'];
    const model = await importModel([
      ggufOf('qwen3', {
        'tokenizer.ggml.model': 'llama',
        'tokenizer.ggml.tokens': tokens,
        'tokenizer.ggml.scores': [0, 0, 0, 0, -9, -9, -9, -1, -2].map((x) => x + 0.5),
        'tokenizer.ggml.token_type': [2, 3, 3, 6, 1, 1, 1, 1, 1].map((x) => x + 0),
        'tokenizer.ggml.bos_token_id': 1,
        'tokenizer.ggml.eos_token_id': 2,
        'tokenizer.chat_template': 'C',
      }),
    ]);
    expect(model.chatTemplate).toBe('C');
    const { encode, decode, special } = loadTokenizer(model.tokenizer!.json, model.tokenizer!.configJson, {
      requireTags: false,
    });
    expect(special).toMatchObject({ bos: 1, eos: 2, pad: -1 });
    expect(encode('ab')).toEqual([7, 6]); // "▁a" has the better score than "ab"
    expect(encode('a\nab')).toEqual([7, 3, 8]);
    expect(decode([7, 3, 8])).toBe('a\nab');
  });

  test.each<[string, () => NamedBlob, RegExp]>([
    [
      'an unknown architecture',
      () => ggufOf('llama', { 'general.architecture': 'gemma' }),
      /architecture "gemma"/,
    ],
    ['experts', () => ggufOf('llama', { 'llama.expert_count': 8 }), /mixture of experts/],
    ['scaled positions', () => ggufOf('llama', { 'llama.rope.scaling.type': 'yarn' }), /"yarn"/],
    [
      'a missing tensor',
      () => ggufOf('llama', {}, 'blk.0.ffn_up.weight'),
      /lacks "model.layers.0.mlp.up_proj.weight"/,
    ],
    ['no embedding', () => ggufOf('llama', {}, 'token_embd.weight'), /vocabulary only/],
    ['a wrong size', () => ggufOf('llama', { 'llama.feed_forward_length': 81 }), /has the shape \[80,48\]/],
    [
      'a text for a number',
      () => ggufOf('llama', { 'llama.block_count': 'two' }),
      /"llama.block_count" must be a number/,
    ],
    [
      'an unknown tokenizer',
      () => ggufOf('llama', { 'tokenizer.ggml.model': 'rwkv', 'tokenizer.ggml.tokens': ['a'] }),
      /kind "rwkv".*tokenizer.json/,
    ],
    [
      'an unknown splitting',
      () =>
        ggufOf('llama', {
          'tokenizer.ggml.model': 'gpt2',
          'tokenizer.ggml.pre': 'tekken',
          'tokenizer.ggml.tokens': ['a'],
          'tokenizer.ggml.merges': ['a b'],
        }),
      /splits text as "tekken"/,
    ],
    [
      'an unread type',
      () => blobOf('m.gguf', ggufBytes({}, { x: { type: 10, shape: [256], data: new Uint8Array(84) } })),
      /"x" has the type Q2_K.*another quantisation/,
    ],
  ])('refuses %s', async (_, file, message) => {
    await expect(importModel([file()])).rejects.toThrow(UserError);
    await expect(importModel([file()])).rejects.toThrow(message);
  });

  test('refuses a cut file', async () => {
    const { blob } = ggufOf('llama');
    for (const share of [0.01, 0.3, 0.999])
      await expect(
        importModel([{ path: 'model.gguf', blob: blob.slice(0, Math.floor(blob.size * share)) }]),
      ).rejects.toThrow(/cut off/);
  });
});

describe("llama2.c's .bin", () => {
  // dim 4, hidden 6, 2 layers, 2 heads, 1 key/value head, 5 tokens, 3 positions
  const shared = 5 * 4 + 2 * (4 + 16 + 8 + 8 + 16 + 4 + 24 * 3) + 4 + 3 * 2;
  const file = (vocab: number, floats: number) =>
    blobOf(
      'm.bin',
      llama2cBytes([4, 6, 2, 2, 1, vocab, 3], floats, (i) => i),
    );

  test('shared head: each tensor is where it belongs', async () => {
    const { config, weights } = await importModel([file(5, shared)]);
    expect(config).toMatchObject({ vocabSize: 5, kvHeads: 1, headDim: 2, tieWordEmbeddings: true });
    const first = (name: string) => weights.get(name)!.data[0];
    expect(first('model.layers.1.input_layernorm.weight')).toBe(24);
    expect(first('model.layers.0.self_attn.q_proj.weight')).toBe(28);
    expect(first('model.layers.1.self_attn.k_proj.weight')).toBe(28 + 32 + 8);
    expect(first('model.norm.weight')).toBe(shared - 6 - 4);
  });

  test('head of its own', async () => {
    const { config, weights } = await importModel([file(-5, shared + 20)]);
    expect(config.tieWordEmbeddings).toBe(false);
    expect(weights.get('lm_head.weight')!.data[0]).toBe(shared);
  });

  test('a cut one is named', async () => {
    await expect(importModel([file(5, shared - 1)])).rejects.toThrow(/cut off or damaged/);
  });
});

test('which files belong to a model', () => {
  const names = [
    'config.json',
    'a/model-00001-of-00002.safetensors',
    'm.gguf',
    'stories.bin',
    'merges.txt',
    'x/tokenizer.json',
  ];
  expect(names.filter(isModelFile)).toEqual(names);
  expect(
    ['train.jsonl', 'data.json', 'names.txt', 'my-config.json', 'a.parquet'].filter(isModelFile),
  ).toEqual([]);
});
