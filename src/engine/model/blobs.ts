/** Model files as they come from a drop, a folder or the cache: read piece by piece, never whole. */
import { UserError } from '../../base/assert.ts';
import type { WeightArray } from './decoder.ts';

export interface NamedBlob {
  /** Path inside what was dropped, `/` between folders. */
  path: string;
  blob: Blob;
}

/** What reading a model reports, and how it is stopped. */
export interface ReadOptions {
  /** Bytes of weights read so far, and of all. */
  progress?(done: number, all: number): void;
  signal?: AbortSignal;
}

/** How many bytes are asked for at once. Each piece is decoded and dropped before the next is read. */
const PIECE = 8 * 2 ** 20;

export const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** @throws UserError if the file is shorter than it said it was, or gone */
export async function readBytes(
  { path, blob }: NamedBlob,
  begin: number,
  end: number,
): Promise<Uint8Array<ArrayBuffer>> {
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = new Uint8Array(await blob.slice(begin, end).arrayBuffer());
  } catch {
    throw new UserError(
      `${nameOf(path)} can't be read any more: it was moved, changed or removed meanwhile. Choose it again.`,
    );
  }
  if (bytes.length !== end - begin)
    throw new UserError(
      `${nameOf(path)} is cut off: it ends at byte ${begin + bytes.length}, but byte ${end} is needed. Copy or download it again.`,
    );
  return bytes;
}

/** How the values of a tensor lie in a file: blocks of `bytes` bytes that hold `values` values each. */
export interface BlockFormat {
  bytes: number;
  values: number;
  /** Writes the values of whole blocks to `out` from `at` on. */
  decode(bytes: Uint8Array<ArrayBuffer>, out: Float32Array, at: number): void;
}

/** A tensor in a file, not yet read. */
export interface TensorPlace {
  file: NamedBlob;
  begin: number;
  shape: readonly number[];
  format: BlockFormat;
  /** Called with the finished values, for formats that order rows differently. */
  reorder?(values: Float32Array): Float32Array;
}

const countOf = (shape: readonly number[]) => shape.reduce((a, b) => a * b, 1);

export function placeBytes({ shape, format }: TensorPlace): number {
  return (countOf(shape) / format.values) * format.bytes;
}

/** Reads tensors one after the other; at most one piece of a file is in memory beside the result. */
export async function readPlaces(
  places: ReadonlyMap<string, TensorPlace>,
  { progress, signal }: ReadOptions = {},
): Promise<Map<string, WeightArray>> {
  const all = [...places.values()].reduce((sum, place) => sum + placeBytes(place), 0);
  let done = 0;
  const weights = new Map<string, WeightArray>();
  for (const [name, place] of places) {
    const { bytes, values, decode } = place.format;
    let data = allocate(name, countOf(place.shape));
    const blocks = data.length / values;
    const step = Math.max(1, Math.floor(PIECE / bytes));
    for (let block = 0; block < blocks; block += step) {
      signal?.throwIfAborted();
      const last = Math.min(blocks, block + step);
      const piece = await readBytes(place.file, place.begin + block * bytes, place.begin + last * bytes);
      decode(piece, data, block * values);
      done += piece.length;
      progress?.(done, all);
    }
    if (place.reorder) data = place.reorder(data);
    weights.set(name, { shape: place.shape, data });
  }
  return weights;
}

function allocate(name: string, count: number): Float32Array {
  try {
    return new Float32Array(count);
  } catch {
    throw new UserError(
      `There is no room for tensor "${name}" (${Math.ceil((count * 4) / 2 ** 20).toLocaleString('en')} MiB). Close other pages, or use a smaller model.`,
    );
  }
}

/** Whether a file may be part of a model, as opposed to data. */
export function isModelFile(path: string): boolean {
  return /(^|\/)(config|generation_config|tokenizer|tokenizer_config|special_tokens_map|added_tokens|vocab|adapter_config)\.json$|\.safetensors(\.index\.json)?$|\.(gguf|bin|pth|pt|ckpt)$|(^|\/)(chat_template\.(jinja|json)|merges\.txt)$/i.test(
    path,
  );
}
