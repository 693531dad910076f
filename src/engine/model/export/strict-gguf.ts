/**
 * A strict reader for tests, written from the GGUF specification (ggml's docs/gguf.md), version 3: every key's type is
 * checked, tensors lie without gap but for the padding, which is zero, and the file ends with the last one's.
 */
type Value = number | boolean | string | Value[];
const UINT32 = 4;
const FLOAT32 = 6;
const BOOL = 7;
const STRING = 8;
const ARRAY = 9;
const INT32 = 5;

/** Types that the specification gives the keys; `*` stands for the architecture, a list's type for its items. */
const KEY_TYPES: Record<string, number | [number]> = {
  'general.architecture': STRING,
  'general.type': STRING,
  'general.name': STRING,
  'general.alignment': UINT32,
  'general.file_type': UINT32,
  'general.quantization_version': UINT32,
  '*.block_count': UINT32,
  '*.context_length': UINT32,
  '*.embedding_length': UINT32,
  '*.feed_forward_length': UINT32,
  '*.attention.head_count': UINT32,
  '*.attention.head_count_kv': UINT32,
  '*.attention.key_length': UINT32,
  '*.attention.value_length': UINT32,
  '*.attention.layer_norm_rms_epsilon': FLOAT32,
  '*.rope.dimension_count': UINT32,
  '*.rope.freq_base': FLOAT32,
  '*.vocab_size': UINT32,
  'tokenizer.ggml.model': STRING,
  'tokenizer.ggml.pre': STRING,
  'tokenizer.ggml.tokens': [STRING],
  'tokenizer.ggml.token_type': [INT32],
  'tokenizer.ggml.scores': [FLOAT32],
  'tokenizer.ggml.merges': [STRING],
  'tokenizer.ggml.bos_token_id': UINT32,
  'tokenizer.ggml.eos_token_id': UINT32,
  'tokenizer.ggml.padding_token_id': UINT32,
  'tokenizer.ggml.unknown_token_id': UINT32,
  'tokenizer.ggml.add_bos_token': BOOL,
  'tokenizer.ggml.add_eos_token': BOOL,
  'tokenizer.ggml.add_space_prefix': BOOL,
  'tokenizer.chat_template': STRING,
};
const OPTIONAL = /^(tokenizer\.|general\.(name|type|alignment))/;
/** Type number → name, values and bytes of a block. */
const TENSOR_TYPES: Record<number, [string, number, number]> = {
  0: ['F32', 1, 4],
  1: ['F16', 1, 2],
  8: ['Q8_0', 32, 34],
  30: ['BF16', 1, 2],
};

export interface StrictGguf {
  metadata: Map<string, Value>;
  /** Shapes as in the file: innermost first. */
  tensors: Map<string, { type: string; dimensions: number[]; data: Uint8Array<ArrayBuffer> }>;
}

/** Throws at the first departure from the format. */
export function strictGguf(bytes: Uint8Array<ArrayBuffer>): StrictGguf {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = 0;
  const check = (holds: boolean, what: string) => {
    if (!holds) throw new Error(`GGUF: ${what}`);
  };
  const skip = (count: number) => {
    at += count;
    return at - count;
  };
  const u32 = () => view.getUint32(skip(4), true);
  const u64 = () => Number(view.getBigUint64(skip(8), true));
  const text = () => {
    const length = u64();
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(skip(length), at));
  };
  const scalar = (type: number): Value => {
    if (type === UINT32) return u32();
    if (type === INT32) return view.getInt32(skip(4), true);
    if (type === FLOAT32) return view.getFloat32(skip(4), true);
    if (type === STRING) return text();
    check(type === BOOL, `value of type ${type}`);
    const byte = bytes[skip(1)];
    check(byte <= 1, `a bool is ${byte}`);
    return byte === 1;
  };
  const zeros = (to: number) => {
    while (at < to) check(bytes[at++] === 0, `padding at ${at - 1} is not 0`);
  };

  check(new TextDecoder().decode(bytes.subarray(skip(4), at)) === 'GGUF', 'magic');
  check(u32() === 3, 'version is not 3');
  const [tensorCount, pairs] = [u64(), u64()];
  const metadata = new Map<string, Value>();
  for (let i = 0; i < pairs; i++) {
    const key = text();
    check(/^([a-z0-9_]+\.)+[a-z0-9_]+$/.test(key) && key.length < 65536, `key ${key}`);
    check(!metadata.has(key), `key ${key} is there twice`);
    const arch = metadata.get('general.architecture') as string;
    const expected = KEY_TYPES[arch && key.startsWith(`${arch}.`) ? `*${key.slice(arch.length)}` : key];
    check(expected !== undefined, `unknown key ${key}`);
    const type = u32();
    if (typeof expected === 'number') {
      check(type === expected, `${key} has type ${type}`);
      metadata.set(key, scalar(type));
      continue;
    }
    check(type === ARRAY && u32() === expected[0], `${key} is no list of type ${expected[0]}`);
    const count = u64();
    metadata.set(
      key,
      Array.from({ length: count }, () => scalar(expected[0])),
    );
  }
  const arch = String(metadata.get('general.architecture'));
  for (const key of Object.keys(KEY_TYPES))
    check(OPTIONAL.test(key) || metadata.has(key.replace('*', arch)), `${key} is missing`);

  const alignment = (metadata.get('general.alignment') as number) ?? 32;
  check(alignment % 8 === 0, `alignment ${alignment}`);
  const described: { name: string; dimensions: number[]; type: number; offset: number }[] = [];
  for (let i = 0; i < tensorCount; i++) {
    const name = text();
    check(new TextEncoder().encode(name).length <= 64, `name ${name} is longer than 64 bytes`);
    const dimensions = Array.from({ length: u32() }, () => u64());
    check(dimensions.length >= 1 && dimensions.length <= 4, `${name}: ${dimensions.length} dimensions`);
    described.push({ name, dimensions, type: u32(), offset: u64() });
  }
  const round = (n: number) => Math.ceil(n / alignment) * alignment;
  zeros(round(at));
  const start = at;
  const tensors: StrictGguf['tensors'] = new Map();
  for (const { name, dimensions, type, offset } of described) {
    check(!tensors.has(name), `${name} is there twice`);
    check(type in TENSOR_TYPES, `${name}: type ${type}`);
    check(start + offset === at, `${name}: offset ${offset}, where ${at - start} is next`);
    const [typeName, values, size] = TENSOR_TYPES[type];
    check(dimensions[0] % values === 0, `${name}: rows of ${dimensions[0]} in blocks of ${values}`);
    const length = (dimensions.reduce((a, b) => a * b, 1) / values) * size;
    check(at + length <= bytes.length, `${name}: ends behind the file`);
    tensors.set(name, { type: typeName, dimensions, data: bytes.slice(skip(length), at) });
    zeros(round(at));
  }
  check(at === bytes.length, `${bytes.length - at} bytes behind the last tensor`);
  return { metadata, tensors };
}
