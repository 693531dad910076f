/** What leaves comes back: the decoder's logits, bytes, and files that readers of the formats themselves take. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gguf } from '@huggingface/gguf';
import { beforeAll, describe, expect, test } from 'vitest';
import { taskNamed } from '../../data/tasks/index.ts';
import { openBackend } from '../../tensor/device.ts';
import { relativeError } from '../../tensor/fixture.ts';
import { tf } from '../../tensor/tfjs.ts';
import { byteTokenizerDocuments } from '../../tokenizer/byte-tokenizer.ts';
import { loadTokenizer } from '../../tokenizer/hf-tokenizer.ts';
import { scoredTokenizerDocuments } from '../../tokenizer/scored-pieces.ts';
import { type TokenizerDocuments, taskTokenizerDocuments } from '../../tokenizer/task-tokenizer.ts';
import type { NamedBlob } from '../blobs.ts';
import { readModelFolder, writeModelFolder } from '../checkpoint.ts';
import { tensorShapes } from '../config.ts';
import { Decoder, type WeightArray } from '../decoder.ts';
import { type ImportedModel, importModel } from '../import.ts';
import {
  type ExportableModel,
  type ExportOptions,
  exportModel,
  fileBytes,
  type ModelExport,
  readFrom,
} from './export-model.ts';
import { strictGguf } from './strict-gguf.ts';
import { strictSafetensors } from './strict-safetensors.ts';

const NAMES = ['llama', 'qwen2', 'qwen3'] as const;
type Name = (typeof NAMES)[number];
type Weights = Map<string, WeightArray>;

function golden(name: Name) {
  const read = (file: string): [string, ArrayBuffer] => [
    file,
    new Uint8Array(readFileSync(new URL(`../fixtures/ckpt/${name}/${file}`, import.meta.url))).buffer,
  ];
  return readModelFolder(new Map([read('config.json'), read('model.safetensors')]));
}

const exportable = (
  { config, weights }: { config: ExportableModel['config']; weights: Weights },
  rest: Partial<ExportableModel> = {},
): ExportableModel => ({ config, read: readFrom(config, weights), tokenizer: null, ...rest });

const tokenizerOf = ({ json, configJson }: TokenizerDocuments) => loadTokenizer(json, configJson);

async function bytesOf({ files }: ModelExport): Promise<Map<string, Uint8Array<ArrayBuffer>>> {
  return new Map(await Promise.all(files.map(async (file) => [file.path, await fileBytes(file)] as const)));
}

async function blobsOf(exported: ModelExport): Promise<NamedBlob[]> {
  return [...(await bytesOf(exported))].map(([path, bytes]) => ({ path, blob: new Blob([bytes]) }));
}

const back = async (model: ExportableModel, options: ExportOptions): Promise<ImportedModel> =>
  importModel(await blobsOf(exportModel(model, options)));

/** Logits (T, V) of a plain causal pass over the first tokens of the vocabulary. */
function logitsOf({ config, weights }: Pick<ImportedModel, 'config' | 'weights'>): Float32Array {
  const model = new Decoder(config, weights);
  const ids = Array.from({ length: 12 }, (_, t) => (7 * t + 3) % config.vocabSize);
  const int = (values: number[]) => tf.tensor1d(Int32Array.from(values), 'int32');
  const logits = tf.tidy(() => {
    const [tokens, positions, branches] = [int(ids), int(ids.map((_, t) => t)), int(ids.map(() => 0))];
    const hidden = model.hidden({ B: 1, T: ids.length, tokens, positions, branches });
    return tf.matMul(hidden as tf.Tensor2D, model.head as tf.Tensor2D, false, true).dataSync();
  }) as Float32Array;
  model.dispose();
  return logits;
}

beforeAll(async () => {
  await openBackend('wasm');
});

describe.each(NAMES)('%s', (name) => {
  const source = golden(name);

  /**
   * Rounding moves a weight by 2^-12 (f16), 2^-9 (bf16) or 1/254 of its block's largest (Q8_0) of itself at most; sums of
   * two or three layers of it stay within a few times that, relative to the largest logit.
   */
  test.each([
    ['huggingface', 'f32', 0],
    ['huggingface', 'f16', 2e-3],
    ['huggingface', 'bf16', 2e-2],
    ['gguf', 'f32', 0],
    ['gguf', 'f16', 2e-3],
    ['gguf', 'bf16', 2e-2],
    ['gguf', 'q8_0', 3e-2],
  ] as const)('%s in %s: the same logits after import', async (format, dtype, tolerance) => {
    const model = await back(exportable(source), { format, dtype });
    expect(model.format).toBe(format);
    // GGUF holds eps as float32, and the CPU backends add it as a double: the source takes the rounded one too.
    const eps = format === 'gguf' ? Math.fround(source.config.rmsNormEps) : source.config.rmsNormEps;
    expect(model.config).toEqual({ ...source.config, rmsNormEps: eps });
    const [before, after] = [
      logitsOf({ ...source, config: { ...source.config, rmsNormEps: eps } }),
      logitsOf(model),
    ];
    if (tolerance === 0) expect(after).toEqual(before);
    else {
      const error = relativeError(after, before);
      expect(error).toBeLessThan(tolerance);
      expect(error).toBeGreaterThan(0);
    }
  });

  test('a folder: what the strict reader and our own writer say', async () => {
    const exported = exportModel(exportable(source), { format: 'huggingface', dtype: 'f32' });
    const files = await bytesOf(exported);
    const tensors = strictSafetensors(files.get('model.safetensors')!);
    expect([...tensors].map(([key, { shape, dtype }]) => [key, shape, dtype])).toEqual(
      [...tensorShapes(source.config)].map(([key, shape]) => [key, shape, 'F32']),
    );
    // The same bytes as the checkpoints of a run, file by file.
    expect(files).toEqual(writeModelFolder({ ...source, tokenizer: null }));
    const again = await back(exportable(source), { format: 'huggingface', dtype: 'f32' });
    expect(await bytesOf(exportModel(exportable(again), { format: 'huggingface', dtype: 'f32' }))).toEqual(
      files,
    );
    expect(exported.report()).toEqual({ overflows: 0, notes: [] });
  });

  test('shards of 40 kB: each strict, all named by the index, the same model', async () => {
    const options = { format: 'huggingface', dtype: 'bf16', shardBytes: 40_000 } as const;
    const files = await bytesOf(exportModel(exportable(source), options));
    const json = (path: string) => JSON.parse(new TextDecoder().decode(files.get(path)!));
    const { weight_map, metadata } = json('model.safetensors.index.json');
    const shards = [...files.keys()].filter((path) => path.endsWith('.safetensors'));
    expect(shards.length).toBeGreaterThan(1);
    const held = new Map<string, string>();
    let total = 0;
    for (const path of shards) {
      expect(path).toMatch(/^model-\d{5}-of-\d{5}\.safetensors$/);
      const tensors = [...strictSafetensors(files.get(path)!)];
      const bytes = tensors.reduce((sum, [, { data }]) => sum + data.length, 0);
      expect(bytes <= 40_000 || tensors.length === 1, path).toBe(true);
      total += bytes;
      for (const [key, { dtype }] of tensors) {
        expect(dtype).toBe('BF16');
        held.set(key, path);
      }
    }
    expect(Object.fromEntries(held)).toEqual(weight_map);
    expect([...held.keys()].sort()).toEqual([...tensorShapes(source.config).keys()].sort());
    expect(metadata.total_size).toBe(total);
    expect(json('config.json').torch_dtype).toBe('bfloat16');
    const whole = await back(exportable(source), { format: 'huggingface', dtype: 'bf16' });
    expect((await back(exportable(source), options)).weights).toEqual(whole.weights);
  });

  test.each(['f32', 'f16', 'bf16', 'q8_0'] as const)('GGUF in %s under the strict reader', async (dtype) => {
    const [file] = exportModel(exportable(source), { format: 'gguf', dtype }).files;
    const { metadata, tensors } = strictGguf(await fileBytes(file));
    const { config } = source;
    const get = (key: string) => metadata.get(`${name}.${key}`);
    expect(metadata.get('general.architecture')).toBe(name);
    expect(metadata.get('general.file_type')).toBe({ f32: 0, f16: 1, q8_0: 7, bf16: 32 }[dtype]);
    expect(get('block_count')).toBe(config.layers);
    expect(get('embedding_length')).toBe(config.hiddenSize);
    expect(get('feed_forward_length')).toBe(config.intermediateSize);
    expect(get('attention.head_count')).toBe(config.heads);
    expect(get('attention.head_count_kv')).toBe(config.kvHeads);
    expect(get('attention.key_length')).toBe(config.headDim);
    expect(get('attention.layer_norm_rms_epsilon')).toBe(Math.fround(config.rmsNormEps));
    expect(get('rope.freq_base')).toBe(config.ropeTheta);
    expect(get('vocab_size')).toBe(config.vocabSize);
    expect(tensors.size).toBe(tensorShapes(config).size);
    const wide = config.hiddenSize;
    for (const [key, { type, dimensions }] of tensors) {
      const wanted = dtype === 'q8_0' ? (dimensions[0] % 32 === 0 ? 'Q8_0' : 'F16') : dtype.toUpperCase();
      expect(type, key).toBe(dimensions.length === 1 ? 'F32' : wanted);
    }
    expect(tensors.get('token_embd.weight')!.dimensions).toEqual([wide, config.vocabSize]);
    expect(tensors.get('blk.1.attn_k.weight')!.dimensions).toEqual([wide, config.kvHeads * config.headDim]);
    expect(tensors.get('blk.0.ffn_down.weight')!.dimensions).toEqual([config.intermediateSize, wide]);
    expect(tensors.has('output.weight')).toBe(!config.tieWordEmbeddings);
    expect(tensors.has('blk.0.attn_q.bias')).toBe(name === 'qwen2');
    expect(tensors.has('blk.0.attn_q_norm.weight')).toBe(name === 'qwen3');
  });
});

test('GGUF: the golden permuted order of q, and the same bytes again', async () => {
  const source = golden('llama');
  const options = { format: 'gguf', dtype: 'f32' } as const;
  const [file] = exportModel(exportable(source), options).files;
  const bytes = await fileBytes(file);
  const floats = (data: Uint8Array<ArrayBuffer>) => new Float32Array(data.buffer);
  const q = floats(strictGguf(bytes).tensors.get('blk.0.attn_q.weight')!.data);
  const own = source.weights.get('model.layers.0.self_attn.q_proj.weight')!.data;
  const { heads: H, headDim: D, hiddenSize: C } = source.config;
  // w.reshape(H, 2, D/2, C).swapaxes(1, 2), element by element.
  for (let h = 0; h < H; h++)
    for (let j = 0; j < 2; j++)
      for (let i = 0; i < D / 2; i++)
        for (let c = 0; c < C; c++)
          expect(q[(h * D + 2 * i + j) * C + c]).toBe(own[(h * D + j * (D / 2) + i) * C + c]);
  const again = await importModel([{ path: file.path, blob: new Blob([bytes]) }]);
  const [second] = exportModel(exportable(again), options).files;
  expect(await fileBytes(second)).toEqual(bytes);
});

describe('tokenizers in GGUF', () => {
  const source = golden('llama');
  const sized = (V: number) => {
    const config = { ...source.config, vocabSize: V };
    const weights: Weights = new Map(source.weights);
    for (const name of ['model.embed_tokens.weight', 'lm_head.weight'])
      weights.set(name, { shape: [V, config.hiddenSize], data: new Float32Array(V * config.hiddenSize) });
    return { config, weights };
  };
  const scored = scoredTokenizerDocuments({
    pieces: [
      { text: '<unk>', score: 0, kind: 'unknown' },
      { text: '<s>', score: 0, kind: 'control' },
      { text: '</s>', score: 0, kind: 'control' },
      ...Array.from({ length: 256 }, (_, byte) => ({
        text: `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
        score: 0,
        kind: 'byte' as const,
      })),
      ...['▁a', 'ab', '▁ab', '▁', 'a', 'b'].map((text, i) => ({ text, score: -i, kind: 'piece' as const })),
    ],
    unk: 0,
    bos: 1,
    eos: 2,
    pad: -1,
    spacePrefix: true,
  });
  const merging = (() => {
    const { json, configJson } = byteTokenizerDocuments() as unknown as {
      json: { model: Record<string, unknown>; added_tokens: unknown[]; pre_tokenizer: object };
      configJson: unknown;
    };
    const vocab = json.model.vocab as Record<string, number>;
    const merges = [
      ['1', '2'],
      ['Ġ', 'a'],
    ];
    const more = Object.fromEntries(merges.map((pair, i) => [pair.join(''), Object.keys(vocab).length + i]));
    const pre_tokenizer = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true };
    return {
      json: { ...json, pre_tokenizer, model: { ...json.model, vocab: { ...vocab, ...more }, merges } },
      configJson,
    };
  })();

  test.each<[string, TokenizerDocuments, string, string[]]>([
    [
      'words',
      taskTokenizerDocuments(taskNamed('sign-search')),
      'gpt2',
      ['<Parallel><Path>+20-1=19</Path></Parallel>', '>13?'],
    ],
    ['bytes', byteTokenizerDocuments(), 'gpt2', ['Grüße, <Path>12 a</Path>']],
    ['byte-level merges', merging, 'gpt2', ['12 a 1212 aa', 'a<eos>b']],
    ['scores', scored, 'llama', ['ab ab a b', 'ü ab']],
  ])('%s: the same ids after import', async (_, documents, model, texts) => {
    const tokenizer = loadTokenizer(documents.json, documents.configJson, { requireTags: false });
    // Three rows more than tokens, as in models that round the size of their vocabulary up.
    const exported = exportModel(
      exportable(sized(tokenizer.vocabSize + 3), {
        tokenizer,
        chatTemplate: '{{ messages }}',
        name: 'my model',
      }),
      { format: 'gguf', dtype: 'f16' },
    );
    expect(exported.files.map(({ path }) => path)).toEqual(['my-model-f16.gguf']);
    const { metadata } = strictGguf(await fileBytes(exported.files[0]));
    expect(metadata.get('tokenizer.ggml.model')).toBe(model);
    const tokens = metadata.get('tokenizer.ggml.tokens') as string[];
    expect(tokens.length).toBe(tokenizer.vocabSize + 3);
    expect(new Set(tokens).size).toBe(tokens.length);
    expect(metadata.get('tokenizer.ggml.token_type')).toHaveLength(tokens.length);
    const imported = await importModel(await blobsOf(exported));
    expect(imported.chatTemplate).toBe('{{ messages }}');
    const again = loadTokenizer(imported.tokenizer!.json, imported.tokenizer!.configJson, {
      requireTags: false,
    });
    const { bos, eos, pad } = tokenizer.special;
    expect(again.special).toMatchObject({ bos, eos, pad });
    for (const text of texts) {
      const ids = tokenizer.encode(text);
      expect(ids.length).toBeGreaterThan(0);
      expect(again.encode(text), text).toEqual(ids);
      expect(again.decode(ids)).toBe(tokenizer.decode(ids));
    }
  });

  test('merges of scores come back one by one', async () => {
    const tokenizer = loadTokenizer(scored.json, scored.configJson, { requireTags: false });
    const { config, weights } = sized(tokenizer.vocabSize);
    const model = exportable({ config, weights }, { tokenizer });
    const { tokenizer: documents } = await back(model, { format: 'gguf', dtype: 'f32' });
    const merges = (json: unknown) => (json as { model: { merges: unknown } }).model.merges;
    expect(merges(documents!.json)).toEqual(merges(scored.json));
  });

  test('a splitting that llama.cpp does not know: the documents lie beside the file', async () => {
    const { json, configJson } = merging as unknown as { json: object; configJson: unknown };
    const pre_tokenizer = { type: 'Split', pattern: { Regex: 'x+' }, behavior: 'Removed', invert: false };
    const tokenizer = tokenizerOf({ json: { ...json, pre_tokenizer }, configJson });
    const exported = exportModel(exportable(sized(tokenizer.vocabSize), { tokenizer }), {
      format: 'gguf',
      dtype: 'f32',
    });
    expect(exported.report().notes.join()).toMatch(/carries no tokenizer/);
    const { metadata } = strictGguf(await fileBytes(exported.files[0]));
    expect(metadata.get('tokenizer.ggml.model')).toBe('none');
    expect((await importModel(await blobsOf(exported))).tokenizer!.json).toEqual(tokenizer.json);
  });

  test('a folder carries documents, template and special tokens', async () => {
    const documents = byteTokenizerDocuments();
    const tokenizer = tokenizerOf(documents);
    const model = exportable(sized(tokenizer.vocabSize), { tokenizer, chatTemplate: 'T' });
    const imported = await back(model, { format: 'huggingface', dtype: 'f16' });
    expect(imported.tokenizer).toEqual(documents);
    expect(imported.chatTemplate).toBe('T');
    const files = await bytesOf(exportModel(model, { format: 'huggingface', dtype: 'f16' }));
    const json = (path: string) => JSON.parse(new TextDecoder().decode(files.get(path)!));
    expect(json('config.json')).toMatchObject({
      torch_dtype: 'float16',
      eos_token_id: tokenizer.special.eos,
    });
    expect(json('generation_config.json').eos_token_id).toBe(tokenizer.special.eos);
    expect(json('special_tokens_map.json').bos_token).toBe('<bos>');
  });

  test('@huggingface/gguf reads the file', async () => {
    const tokenizer = tokenizerOf(byteTokenizerDocuments());
    const [file] = exportModel(exportable(sized(tokenizer.vocabSize), { tokenizer }), {
      format: 'gguf',
      dtype: 'q8_0',
    }).files;
    const folder = mkdtempSync(join(tmpdir(), 'gguf-'));
    const path = join(folder, file.path);
    writeFileSync(path, await fileBytes(file));
    const read = await gguf(path, { allowLocalFile: true });
    rmSync(folder, { recursive: true });
    expect(read.metadata).toMatchObject({
      version: 3,
      'general.architecture': 'llama',
      'llama.block_count': 2,
      'tokenizer.ggml.eos_token_id': tokenizer.special.eos,
    });
    const shapes = tensorShapes({ ...source.config, vocabSize: tokenizer.vocabSize });
    expect(read.tensorInfos.map(({ shape }) => shape.map(Number).reverse())).toEqual([...shapes.values()]);
  });
});

describe('what does not fit', () => {
  const changed = (edit: (values: Float32Array) => void) => {
    const { config, weights } = golden('qwen2');
    edit(weights.get('model.layers.0.mlp.gate_proj.weight')!.data);
    return exportable({ config, weights });
  };

  test('f16: clamped, counted once however often it is read, and said', async () => {
    const model = changed((values) => values.set([65504, -65505, 1e6, 65519]));
    const exported = exportModel(model, { format: 'huggingface', dtype: 'f16' });
    await bytesOf(exported);
    const { weights } = await importModel(await blobsOf(exported));
    const values = weights.get('model.layers.0.mlp.gate_proj.weight')!.data;
    expect(Array.from(values.subarray(0, 4))).toEqual([65504, -65504, 65504, 65504]);
    const { overflows, notes } = exported.report();
    expect(overflows).toBe(3);
    expect(notes.join()).toMatch(/3 weights were too large for f16.*65,504.*bf16 or f32/);
    const wide = exportModel(model, { format: 'huggingface', dtype: 'bf16' });
    await bytesOf(wide);
    expect(wide.report()).toEqual({ overflows: 0, notes: [] });
  });

  test('the weights themselves are never changed, and no chunk is a view of them', async () => {
    const { config, weights } = golden('llama');
    const before = structuredClone(weights);
    const model = exportable({ config, weights });
    for (const dtype of ['f32', 'f16'] as const)
      for (const file of exportModel(model, { format: 'huggingface', dtype }).files)
        for await (const chunk of file.chunks()) chunk.fill(1);
    expect(weights).toEqual(before);
  });

  test('NaN is told', async () => {
    const exported = exportModel(
      changed((values) => values.fill(Number.NaN, 0, 2)),
      { format: 'gguf', dtype: 'f16' },
    );
    await bytesOf(exported);
    expect(exported.report().overflows).toBe(0);
    expect(exported.report().notes.join()).toMatch(/2 weights were no finite numbers/);
  });

  test('tensors are asked for one at a time, in file order', async () => {
    const { config, weights } = golden('llama');
    const asked: string[] = [];
    const read = (name: string) => {
      asked.push(name);
      return weights.get(name)!.data;
    };
    const exported = exportModel({ config, read, tokenizer: null }, { format: 'gguf', dtype: 'f32' });
    const chunks = exported.files[0].chunks()[Symbol.asyncIterator]();
    expect(asked).toEqual([]);
    await chunks.next();
    await chunks.next();
    expect(asked).toEqual(['model.embed_tokens.weight']);
  });

  test('Q8_0 in a Hugging Face folder, and a missing weight', () => {
    const { config, weights } = golden('llama');
    expect(() =>
      exportModel(exportable({ config, weights }), { format: 'huggingface', dtype: 'q8_0' }),
    ).toThrow(/Q8_0 exists in GGUF files only/);
    weights.delete('model.norm.weight');
    expect(() => readFrom(config, weights)).toThrow(/"model\.norm\.weight" is missing/);
  });
});
