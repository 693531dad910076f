/**
 * One door for models from elsewhere: a Hugging Face folder (dropped flat or nested), a GGUF file, or llama2.c's `.bin`.
 * Weights are read slice by slice and become float32, which is what the decoder computes and trains in.
 */
import { UserError } from '../../base/assert.ts';
import { ggufTokenizerDocuments } from '../tokenizer/gguf-tokenizer.ts';
import type { TokenizerDocuments } from '../tokenizer/task-tokenizer.ts';
import {
  type NamedBlob,
  nameOf,
  placeBytes,
  type ReadOptions,
  readPlaces,
  type TensorPlace,
} from './blobs.ts';
import type { ModelConfig } from './config.ts';
import type { WeightArray } from './decoder.ts';
import { isGguf, readGguf } from './gguf.ts';
import { ggufModel } from './gguf-model.ts';
import { folderOf, hfFolder, isObject, optionalJson, readText } from './hf-folder.ts';
import { readLlama2c, readLlama2cTokenizer } from './llama2c.ts';

export type ModelFormat = 'huggingface' | 'gguf' | 'llama2c';

export interface ImportedModel {
  format: ModelFormat;
  config: ModelConfig;
  weights: Map<string, WeightArray>;
  /** `tokenizer.json` and `tokenizer_config.json`, parsed, or null if no tokenizer came with the model. */
  tokenizer: TokenizerDocuments | null;
  /** The Jinja template of the model's chats, or null. */
  chatTemplate: string | null;
  /** What the person should know, in sentences. */
  notes: string[];
  /** Bytes of weights as they were stored. */
  bytes: number;
}

/** @throws UserError that names the file, the fault and the way out; the signal's reason when it is aborted */
export async function importModel(
  files: readonly NamedBlob[],
  options: ReadOptions = {},
): Promise<ImportedModel> {
  if (files.length === 0) throw new UserError('No file was chosen.');
  for (const file of files) if (await isGguf(file)) return importGguf(file, files, options);
  const folder = folderOf(files, 'config.json');
  if (folder) return importFolder(folder, options);
  const bin = await importLlama2c(files, options);
  if (bin) return bin;
  throw new UserError(notAModel(files));
}

function notAModel(files: readonly NamedBlob[]): string {
  const names = files.map(({ path }) => nameOf(path));
  if (names.includes('adapter_config.json'))
    return 'This is a LoRA adapter, which is no model by itself. Drop it together with its base model, merged into one folder.';
  const pickled = names.find((name) => /^pytorch_model.*\.bin$|\.(pt|pth|ckpt)$/.test(name));
  if (pickled)
    return `${pickled} is a PyTorch pickle, which a page must not open. Save the model with transformers' save_pretrained, which writes safetensors.`;
  if (names.some((name) => name.endsWith('.gguf')))
    return `${names.find((name) => name.endsWith('.gguf'))} is not a GGUF file: it does not begin with "GGUF". Copy or download it again.`;
  if (names.some((name) => name.endsWith('.safetensors')))
    return 'The folder has no config.json. Choose the whole model folder.';
  return `No model was found in ${names.slice(0, 3).join(', ')}. Polypath reads Hugging Face folders (config.json with safetensors), GGUF files and llama2.c's .bin.`;
}

const byteSum = (places: ReadonlyMap<string, TensorPlace>) =>
  [...places.values()].reduce((sum, place) => sum + placeBytes(place), 0);

async function importGguf(
  file: NamedBlob,
  files: readonly NamedBlob[],
  options: ReadOptions,
): Promise<ImportedModel> {
  const gguf = await readGguf(file, options.signal);
  if (/-\d{5}-of-\d{5}\.gguf$/.test(file.path) && (gguf.metadata.get('split.count') ?? 1) !== 1)
    throw new UserError(`${nameOf(file.path)} is one part of a split model. Use one that is a single file.`);
  const { config, places } = ggufModel(gguf, file.path);
  // Documents that lie beside the file are the model's own; those in the file were converted.
  const beside = await tokenizerBeside(files);
  const tokenizer = beside?.documents ?? ggufTokenizerDocuments(gguf.metadata);
  const template = gguf.metadata.get('tokenizer.chat_template');
  const kinds = new Set([...gguf.tensors.values()].map(({ type }) => type));
  const quantised = [...kinds].filter((kind) => kind.startsWith('Q'));
  return finish({
    format: 'gguf',
    config,
    weights: await readPlaces(places, options),
    tokenizer,
    chatTemplate: beside?.chatTemplate ?? (typeof template === 'string' ? template : null),
    notes: quantised.length
      ? [`The weights were stored as ${quantised.join(', ')}; training starts from their rounded values.`]
      : [],
    bytes: byteSum(places),
  });
}

async function importFolder(
  folder: ReadonlyMap<string, NamedBlob>,
  options: ReadOptions,
): Promise<ImportedModel> {
  const { config, configJson, places, doubleHead } = await hfFolder(folder);
  const beside = await tokenizerBeside([...folder.values()], configJson);
  const weights = await readPlaces(places, options);
  if (doubleHead) {
    const head = (await readPlaces(new Map([['lm_head.weight', doubleHead]]))).get('lm_head.weight')!;
    if (!sameValues(head.data, weights.get('model.embed_tokens.weight')!.data))
      throw new UserError(
        'config.json says "tie_word_embeddings": true, but "lm_head.weight" differs from the embedding. Set it to false to keep the head.',
      );
  }
  return finish({
    format: 'huggingface',
    config,
    weights,
    tokenizer: beside?.documents ?? null,
    chatTemplate: beside?.chatTemplate ?? null,
    notes: [],
    bytes: byteSum(places),
  });
}

async function importLlama2c(
  files: readonly NamedBlob[],
  options: ReadOptions,
): Promise<ImportedModel | null> {
  const bins = files.filter(({ path }) => path.endsWith('.bin')).sort((a, b) => b.blob.size - a.blob.size);
  for (const file of bins) {
    const model = await readLlama2c(file);
    if (!model) continue;
    let tokenizer: TokenizerDocuments | null = (await tokenizerBeside(files))?.documents ?? null;
    for (const other of bins)
      if (other !== file) tokenizer ??= await readLlama2cTokenizer(other, model.config.vocabSize);
    return finish({
      format: 'llama2c',
      config: model.config,
      weights: await readPlaces(model.places, options),
      tokenizer,
      chatTemplate: null,
      notes: [],
      bytes: byteSum(model.places),
    });
  }
  return null;
}

function sameValues(a: Float32Array, b: Float32Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!Object.is(a[i], b[i])) return false;
  return true;
}

/** The documents of a folder, with what its config.json says about the end of a text where they don't. */
async function tokenizerBeside(
  files: readonly NamedBlob[],
  modelConfig: Record<string, unknown> = {},
): Promise<{ documents: TokenizerDocuments; chatTemplate: string | null } | null> {
  const folder = folderOf(files, 'tokenizer.json');
  if (!folder) return null;
  const json = await optionalJson(folder, 'tokenizer.json');
  const stored = await optionalJson(folder, 'tokenizer_config.json');
  const configJson = isObject(stored) ? { ...stored } : {};
  const generation = await optionalJson(folder, 'generation_config.json');
  const names = tokenNames(json);
  for (const key of ['eos', 'bos', 'pad'] as const) {
    if (configJson[`${key}_token`]) continue;
    const value =
      modelConfig[`${key}_token_id`] ?? (isObject(generation) ? generation[`${key}_token_id`] : null);
    const id = Array.isArray(value) ? value[0] : value;
    if (typeof id === 'number' && names.has(id)) configJson[`${key}_token`] = names.get(id);
  }
  const jinja = folder.get('chat_template.jinja');
  const templateJson = await optionalJson(folder, 'chat_template.json');
  const chatTemplate = jinja
    ? await readText(jinja)
    : (templateOf(configJson.chat_template) ??
      templateOf(isObject(templateJson) ? templateJson.chat_template : null));
  return { documents: { json, configJson }, chatTemplate };
}

/** Some configurations hold several templates by name. */
function templateOf(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return null;
  const named = value.filter(isObject);
  const chosen = named.find(({ name }) => name === 'default') ?? named[0];
  return typeof chosen?.template === 'string' ? chosen.template : null;
}

function tokenNames(json: unknown): Map<number, string> {
  const names = new Map<number, string>();
  if (!isObject(json)) return names;
  const vocab = isObject(json.model) ? json.model.vocab : null;
  if (isObject(vocab)) for (const [token, id] of Object.entries(vocab)) names.set(Number(id), token);
  if (Array.isArray(vocab)) for (const [id, entry] of vocab.entries()) names.set(id, String(entry?.[0]));
  if (Array.isArray(json.added_tokens))
    for (const token of json.added_tokens)
      if (isObject(token) && typeof token.content === 'string') names.set(Number(token.id), token.content);
  return names;
}

function finish(model: ImportedModel): ImportedModel {
  let broken = 0;
  for (const { data } of model.weights.values())
    for (let i = 0; i < data.length; i++) if (!Number.isFinite(data[i])) broken++;
  if (broken > 0)
    model.notes.push(
      `${broken.toLocaleString('en')} weights are not finite numbers (NaN or infinite): the file is damaged, or the model was saved after a failed training.`,
    );
  if (!model.tokenizer) return model;
  const largest = [...tokenNames(model.tokenizer.json).keys()].reduce((a, b) => Math.max(a, b), -1);
  if (largest >= model.config.vocabSize)
    throw new UserError(
      `The tokenizer has tokens up to number ${largest}, but the model's vocabulary ends at ${model.config.vocabSize - 1}. The files do not belong together.`,
    );
  return model;
}
