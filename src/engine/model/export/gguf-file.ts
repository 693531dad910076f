/**
 * A model as one GGUF file, version 3 (ggml's docs/gguf.md), with llama.cpp's names of tensors and metadata. Rows of
 * Llama's q and k go back to the order of neighbouring pairs.
 */
import { jsonBytes, tokenizerDocuments } from '../checkpoint.ts';
import { type ModelConfig, tensorShapes } from '../config.ts';
import { ggufName } from '../gguf-model.ts';
import { halvesToPairs } from '../rotary-rows.ts';
import { type EncodingName, encodedBytes } from './encodings.ts';
import {
  type ExportableModel,
  type ExportedFile,
  type ExportOptions,
  padding,
  type TensorPlan,
  type WeightFile,
  wholeFile,
} from './export-model.ts';
import { ggufVocabulary } from './gguf-vocabulary.ts';

const ALIGNMENT = 32;

/** A metadata value with its GGUF type; lists hold one type. */
export type GgufField =
  | { type: 'u32' | 'i32' | 'f32'; value: number }
  | { type: 'bool'; value: boolean }
  | { type: 'string'; value: string }
  | { type: 'strings'; value: readonly string[] }
  | { type: 'f32s' | 'i32s'; value: readonly number[] };

/** ggml's type numbers, and the `general.file_type` of a file that is mostly of the type. */
const TYPES: Readonly<Record<EncodingName, { type: number; file: number }>> = {
  F32: { type: 0, file: 0 },
  F16: { type: 1, file: 1 },
  Q8_0: { type: 8, file: 7 },
  BF16: { type: 30, file: 32 },
};

/** Matrices as asked; norms and biases in F32; F16 where blocks of 32 do not divide a row. */
function encodingOf(shape: readonly number[], wanted: EncodingName): EncodingName {
  if (shape.length < 2) return 'F32';
  return wanted === 'Q8_0' && shape[shape.length - 1] % 32 !== 0 ? 'F16' : wanted;
}

/** Only Llama's files keep neighbouring pairs; a bias has its rows ordered too. */
function reorderOf(config: ModelConfig, name: string): TensorPlan['reorder'] {
  const rotated = config.architecture === 'llama' && /\.self_attn\.([qk])_proj\./.exec(name)?.[1];
  if (!rotated) return undefined;
  const heads = rotated === 'q' ? config.heads : config.kvHeads;
  return (values) => halvesToPairs(values, heads, config.headDim);
}

export function ggufFiles(
  model: ExportableModel,
  { dtype }: ExportOptions,
  weightFile: WeightFile,
): { files: ExportedFile[]; notes: string[] } {
  const wanted = dtype.toUpperCase() as EncodingName;
  const { config } = model;
  const name = model.name ?? 'model';
  const tensors = [...tensorShapes(config)].map(([from, shape]) => {
    const encoding = encodingOf(shape, wanted);
    const bytes = encodedBytes(shape, encoding);
    return { from, name: ggufName(from), shape, encoding, reorder: reorderOf(config, from), bytes };
  });
  const vocabulary = model.tokenizer && ggufVocabulary(model.tokenizer, config.vocabSize);
  const metadata = new Map<string, GgufField>([
    ...modelFields(config, name, wanted),
    ...(vocabulary?.fields ?? [['tokenizer.ggml.model', { type: 'string', value: 'none' }] as const]),
  ]);
  if (model.chatTemplate)
    metadata.set('tokenizer.chat_template', { type: 'string', value: model.chatTemplate });
  const head = ggufHead(metadata, tensors);
  const mixed = wanted === 'Q8_0' ? tensors.filter(({ encoding }) => encoding === 'F16').length : 0;
  return {
    files: [
      weightFile(`${name.replace(/[^\w.-]+/g, '-')}-${dtype}.gguf`, head, tensors, ALIGNMENT),
      // A vocabulary that GGUF has no kind for goes beside the file, where the importer looks for it.
      ...(model.tokenizer && !vocabulary?.fields
        ? [...tokenizerDocuments(model.tokenizer)].map(([path, json]) => wholeFile(path, jsonBytes(json)))
        : []),
    ],
    notes: [
      ...(vocabulary?.note ? [vocabulary.note] : []),
      ...(mixed > 0
        ? [
            `${mixed} matrices have rows that blocks of 32 do not divide; they are stored as F16, not as Q8_0.`,
          ]
        : []),
    ],
  };
}

function modelFields(config: ModelConfig, name: string, wanted: EncodingName): [string, GgufField][] {
  const { architecture: arch } = config;
  const text = (value: string): GgufField => ({ type: 'string', value });
  const u32 = (value: number): GgufField => ({ type: 'u32', value });
  const f32 = (value: number): GgufField => ({ type: 'f32', value });
  return [
    ['general.architecture', text(arch)],
    ['general.type', text('model')],
    ['general.name', text(name)],
    ['general.alignment', u32(ALIGNMENT)],
    ['general.file_type', u32(TYPES[wanted].file)],
    ['general.quantization_version', u32(2)],
    [`${arch}.block_count`, u32(config.layers)],
    [`${arch}.context_length`, u32(config.maxPositions)],
    [`${arch}.embedding_length`, u32(config.hiddenSize)],
    [`${arch}.feed_forward_length`, u32(config.intermediateSize)],
    [`${arch}.attention.head_count`, u32(config.heads)],
    [`${arch}.attention.head_count_kv`, u32(config.kvHeads)],
    [`${arch}.attention.key_length`, u32(config.headDim)],
    [`${arch}.attention.value_length`, u32(config.headDim)],
    [`${arch}.attention.layer_norm_rms_epsilon`, f32(config.rmsNormEps)],
    [`${arch}.rope.dimension_count`, u32(config.headDim)],
    [`${arch}.rope.freq_base`, f32(config.ropeTheta)],
    [`${arch}.vocab_size`, u32(config.vocabSize)],
  ];
}

const utf8 = (text: string) => new TextEncoder().encode(text);
const number = (bytes: number, set: (view: DataView) => void): Uint8Array => {
  const view = new DataView(new ArrayBuffer(bytes));
  set(view);
  return new Uint8Array(view.buffer);
};
const u32 = (value: number) => number(4, (view) => view.setUint32(0, value, true));
const i32 = (value: number) => number(4, (view) => view.setInt32(0, value, true));
const u64 = (value: number) => number(8, (view) => view.setBigUint64(0, BigInt(value), true));
const f32 = (value: number) => number(4, (view) => view.setFloat32(0, value, true));
const text = (value: string): Uint8Array[] => {
  const bytes = utf8(value);
  return [u64(bytes.length), bytes];
};
const list = (type: number, items: readonly (readonly Uint8Array[])[]) => [
  u32(9),
  u32(type),
  u64(items.length),
  ...items.flat(),
];

/** Type number and value. */
function fieldBytes(field: GgufField): Uint8Array[] {
  switch (field.type) {
    case 'u32':
      return [u32(4), u32(field.value)];
    case 'i32':
      return [u32(5), i32(field.value)];
    case 'f32':
      return [u32(6), f32(field.value)];
    case 'bool':
      return [u32(7), Uint8Array.of(field.value ? 1 : 0)];
    case 'string':
      return [u32(8), ...text(field.value)];
    case 'strings':
      return list(8, field.value.map(text));
    case 'f32s':
      return list(
        6,
        field.value.map((value) => [f32(value)]),
      );
    case 'i32s':
      return list(
        5,
        field.value.map((value) => [i32(value)]),
      );
    default:
      return field satisfies never;
  }
}

/** Everything before the data, padded. */
function ggufHead(
  metadata: ReadonlyMap<string, GgufField>,
  tensors: readonly { name: string; shape: readonly number[]; encoding: EncodingName; bytes: number }[],
): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [utf8('GGUF'), u32(3), u64(tensors.length), u64(metadata.size)];
  for (const [key, field] of metadata) {
    parts.push(...text(key));
    for (const part of fieldBytes(field)) parts.push(part);
  }
  let offset = 0;
  for (const { name, shape, encoding, bytes } of tensors) {
    // Innermost dimension first.
    parts.push(...text(name), u32(shape.length), ...[...shape].reverse().map(u64));
    parts.push(u32(TYPES[encoding].type), u64(offset));
    offset += bytes + padding(bytes, ALIGNMENT);
  }
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const out = new Uint8Array(length + padding(length, ALIGNMENT));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
