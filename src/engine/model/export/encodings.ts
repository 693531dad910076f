/** How weights are written: float32, the two half precisions, and GGUF's Q8_0; with a tally of what did not fit. */
import { float32ToBf16, float32ToF16 } from '../../../base/half.ts';

export type EncodingName = 'F32' | 'F16' | 'BF16' | 'Q8_0';

/** Values that a file does not hold as they were. */
export interface Tally {
  /** Finite values beyond the largest of the format, written as that largest one. */
  clamped: number;
  /** NaN and infinite values: kept in F32, F16 and BF16, written as 0 in Q8_0. */
  notFinite: number;
}

export interface Encoding {
  /** Values in a block, and its bytes. */
  values: number;
  bytes: number;
  /** @param values whole blocks */
  encode(values: Float32Array, tally: Tally): Uint8Array<ArrayBuffer>;
}

/** The largest finite float16 and bfloat16. */
export const F16_MAX = 65504;
export const BF16_MAX = (2 - 2 ** -7) * 2 ** 127;

const bytesOf = (array: Float32Array | Uint16Array): Uint8Array<ArrayBuffer> =>
  new Uint8Array(array.buffer as ArrayBuffer, array.byteOffset, array.byteLength);

/** An infinite weight makes every logit NaN, the largest finite one only a wrong sum: so values are clamped. */
function clamped(values: Float32Array, largest: number, tally: Tally): Float32Array {
  let out = values;
  for (let i = 0; i < values.length; i++) {
    if (!(Math.abs(values[i]) > largest) || !Number.isFinite(values[i])) continue;
    if (out === values) out = values.slice();
    out[i] = Math.sign(values[i]) * largest;
    tally.clamped++;
  }
  return out;
}

const fround = Math.fround;

/** Half away from zero, as C's roundf. */
const roundAway = (x: number) => Math.sign(x) * Math.floor(Math.abs(x) + 0.5);

/**
 * Q8_0, the reference of ggml (quantize_row_q8_0_ref) in float32: d = max|x| / 127 as float16, then int8 round(x / d),
 * where the division uses d before it was rounded. |x − q·d| ≤ d/2 + 127·d·2⁻¹¹ where d is a normal float16.
 */
function encodeQ8_0(values: Float32Array, tally: Tally): Uint8Array<ArrayBuffer> {
  const blocks = values.length / 32;
  const out = new Uint8Array(blocks * 34);
  for (let block = 0; block < blocks; block++) {
    const x = Float32Array.from(values.subarray(block * 32, block * 32 + 32), (v) =>
      Number.isFinite(v) ? v : 0,
    );
    const largest = x.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
    const d = Math.min(F16_MAX, fround(largest / 127));
    const [bits] = float32ToF16(Float32Array.of(d)).bits;
    out[block * 34] = bits & 255;
    out[block * 34 + 1] = bits >> 8;
    // A scale that float16 rounds to zero leaves nothing of its block.
    const inverse = (bits & 0x7fff) === 0 ? 0 : fround(1 / d);
    for (let j = 0; j < 32; j++) {
      const q = roundAway(fround(x[j] * inverse));
      if (Math.abs(q) > 127) tally.clamped++;
      out[block * 34 + 2 + j] = Math.max(-127, Math.min(127, q)) & 255;
    }
  }
  return out;
}

export const ENCODINGS: Readonly<Record<EncodingName, Encoding>> = {
  F32: { values: 1, bytes: 4, encode: bytesOf },
  F16: {
    values: 1,
    bytes: 2,
    encode: (values, tally) => bytesOf(float32ToF16(clamped(values, F16_MAX, tally)).bits),
  },
  BF16: {
    values: 1,
    bytes: 2,
    encode: (values, tally) => bytesOf(float32ToBf16(clamped(values, BF16_MAX, tally)).bits),
  },
  Q8_0: { values: 32, bytes: 34, encode: encodeQ8_0 },
};

export const countOf = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

export const encodedBytes = (shape: readonly number[], name: EncodingName): number =>
  (countOf(shape) / ENCODINGS[name].values) * ENCODINGS[name].bytes;

/** Values that are encoded at once: whole blocks, and a few MiB at most beside the tensor. */
const CHUNK = 2 ** 20;

/** One tensor, piece by piece. */
export function* encodeTensor(
  values: Float32Array,
  name: EncodingName,
  tally: Tally,
): Generator<Uint8Array<ArrayBuffer>> {
  for (let at = 0; at < values.length; at += CHUNK) {
    const piece = values.subarray(at, at + CHUNK);
    for (let i = 0; i < piece.length; i++) if (!Number.isFinite(piece[i])) tally.notFinite++;
    yield ENCODINGS[name].encode(piece, tally);
  }
}
