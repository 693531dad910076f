/**
 * One door for models that leave: a Hugging Face folder or a GGUF file. Files come as chunks, one tensor after the
 * other, so that beside the model itself only one tensor and one chunk of it are in memory.
 */
import { UserError, unreachable } from '../../../base/assert.ts';
import type { SavedTokenizer } from '../checkpoint.ts';
import { type ModelConfig, tensorShapes } from '../config.ts';
import { countOf, type EncodingName, encodeTensor, type Tally } from './encodings.ts';
import { folderFiles } from './folder.ts';
import { ggufFiles } from './gguf-file.ts';

export interface ExportableModel {
  config: ModelConfig;
  /** The values of a weight by its Hugging Face name; each is asked for when it is written. */
  read(name: string): Float32Array | Promise<Float32Array>;
  /** Null leaves the tokenizer out. */
  tokenizer: SavedTokenizer | null;
  /** The Jinja template of its chats. */
  chatTemplate?: string | null;
  /** What the person calls it; also the name of a GGUF file. */
  name?: string;
}

export interface ExportOptions {
  format: 'huggingface' | 'gguf';
  /** Of matrices. In GGUF files everything of one dimension stays F32, and what blocks of 32 do not divide F16. */
  dtype: 'f32' | 'f16' | 'bf16' | 'q8_0';
  /** Bytes of weights above which a folder is written in several files; 2 GB if not given. */
  shardBytes?: number;
}

export interface ExportedFile {
  path: string;
  bytes: number;
  /** The file from its beginning; may be asked for again. */
  chunks(): AsyncIterable<Uint8Array<ArrayBuffer>>;
}

export interface ModelExport {
  files: ExportedFile[];
  /** What the person should know; whole when every file has been read to its end. */
  report(): { overflows: number; notes: string[] };
}

/** How a tensor is written: under which name, as what, and with its rows in which order. */
export interface TensorPlan {
  /** Hugging Face's name, by which it is read. */
  from: string;
  name: string;
  /** Outermost first. */
  shape: readonly number[];
  encoding: EncodingName;
  reorder?(values: Float32Array): Float32Array;
}

/** @throws UserError for a pair of format and number type that does not exist; what `read` throws, while reading */
export function exportModel(model: ExportableModel, options: ExportOptions): ModelExport {
  if (options.format === 'huggingface' && options.dtype === 'q8_0')
    throw new UserError('Q8_0 exists in GGUF files only. Choose GGUF, or bf16 for a Hugging Face folder.');
  const tallies: Tally[] = [];
  const weightFile: WeightFile = (path, head, tensors, align = 1) => {
    const tally = { clamped: 0, notFinite: 0 };
    tallies.push(tally);
    return streamed(model, path, head, tensors, align, tally);
  };
  const { format } = options;
  const { files, notes } =
    format === 'huggingface'
      ? folderFiles(model, options, weightFile)
      : format === 'gguf'
        ? ggufFiles(model, options, weightFile)
        : unreachable(format);
  return {
    files,
    report() {
      const sum = (key: keyof Tally) => tallies.reduce((all, tally) => all + tally[key], 0);
      return { overflows: sum('clamped'), notes: [...notes, ...said(sum, options.dtype)] };
    },
  };
}

function said(sum: (key: keyof Tally) => number, dtype: ExportOptions['dtype']): string[] {
  const [over, broken] = [sum('clamped'), sum('notFinite')];
  const count = (n: number) => `${n.toLocaleString('en')} ${n === 1 ? 'weight was' : 'weights were'}`;
  const largest = dtype === 'f16' ? ' (65,504)' : '';
  const kept = dtype === 'q8_0' ? 'where Q8_0 has no such value they were written as 0' : 'they were kept';
  return [
    ...(over > 0
      ? [
          `${count(over)} too large for ${dtype} and became the largest number that it has${largest}: the exported model may answer differently. Export as ${dtype === 'bf16' ? 'f32' : 'bf16 or f32'} instead.`,
        ]
      : []),
    ...(broken > 0
      ? [
          `${count(broken)} no finite numbers (NaN or infinite), ${kept}: the model is damaged. Go back to an earlier checkpoint.`,
        ]
      : []),
  ];
}

/** @param align every tensor but the last is followed by zeros up to a multiple of this, and the last one too */
export type WeightFile = (
  path: string,
  head: Uint8Array<ArrayBuffer>,
  tensors: readonly (TensorPlan & { bytes: number })[],
  align?: number,
) => ExportedFile;

export const padding = (bytes: number, align: number): number => (align - (bytes % align)) % align;

function streamed(
  model: ExportableModel,
  path: string,
  head: Uint8Array<ArrayBuffer>,
  tensors: readonly (TensorPlan & { bytes: number })[],
  align: number,
  tally: Tally,
): ExportedFile {
  return {
    path,
    bytes: tensors.reduce((sum, { bytes }) => sum + bytes + padding(bytes, align), head.length),
    async *chunks() {
      Object.assign(tally, { clamped: 0, notFinite: 0 }); // a file that is read again is counted once
      yield head.slice();
      for (const { from, shape, encoding, reorder, bytes } of tensors) {
        let values = await model.read(from);
        if (values.length !== countOf(shape))
          throw new Error(`Internal error: weight "${from}" of shape [${shape}] has ${values.length} values`);
        if (reorder) values = reorder(values);
        // A copy where the chunk is a view of the weights: whoever gets it may transfer it.
        for (const piece of encodeTensor(values, encoding, tally))
          yield piece.buffer === values.buffer ? piece.slice() : piece;
        const rest = padding(bytes, align);
        if (rest > 0) yield new Uint8Array(rest);
      }
    },
  };
}

/** A file that is there at once. */
export const wholeFile = (path: string, bytes: Uint8Array<ArrayBuffer>): ExportedFile => ({
  path,
  bytes: bytes.length,
  async *chunks() {
    yield bytes.slice();
  },
});

/** A model whose weights lie in memory. Throws if one is missing: a file with holes must never be written. */
export function readFrom(
  config: ModelConfig,
  weights: ReadonlyMap<string, { data: Float32Array }>,
): ExportableModel['read'] {
  for (const name of tensorShapes(config).keys())
    if (!weights.has(name)) throw new Error(`Internal error: cannot export, weight "${name}" is missing`);
  return (name) => weights.get(name)!.data;
}

/** All bytes of a file, for small ones and tests. */
export async function fileBytes(file: ExportedFile): Promise<Uint8Array<ArrayBuffer>> {
  const out = new Uint8Array(file.bytes);
  let at = 0;
  for await (const chunk of file.chunks()) {
    out.set(chunk, at);
    at += chunk.length;
  }
  if (at !== file.bytes) throw new Error(`Internal error: ${file.path} has ${at} bytes, not ${file.bytes}`);
  return out;
}
