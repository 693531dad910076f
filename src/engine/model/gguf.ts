/**
 * The GGUF container (versions 2 and 3): magic, counts, typed metadata, tensor descriptions, then aligned data. Only
 * the head is parsed here. Every claimed count is held against the bytes that are there before anything is allocated.
 */
import { UserError } from '../../base/assert.ts';
import { type NamedBlob, nameOf, readBytes, type TensorPlace } from './blobs.ts';
import { GGUF_FORMATS, OTHER_GGUF_TYPES } from './gguf-blocks.ts';

export type GgufValue = number | boolean | string | GgufValue[];

export interface Gguf {
  metadata: ReadonlyMap<string, GgufValue>;
  /** By GGUF name; shapes are outermost first, as in PyTorch. */
  tensors: ReadonlyMap<string, TensorPlace & { type: string }>;
}

const MAGIC = 0x46554747;
/** No tokenizer comes near this. */
const MAX_HEAD = 256 * 2 ** 20;
const FIRST_READ = 2 ** 20;
const MAX_DIMENSIONS = 4;
/** Lists of lists deeper than this are no metadata of a model. */
const MAX_DEPTH = 4;
const MAX_TENSOR_VALUES = 2 ** 31;

/** Bytes of each scalar type, by GGUF's number; 8 is a string, 9 a list. */
const SCALAR_BYTES: Readonly<Record<number, number>> = {
  0: 1,
  1: 1,
  2: 2,
  3: 2,
  4: 4,
  5: 4,
  6: 4,
  7: 1,
  10: 8,
  11: 8,
  12: 8,
};
const STRING = 8;
const LIST = 9;

/** More of the file is needed. */
class Short extends Error {}

class Cursor {
  at = 0;
  private readonly view: DataView;

  constructor(
    private readonly bytes: Uint8Array<ArrayBuffer>,
    /** Bytes of the whole file. */
    private readonly size: number,
    private readonly file: string,
  ) {
    this.view = new DataView(bytes.buffer);
  }

  refuse(reason: string): never {
    throw new UserError(`${this.file} is not a readable GGUF file: ${reason}. Copy or download it again.`);
  }

  /** @returns the place of the next `count` bytes */
  take(count: number): number {
    if (this.at + count > this.size)
      this.refuse(
        `it is cut off inside its header (${this.size} bytes, the header needs at least ${this.at + count})`,
      );
    if (this.at + count > this.bytes.length) throw new Short();
    const at = this.at;
    this.at += count;
    return at;
  }

  u32 = (): number => this.view.getUint32(this.take(4), true);

  u64(): number {
    const value = this.view.getBigUint64(this.take(8), true);
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) this.refuse(`it claims a count of ${value}`);
    return Number(value);
  }

  string(): string {
    const length = this.u64();
    const at = this.take(length);
    // Not fatal: some tokenizers hold pieces that are no whole characters.
    return new TextDecoder().decode(this.bytes.subarray(at, at + length));
  }

  value(type: number, depth = 0): GgufValue {
    if (type === STRING) return this.string();
    if (type === LIST) {
      if (depth >= MAX_DEPTH) this.refuse('its metadata holds lists within lists');
      const inner = this.u32();
      const count = this.u64();
      const least = inner === STRING ? 8 : inner === LIST ? 12 : SCALAR_BYTES[inner];
      if (least === undefined) this.refuse(`its metadata holds a list of the unknown type ${inner}`);
      this.take(count * least);
      this.at -= count * least;
      return Array.from({ length: count }, () => this.value(inner, depth + 1));
    }
    const bytes = SCALAR_BYTES[type];
    if (bytes === undefined) this.refuse(`its metadata holds the unknown type ${type}`);
    return this.scalar(type, this.take(bytes));
  }

  private scalar(type: number, at: number): number | boolean {
    const { view } = this;
    switch (type) {
      case 0:
        return view.getUint8(at);
      case 1:
        return view.getInt8(at);
      case 2:
        return view.getUint16(at, true);
      case 3:
        return view.getInt16(at, true);
      case 4:
        return view.getUint32(at, true);
      case 5:
        return view.getInt32(at, true);
      case 6:
        return view.getFloat32(at, true);
      case 7:
        return view.getUint8(at) !== 0;
      case 10:
        return Number(view.getBigUint64(at, true));
      case 11:
        return Number(view.getBigInt64(at, true));
      default:
        return view.getFloat64(at, true);
    }
  }
}

/** Whether a file begins as a GGUF file does. */
export async function isGguf(file: NamedBlob): Promise<boolean> {
  if (file.blob.size < 4) return false;
  return new DataView((await readBytes(file, 0, 4)).buffer).getUint32(0, true) === MAGIC;
}

/** Reads the head of a GGUF file. Throws a UserError that names what is wrong. */
export async function readGguf(file: NamedBlob, signal?: AbortSignal): Promise<Gguf> {
  const { size } = file.blob;
  for (let length = Math.min(size, FIRST_READ); ; length = Math.min(size, length * 4)) {
    signal?.throwIfAborted();
    const cursor = new Cursor(await readBytes(file, 0, length), size, nameOf(file.path));
    try {
      return parse(cursor, file);
    } catch (error) {
      if (!(error instanceof Short)) throw error;
      if (length >= MAX_HEAD) cursor.refuse('its header is larger than that of any model');
    }
  }
}

function parse(cursor: Cursor, file: NamedBlob): Gguf {
  if (cursor.u32() !== MAGIC) cursor.refuse('it does not begin with "GGUF"');
  const version = cursor.u32();
  if (version !== 2 && version !== 3)
    cursor.refuse(
      version > 0xffff
        ? 'it is written for big-endian machines'
        : `it has version ${version}, and this page reads versions 2 and 3`,
    );
  const tensorCount = cursor.u64();
  const metadataCount = cursor.u64();
  // The shortest entries: a tensor's name, dimension count, type and offset; a pair's name, type and value.
  cursor.take(tensorCount * 24 + metadataCount * 13);
  cursor.at -= tensorCount * 24 + metadataCount * 13;
  const metadata = new Map<string, GgufValue>();
  for (let i = 0; i < metadataCount; i++) {
    const key = cursor.string();
    metadata.set(key, cursor.value(cursor.u32()));
  }
  const described: { name: string; shape: number[]; type: number; offset: number }[] = [];
  for (let i = 0; i < tensorCount; i++) {
    const name = cursor.string();
    const dimensions = cursor.u32();
    if (dimensions > MAX_DIMENSIONS) cursor.refuse(`tensor "${name}" has ${dimensions} dimensions`);
    const shape = Array.from({ length: dimensions }, () => cursor.u64()).reverse();
    described.push({ name, shape, type: cursor.u32(), offset: cursor.u64() });
  }
  const alignment = metadata.get('general.alignment') ?? 32;
  if (typeof alignment !== 'number' || alignment < 1 || !Number.isSafeInteger(alignment))
    cursor.refuse(`its alignment is ${JSON.stringify(alignment)}`);
  const start = Math.ceil(cursor.at / alignment) * alignment;
  const tensors = new Map<string, TensorPlace & { type: string }>();
  for (const { name, shape, type, offset } of described) {
    const known = GGUF_FORMATS[type];
    if (!known)
      throw new UserError(
        `${nameOf(file.path)}: tensor "${name}" has the type ${OTHER_GGUF_TYPES[type] ?? `number ${type}`}. This page reads ${Object.values(
          GGUF_FORMATS,
        )
          .map((one) => one.name)
          .join(', ')}: take another quantisation of the model.`,
      );
    const values = shape.reduce((a, b) => a * b, 1);
    const { format } = known;
    if (values > MAX_TENSOR_VALUES || (shape.at(-1) ?? 1) % format.values !== 0)
      cursor.refuse(`tensor "${name}" of type ${known.name} has the impossible shape [${shape}]`);
    const begin = start + offset;
    const end = begin + (values / format.values) * format.bytes;
    if (end > file.blob.size)
      cursor.refuse(
        `tensor "${name}" ends at byte ${end}, but the file has ${file.blob.size}: it is cut off`,
      );
    if (tensors.has(name)) cursor.refuse(`tensor "${name}" is there twice`);
    tensors.set(name, { file, begin, shape, format, type: known.name });
  }
  return { metadata, tensors };
}
