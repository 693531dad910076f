/**
 * The safetensors format: 8 bytes of header length, a JSON header { name: { dtype, shape, data_offsets } }, the data
 * (little-endian, as every machine with a browser is). Half precision is read into float32.
 */
import { messageOf, UserError } from '../../base/assert.ts';
import { bf16ToFloat32, f16ToFloat32, float32ToBf16, float32ToF16 } from '../../base/half.ts';

export type TensorArray = Float32Array | Int32Array | Uint8Array | BigInt64Array;
export type Dtype = 'F32' | 'F16' | 'BF16' | 'I32' | 'U8' | 'I64';

export interface StoredTensor {
  /** As in the file. F32, F16 and BF16 all arrive as a Float32Array. */
  dtype: Dtype;
  shape: readonly number[];
  data: TensorArray;
}

const BYTES: Record<Dtype, number> = { F32: 4, F16: 2, BF16: 2, I32: 4, U8: 1, I64: 8 };
/** The reference reader's limit. */
const MAX_HEADER = 100_000_000;

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

const AGAIN = 'Copy or download it again.';

/**
 * How many bytes of header follow the first eight.
 * @param first the file's first bytes, eight if it has as many
 * @param size bytes of the whole file
 */
export function safetensorsHeaderLength(first: Uint8Array<ArrayBuffer>, size: number, file: string): number {
  if (size < 8 || first.length < 8)
    throw new UserError(`${file} is not a safetensors file: it has ${size} bytes. ${AGAIN}`);
  const length = Number(new DataView(first.buffer, first.byteOffset).getBigUint64(0, true));
  if (length > MAX_HEADER)
    throw new UserError(`${file} is not a safetensors file: it does not begin with a header length.`);
  if (8 + length > size)
    throw new UserError(
      `${file} is cut off inside its header (${size} bytes, the header needs ${8 + length}). ${AGAIN}`,
    );
  return length;
}

function parseHeader(bytes: Uint8Array, file: string): Record<string, unknown> {
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw new UserError(`${file} is not a safetensors file: its header is not JSON (${messageOf(error)}).`);
  }
  if (typeof header !== 'object' || header === null || Array.isArray(header))
    throw new UserError(`${file} is not a safetensors file: its header is not a JSON object.`);
  return header as Record<string, unknown>;
}

/** Where a tensor lies: bytes from the end of the header on. */
export interface TensorRange {
  name: string;
  dtype: Dtype;
  shape: number[];
  begin: number;
  end: number;
}

function decode(dtype: Dtype, bytes: ArrayBuffer): TensorArray {
  switch (dtype) {
    case 'F32':
      return new Float32Array(bytes);
    case 'F16':
      return f16ToFloat32(new Uint16Array(bytes));
    case 'BF16':
      return bf16ToFloat32(new Uint16Array(bytes));
    case 'I32':
      return new Int32Array(bytes);
    case 'U8':
      return new Uint8Array(bytes);
    case 'I64':
      return new BigInt64Array(bytes);
    default:
      return dtype satisfies never;
  }
}

/**
 * The tensors that a header describes, checked against each other and the file.
 * @param bytes the bytes of the header, after the first eight
 * @param size bytes of data behind the header
 */
export function safetensorsRanges(
  bytes: Uint8Array,
  size: number,
  file: string,
): { ranges: TensorRange[]; metadata: Record<string, string> } {
  const header = parseHeader(bytes, file);
  const metadata = Object(header.__metadata__ ?? {}) as Record<string, string>;
  const ranges: TensorRange[] = [];
  for (const [name, value] of Object.entries(header)) {
    if (name === '__metadata__') continue;
    const refuse = (reason: string): never => {
      throw new UserError(`${file}: tensor "${name}" ${reason}.`);
    };
    if (typeof value !== 'object' || value === null) refuse('has no description in the header');
    const { dtype, shape, data_offsets: offsets } = value as Record<string, unknown>;
    if (typeof dtype !== 'string' || !Object.hasOwn(BYTES, dtype))
      refuse(`has the type ${JSON.stringify(dtype)}; this page reads ${Object.keys(BYTES).join(', ')}`);
    if (!Array.isArray(shape) || !shape.every(isCount))
      refuse(`has no valid shape: ${JSON.stringify(shape)}`);
    if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isCount) || offsets[0] > offsets[1])
      refuse(`has no valid data offsets: ${JSON.stringify(offsets)}`);
    const [begin, end] = offsets as [number, number];
    const needed = (shape as number[]).reduce((a, b) => a * b, BYTES[dtype as Dtype]);
    if (end - begin !== needed)
      refuse(`has ${end - begin} bytes, but its shape [${shape}] of ${dtype} needs ${needed}`);
    if (end > size)
      refuse(
        `ends at byte ${end} of the data, but the file holds ${size}: it is cut off. Copy or download it again`,
      );
    ranges.push({ name, dtype: dtype as Dtype, shape: shape as number[], begin, end });
  }
  let covered = 0;
  for (const { name, begin, end } of [...ranges].sort((a, b) => a.begin - b.begin || a.end - b.end)) {
    if (begin !== covered)
      throw new UserError(
        `${file}: tensor "${name}" ${begin < covered ? 'overlaps the one before it' : 'leaves a gap before it'}.`,
      );
    covered = end;
  }
  if (covered !== size) throw new UserError(`${file} has ${size - covered} bytes that belong to no tensor.`);
  return { ranges, metadata };
}

/** Reads a whole file. Throws a UserError that names the file, the tensor and the fault. */
export function readSafetensors(
  buffer: ArrayBuffer,
  file: string,
): { tensors: Map<string, StoredTensor>; metadata: Record<string, string> } {
  const first = new Uint8Array(buffer, 0, Math.min(8, buffer.byteLength));
  const length = safetensorsHeaderLength(first, buffer.byteLength, file);
  const start = 8 + length;
  const head = new Uint8Array(buffer, 8, length);
  const { ranges, metadata } = safetensorsRanges(head, buffer.byteLength - start, file);
  const tensors = new Map<string, StoredTensor>();
  // slice copies, since the data need not be aligned in the file
  for (const { name, dtype, shape, begin, end } of ranges)
    tensors.set(name, { dtype, shape, data: decode(dtype, buffer.slice(start + begin, start + end)) });
  return { tensors, metadata };
}

/** Reads a file that holds nothing but floating-point tensors, such as an autosave. */
export function readFloatTensors(
  buffer: ArrayBuffer,
  file: string,
): Map<string, { shape: readonly number[]; data: Float32Array }> {
  const floats = new Map<string, { shape: readonly number[]; data: Float32Array }>();
  for (const [name, { shape, data, dtype }] of readSafetensors(buffer, file).tensors) {
    if (!(data instanceof Float32Array))
      throw new UserError(
        `${file}: tensor "${name}" has the type ${dtype}, but a floating-point one is needed.`,
      );
    floats.set(name, { shape, data });
  }
  return floats;
}

/**
 * Writes a file. Float32 data are stored as `floats` says; `overflows` counts finite values that became infinite.
 * Wide elements come first, so that every tensor is aligned; the rest keeps its order.
 */
export function writeSafetensors(
  tensors: ReadonlyMap<string, { shape: readonly number[]; data: TensorArray }>,
  options: { floats?: 'F32' | 'F16' | 'BF16'; metadata?: Record<string, string> } = {},
): { bytes: Uint8Array<ArrayBuffer>; overflows: number } {
  const floats = options.floats ?? 'F32';
  let overflows = 0;
  const parts = [...tensors].map(([name, { shape, data }]) => {
    if (shape.reduce((a, b) => a * b, 1) !== data.length)
      throw new Error(`Internal error: tensor "${name}" of shape [${shape}] has ${data.length} values`);
    let dtype: Dtype = data instanceof Int32Array ? 'I32' : data instanceof Uint8Array ? 'U8' : 'I64';
    let array: TensorArray | Uint16Array = data;
    if (data instanceof Float32Array) {
      dtype = floats;
      if (floats !== 'F32') {
        const half = floats === 'F16' ? float32ToF16(data) : float32ToBf16(data);
        overflows += half.overflows;
        array = half.bits;
      }
    }
    return { name, dtype, shape, array };
  });
  parts.sort((a, b) => BYTES[b.dtype] - BYTES[a.dtype]);
  const head = safetensorsHead(
    parts.map(({ name, dtype, shape }) => ({ name, dtype, shape })),
    options.metadata,
  );
  const size = parts.reduce((sum, { array }) => sum + array.byteLength, head.length);
  const bytes = new Uint8Array(size);
  bytes.set(head);
  let at = head.length;
  for (const { array } of parts) {
    bytes.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), at);
    at += array.byteLength;
  }
  return { bytes, overflows };
}

/** The bytes before the data of a file in which the tensors lie one behind the other, in this order. */
export function safetensorsHead(
  tensors: readonly { name: string; dtype: Dtype; shape: readonly number[] }[],
  metadata: Record<string, string> = {},
): Uint8Array<ArrayBuffer> {
  const header: Record<string, unknown> = Object.create(null);
  header.__metadata__ = { format: 'pt', ...metadata };
  let offset = 0;
  for (const { name, dtype, shape } of tensors) {
    const end = offset + shape.reduce((a, b) => a * b, BYTES[dtype]);
    header[name] = { dtype, shape, data_offsets: [offset, end] };
    offset = end;
  }
  const json = new TextEncoder().encode(JSON.stringify(header));
  const headerLength = Math.ceil(json.length / 8) * 8;
  const bytes = new Uint8Array(8 + headerLength).fill(0x20, 8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(headerLength), true);
  bytes.set(json, 8);
  return bytes;
}
