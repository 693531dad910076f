/** Model folders in the Hugging Face layout: files by name, in and out. */
import { messageOf, UserError } from '../../base/assert.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import { type ModelConfig, modelConfigJson, parseModelConfig, tensorShapes } from './config.ts';
import { readSafetensors, type StoredTensor, writeSafetensors } from './safetensors.ts';
import { checkTensors, listNames } from './tensor-check.ts';

/** Weights by their Hugging Face names. */
export type Weights = Map<string, { shape: readonly number[]; data: Float32Array }>;

export interface ModelFolder {
  config: ModelConfig;
  weights: Weights;
  /** Parsed `tokenizer.json` and `tokenizer_config.json`, or null where the folder has none. */
  tokenizerJson: unknown;
  tokenizerConfigJson: unknown;
}

const INDEX = 'model.safetensors.index.json';
/** A file by its name, in whatever folder it came. */
function find(files: ReadonlyMap<string, ArrayBuffer>, name: string): ArrayBuffer | null {
  if (files.has(name)) return files.get(name)!;
  for (const [path, bytes] of files) if (path.endsWith(`/${name}`)) return bytes;
  return null;
}

function parseJson(bytes: ArrayBuffer, name: string): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw new UserError(`${name} is not JSON (${messageOf(error)}).`);
  }
}

function readTensors(files: ReadonlyMap<string, ArrayBuffer>): Map<string, StoredTensor> {
  const single = find(files, 'model.safetensors');
  if (single) return readSafetensors(single, 'model.safetensors').tensors;
  const index = find(files, INDEX);
  if (!index) {
    const other = [...files.keys()].find((name) => /\.(bin|pt|pth|gguf|ckpt)$/.test(name));
    throw new UserError(
      `The folder has no model.safetensors.${other ? ` "${other}" is in another format: save the model with transformers' save_pretrained.` : ' Add it, or choose the whole folder.'}`,
    );
  }
  const map = (parseJson(index, INDEX) as { weight_map?: Record<string, string> } | null)?.weight_map;
  if (typeof map !== 'object' || map === null) throw new UserError(`${INDEX} has no "weight_map".`);
  const shards = [...new Set(Object.values(map))];
  const missing = shards.filter((shard) => !find(files, shard));
  if (missing.length)
    throw new UserError(`The folder lacks ${listNames(missing)}, which ${INDEX} names. Add every shard.`);
  const tensors = new Map<string, StoredTensor>();
  for (const shard of shards)
    for (const [name, tensor] of readSafetensors(find(files, shard)!, shard).tensors)
      tensors.set(name, tensor);
  return tensors;
}

function sameBits(a: Float32Array, b: Float32Array): boolean {
  if (a.length !== b.length) return false;
  const [x, y] = [a, b].map((values) => new Uint32Array(values.buffer, values.byteOffset, values.length));
  return x.every((value, i) => value === y[i]);
}

/**
 * Reads a folder of a Llama, Qwen2 or Qwen3 model; half precision becomes float32. Throws a UserError that names what
 * is missing, has the wrong shape or is not described by the configuration.
 */
export function readModelFolder(files: ReadonlyMap<string, ArrayBuffer>): ModelFolder {
  const configBytes = find(files, 'config.json');
  if (!configBytes) throw new UserError('The folder has no config.json. Choose the whole model folder.');
  const config = parseModelConfig(parseJson(configBytes, 'config.json'));
  const tensors = readTensors(files);
  checkTensors(config, tensors, 'config.json');
  const weights: Weights = new Map();
  for (const [name, shape] of tensorShapes(config)) {
    const { data, dtype } = tensors.get(name)!;
    if (!(data instanceof Float32Array))
      throw new UserError(`Tensor "${name}" has the type ${dtype}; weights must be F32, F16 or BF16.`);
    weights.set(name, { shape, data });
  }
  const head = tensors.get('lm_head.weight');
  if (config.tieWordEmbeddings && head?.data instanceof Float32Array) {
    if (!sameBits(head.data, weights.get('model.embed_tokens.weight')!.data))
      throw new UserError(
        'config.json says "tie_word_embeddings": true, but "lm_head.weight" differs from the embedding. Set it to false to keep the head.',
      );
  }
  const optional = (name: string) => {
    const bytes = find(files, name);
    return bytes ? parseJson(bytes, name) : null;
  };
  return {
    config,
    weights,
    tokenizerJson: optional('tokenizer.json'),
    tokenizerConfigJson: optional('tokenizer_config.json'),
  };
}

/** What of a tokenizer goes into a folder. */
export type SavedTokenizer = Pick<Tokenizer, 'special' | 'json' | 'configJson' | 'token'>;

/** A JSON document as transformers writes it. */
export const jsonBytes = (json: unknown): Uint8Array<ArrayBuffer> =>
  new TextEncoder().encode(`${JSON.stringify(json, null, 2)}\n`);

/** `config.json` and `generation_config.json`. */
export function modelDocuments(
  config: ModelConfig,
  tokenizer: SavedTokenizer | null,
  floats: 'F32' | 'F16' | 'BF16',
): Map<string, unknown> {
  const ids = tokenizer?.special ?? { bos: -1, eos: -1, pad: -1 };
  const known = (id: number) => (id < 0 ? null : id);
  return new Map<string, unknown>([
    [
      'config.json',
      {
        ...modelConfigJson(config, ids),
        eos_token_id: known(ids.eos),
        torch_dtype: { F32: 'float32', F16: 'float16', BF16: 'bfloat16' }[floats],
      },
    ],
    [
      'generation_config.json',
      {
        bos_token_id: known(ids.bos),
        eos_token_id: known(ids.eos),
        pad_token_id: known(ids.pad),
        do_sample: true,
        temperature: 1,
      },
    ],
  ]);
}

/** `tokenizer.json`, `tokenizer_config.json` and `special_tokens_map.json`. */
export function tokenizerDocuments(tokenizer: SavedTokenizer): Map<string, unknown> {
  const { bos, eos, pad } = tokenizer.special;
  const named = Object.entries({ bos_token: bos, eos_token: eos, pad_token: pad }).filter(
    ([, id]) => id >= 0,
  );
  return new Map([
    ['tokenizer.json', tokenizer.json],
    ['tokenizer_config.json', tokenizer.configJson],
    ['special_tokens_map.json', Object.fromEntries(named.map(([key, id]) => [key, tokenizer.token(id)]))],
  ]);
}

/**
 * The files of a folder that transformers loads. `extra` adds files of one's own (README.md, recipe.json).
 * Throws if a weight is missing: a checkpoint with holes must never be written.
 */
export function writeModelFolder(model: {
  config: ModelConfig;
  weights: ReadonlyMap<string, { shape: readonly number[]; data: Float32Array }>;
  /** Null leaves the tokenizer files out. */
  tokenizer: SavedTokenizer | null;
  floats?: 'F32' | 'F16' | 'BF16';
  extra?: Readonly<Record<string, string | Uint8Array<ArrayBuffer>>>;
}): Map<string, Uint8Array<ArrayBuffer>> {
  const { config, weights, tokenizer } = model;
  const tensors: Weights = new Map();
  for (const [name, shape] of tensorShapes(config)) {
    const weight = weights.get(name);
    if (!weight) throw new Error(`Internal error: cannot save, weight "${name}" is missing`);
    tensors.set(name, { shape, data: weight.data });
  }
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  const add = (name: string, text: string) => files.set(name, new TextEncoder().encode(text));
  const addJson = (name: string, json: unknown) => files.set(name, jsonBytes(json));
  const floats = model.floats ?? 'F32';
  for (const [name, json] of modelDocuments(config, tokenizer, floats)) addJson(name, json);
  files.set('model.safetensors', writeSafetensors(tensors, { floats }).bytes);
  if (tokenizer) for (const [name, json] of tokenizerDocuments(tokenizer)) addJson(name, json);
  for (const [name, content] of Object.entries(model.extra ?? {}))
    if (typeof content === 'string') add(name, content);
    else files.set(name, content);
  return files;
}
