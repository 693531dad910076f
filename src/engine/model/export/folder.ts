/** A model as the folder that transformers loads: documents, and safetensors in one file or in shards with an index. */
import { jsonBytes, modelDocuments, tokenizerDocuments } from '../checkpoint.ts';
import { tensorShapes } from '../config.ts';
import { safetensorsHead } from '../safetensors.ts';
import { encodedBytes } from './encodings.ts';
import {
  type ExportableModel,
  type ExportedFile,
  type ExportOptions,
  type TensorPlan,
  type WeightFile,
  wholeFile,
} from './export-model.ts';

const SHARD_BYTES = 2e9;

type Dtype = 'F32' | 'F16' | 'BF16';
type Planned = TensorPlan & { bytes: number; dtype: Dtype };

/** Tensors in file order, cut where the next would not fit; one that is larger than a shard has one of its own. */
function shardsOf(tensors: readonly Planned[], limit: number): Planned[][] {
  const shards: Planned[][] = [[]];
  let filled = 0;
  for (const tensor of tensors) {
    if (filled > 0 && filled + tensor.bytes > limit) {
      shards.push([]);
      filled = 0;
    }
    shards[shards.length - 1].push(tensor);
    filled += tensor.bytes;
  }
  return shards;
}

export function folderFiles(
  model: ExportableModel,
  { dtype, shardBytes = SHARD_BYTES }: ExportOptions,
  weightFile: WeightFile,
): { files: ExportedFile[]; notes: string[] } {
  const floats = dtype.toUpperCase() as Dtype;
  const tensors = [...tensorShapes(model.config)].map(
    ([name, shape]): Planned => ({
      from: name,
      name,
      shape,
      encoding: floats,
      dtype: floats,
      bytes: encodedBytes(shape, floats),
    }),
  );
  const json = (documents: Map<string, unknown>) =>
    [...documents].map(([path, document]) => wholeFile(path, jsonBytes(document)));
  return {
    files: [
      ...json(modelDocuments(model.config, model.tokenizer, floats)),
      ...weightFiles(shardsOf(tensors, shardBytes), weightFile),
      ...(model.tokenizer ? json(tokenizerDocuments(model.tokenizer)) : []),
      ...(model.chatTemplate
        ? [wholeFile('chat_template.jinja', new TextEncoder().encode(model.chatTemplate))]
        : []),
    ],
    notes: [],
  };
}

function weightFiles(shards: readonly Planned[][], weightFile: WeightFile): ExportedFile[] {
  if (shards.length === 1) return [weightFile('model.safetensors', safetensorsHead(shards[0]), shards[0])];
  const digits = (n: number) => String(n).padStart(5, '0');
  const path = (i: number) => `model-${digits(i + 1)}-of-${digits(shards.length)}.safetensors`;
  const index = {
    metadata: { total_size: shards.flat().reduce((sum, { bytes }) => sum + bytes, 0) },
    weight_map: Object.fromEntries(shards.flatMap((shard, i) => shard.map(({ name }) => [name, path(i)]))),
  };
  return [
    ...shards.map((shard, i) => weightFile(path(i), safetensorsHead(shard), shard)),
    wholeFile('model.safetensors.index.json', jsonBytes(index)),
  ];
}
