/** A Hugging Face folder read piece by piece: configuration, safetensors (sharded or not), tokenizer, chat template. */
import { messageOf, UserError } from '../../base/assert.ts';
import { type NamedBlob, nameOf, readBytes, type TensorPlace } from './blobs.ts';
import { type ModelConfig, parseModelConfig } from './config.ts';
import { BF16, F16, F32 } from './float-blocks.ts';
import { safetensorsHeaderLength, safetensorsRanges } from './safetensors.ts';
import { checkTensors, listNames } from './tensor-check.ts';

const INDEX = 'model.safetensors.index.json';
/** No tokenizer or configuration comes near this. */
const MAX_JSON = 256 * 2 ** 20;
const FORMATS: Readonly<Record<string, TensorPlace['format']>> = { F32, F16, BF16 };

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The files of one folder, by name: that of the shallowest file with this name. */
export function folderOf(files: readonly NamedBlob[], name: string): Map<string, NamedBlob> | null {
  const depth = (path: string) => path.split('/').length;
  const anchor = files
    .filter(({ path }) => nameOf(path) === name)
    .sort((a, b) => depth(a.path) - depth(b.path))[0];
  if (!anchor) return null;
  const folder = anchor.path.slice(0, -name.length);
  return new Map(
    files
      .filter(({ path }) => path.startsWith(folder) && !path.slice(folder.length).includes('/'))
      .map((file) => [nameOf(file.path), file]),
  );
}

export async function readText(file: NamedBlob): Promise<string> {
  if (file.blob.size > MAX_JSON)
    throw new UserError(`${nameOf(file.path)} is larger than such a file ever is. Choose the right one.`);
  const bytes = await readBytes(file, 0, file.blob.size);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new UserError(`${nameOf(file.path)} is no UTF-8 text. Copy or download it again.`);
  }
}

export async function readJson(file: NamedBlob): Promise<unknown> {
  const text = await readText(file);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UserError(`${nameOf(file.path)} is not JSON (${messageOf(error)}).`);
  }
}

export async function optionalJson(files: ReadonlyMap<string, NamedBlob>, name: string): Promise<unknown> {
  const file = files.get(name);
  return file ? readJson(file) : null;
}

/** The tensors of one safetensors file, not yet read. */
async function placesOf(file: NamedBlob): Promise<Map<string, TensorPlace>> {
  const name = nameOf(file.path);
  const { size } = file.blob;
  const length = safetensorsHeaderLength(await readBytes(file, 0, Math.min(8, size)), size, name);
  const start = 8 + length;
  const { ranges } = safetensorsRanges(await readBytes(file, 8, start), size - start, name);
  const places = new Map<string, TensorPlace>();
  for (const { name: tensor, dtype, shape, begin } of ranges) {
    const format = FORMATS[dtype];
    if (format) places.set(tensor, { file, begin: start + begin, shape, format });
    else if (!tensor.endsWith('.rotary_emb.inv_freq'))
      throw new UserError(
        `${name}: tensor "${tensor}" has the type ${dtype}; weights must be F32, F16 or BF16. Use the model without quantisation.`,
      );
  }
  return places;
}

async function weightPlaces(files: ReadonlyMap<string, NamedBlob>): Promise<Map<string, TensorPlace>> {
  const index = files.get(INDEX);
  // Both are there in some repositories; the single file is whole by itself.
  const single = files.get('model.safetensors');
  if (single) return placesOf(single);
  const places = new Map<string, TensorPlace>();
  if (!index) {
    const loose = [...files.values()].filter(({ path }) => path.endsWith('.safetensors'));
    if (loose.length === 0) throw new UserError(noWeights([...files.keys()]));
    if (loose.length > 1)
      throw new UserError(
        `The folder has ${loose.length} safetensors files, but no ${INDEX}, which says what each holds. Add it.`,
      );
    return placesOf(loose[0]);
  }
  const json = await readJson(index);
  const map = isObject(json) ? json.weight_map : null;
  if (!isObject(map)) throw new UserError(`${INDEX} has no "weight_map".`);
  const shards = [...new Set(Object.values(map).map(String))];
  const missing = shards.filter((shard) => !files.has(shard));
  if (missing.length)
    throw new UserError(`The folder lacks ${listNames(missing)}, which ${INDEX} names. Add every shard.`);
  for (const shard of shards)
    for (const [name, place] of await placesOf(files.get(shard)!)) {
      if (places.has(name))
        throw new UserError(`Tensor "${name}" is in two shards. The shards do not belong together.`);
      places.set(name, place);
    }
  return places;
}

function noWeights(names: readonly string[]): string {
  const other = names.find((name) => /\.(bin|pt|pth|ckpt|h5|msgpack|onnx)$/.test(name));
  return `The folder has no model.safetensors.${
    other
      ? ` "${other}" is in another format: save the model with transformers' save_pretrained.`
      : ' Add it, or choose the whole folder.'
  }`;
}

/** Why a configuration's weights can't be used, for those that are quantised. */
function refuseQuantised(json: unknown): void {
  const quantisation = isObject(json) ? json.quantization_config : null;
  if (!isObject(quantisation)) return;
  const method = String(quantisation.quant_method ?? 'unknown');
  throw new UserError(
    `The model is quantised (${method}), which can't be trained. Use the original model, or its GGUF file.`,
  );
}

export interface HfFolder {
  config: ModelConfig;
  configJson: Record<string, unknown>;
  places: Map<string, TensorPlace>;
  /** Both heads are there although the configuration ties them: they must be compared. */
  doubleHead: TensorPlace | null;
}

/** @throws UserError that names what is missing, cut off, of the wrong shape or not supported */
export async function hfFolder(files: ReadonlyMap<string, NamedBlob>): Promise<HfFolder> {
  const configJson = await readJson(files.get('config.json')!);
  refuseQuantised(configJson);
  const config = parseModelConfig(configJson);
  const places = await weightPlaces(files);
  checkTensors(config, places, 'config.json');
  const doubleHead = (config.tieWordEmbeddings && places.get('lm_head.weight')) || null;
  if (doubleHead) places.delete('lm_head.weight');
  for (const name of places.keys()) if (name.endsWith('.rotary_emb.inv_freq')) places.delete(name);
  return { config, configJson: configJson as Record<string, unknown>, places, doubleHead };
}
