/**
 * The block formats of GGUF, undone. Layouts: ggml's quants reference (ggml-common.h, ggml-quants.c), written here from
 * their description. Little-endian; `d` is the scale of a block, `m` its minimum. The K formats group 256 values.
 */
import { f16ToFloat32 } from '../../base/half.ts';
import type { BlockFormat } from './blobs.ts';
import { BF16, F16, F32, F64 } from './float-blocks.ts';

type Block = (bytes: Uint8Array<ArrayBuffer>, at: number, out: Float32Array, to: number) => void;

const halves = new Uint16Array(1);
function f16(bytes: Uint8Array, at: number): number {
  halves[0] = bytes[at] | (bytes[at + 1] << 8);
  return f16ToFloat32(halves)[0];
}

const format = (bytes: number, values: number, block: Block): BlockFormat => ({
  bytes,
  values,
  decode(data, out, at) {
    for (let i = 0, to = at; i < data.length; i += bytes, to += values) block(data, i, out, to);
  },
});

const int8 = (byte: number) => (byte << 24) >> 24;
const fround = Math.fround;

/** f16 d; u8 qs[16]: low nibbles are values 0–15, high ones 16–31. */
const q4_0 = format(18, 32, (bytes, at, out, to) => {
  const d = f16(bytes, at);
  for (let j = 0; j < 16; j++) {
    const q = bytes[at + 2 + j];
    out[to + j] = ((q & 15) - 8) * d;
    out[to + j + 16] = ((q >> 4) - 8) * d;
  }
});

/** f16 d, f16 m; u8 qs[16]. */
const q4_1 = format(20, 32, (bytes, at, out, to) => {
  const d = f16(bytes, at);
  const m = f16(bytes, at + 2);
  for (let j = 0; j < 16; j++) {
    const q = bytes[at + 4 + j];
    out[to + j] = fround((q & 15) * d) + m;
    out[to + j + 16] = fround((q >> 4) * d) + m;
  }
});

/** f16 d; u8 qh[4], the fifth bits of the 32 values; u8 qs[16]. */
const q5_0 = format(22, 32, (bytes, at, out, to) => {
  const d = f16(bytes, at);
  for (let j = 0; j < 16; j++) {
    const q = bytes[at + 6 + j];
    out[to + j] = ((q & 15) + 16 * fifth(bytes, at + 2, j) - 16) * d;
    out[to + j + 16] = ((q >> 4) + 16 * fifth(bytes, at + 2, j + 16) - 16) * d;
  }
});

/** f16 d, f16 m; u8 qh[4]; u8 qs[16]. */
const q5_1 = format(24, 32, (bytes, at, out, to) => {
  const d = f16(bytes, at);
  const m = f16(bytes, at + 2);
  for (let j = 0; j < 16; j++) {
    const q = bytes[at + 8 + j];
    out[to + j] = fround(((q & 15) + 16 * fifth(bytes, at + 4, j)) * d) + m;
    out[to + j + 16] = fround(((q >> 4) + 16 * fifth(bytes, at + 4, j + 16)) * d) + m;
  }
});

const fifth = (bytes: Uint8Array, at: number, j: number) => (bytes[at + (j >> 3)] >> (j & 7)) & 1;

/** f16 d; int8 q[32]. */
const q8_0 = format(34, 32, (bytes, at, out, to) => {
  const d = f16(bytes, at);
  for (let j = 0; j < 32; j++) out[to + j] = int8(bytes[at + 2 + j]) * d;
});

/** Scale and minimum (6 bits each) of sub-block `j` of 8, packed into 12 bytes. */
function scaleOf(bytes: Uint8Array, at: number, j: number): [number, number] {
  if (j < 4) return [bytes[at + j] & 63, bytes[at + j + 4] & 63];
  const low = bytes[at + j + 4];
  return [(low & 15) | ((bytes[at + j - 4] >> 6) << 4), (low >> 4) | ((bytes[at + j] >> 6) << 4)];
}

/** f16 d, f16 dmin; 12 bytes of scales; then qs[128], in which 32 bytes hold two sub-blocks of 32 values. */
const q4_K = format(144, 256, (bytes, at, out, to) => {
  const d = f16(bytes, at);
  const dmin = f16(bytes, at + 2);
  for (let j = 0; j < 8; j++) {
    const [scale, min] = scaleOf(bytes, at + 4, j);
    const [a, b] = [fround(d * scale), fround(dmin * min)];
    for (let l = 0; l < 32; l++) {
      const byte = bytes[at + 16 + (j >> 1) * 32 + l];
      out[to + j * 32 + l] = fround(a * (j & 1 ? byte >> 4 : byte & 15)) - b;
    }
  }
});

/** As Q4_K, with qh[32] between scales and qs: bit `j` of byte `l` is the fifth bit of value `l` of sub-block `j`. */
const q5_K = format(176, 256, (bytes, at, out, to) => {
  const d = f16(bytes, at);
  const dmin = f16(bytes, at + 2);
  for (let j = 0; j < 8; j++) {
    const [scale, min] = scaleOf(bytes, at + 4, j);
    const [a, b] = [fround(d * scale), fround(dmin * min)];
    for (let l = 0; l < 32; l++) {
      const byte = bytes[at + 48 + (j >> 1) * 32 + l];
      const low = j & 1 ? byte >> 4 : byte & 15;
      out[to + j * 32 + l] = fround(a * (low + 16 * ((bytes[at + 16 + l] >> j) & 1))) - b;
    }
  }
});

/** ql[128], qh[64], int8 scales[16], f16 d. Each half of 128 values takes 64 bytes of ql, 32 of qh and 8 scales. */
const q6_K = format(210, 256, (bytes, at, out, to) => {
  const d = f16(bytes, at + 208);
  for (let half = 0; half < 2; half++)
    for (let quarter = 0; quarter < 4; quarter++)
      for (let l = 0; l < 32; l++) {
        const low = bytes[at + half * 64 + (quarter & 1) * 32 + l];
        const high = (bytes[at + 128 + half * 32 + l] >> (2 * quarter)) & 3;
        const q = ((quarter < 2 ? low & 15 : low >> 4) | (high << 4)) - 32;
        const scale = int8(bytes[at + 192 + half * 8 + quarter * 2 + (l >> 4)]);
        out[to + half * 128 + quarter * 32 + l] = fround(d * scale) * q;
      }
});

/** By ggml's type numbers. */
export const GGUF_FORMATS: Readonly<Record<number, { name: string; format: BlockFormat }>> = {
  0: { name: 'F32', format: F32 },
  1: { name: 'F16', format: F16 },
  2: { name: 'Q4_0', format: q4_0 },
  3: { name: 'Q4_1', format: q4_1 },
  6: { name: 'Q5_0', format: q5_0 },
  7: { name: 'Q5_1', format: q5_1 },
  8: { name: 'Q8_0', format: q8_0 },
  12: { name: 'Q4_K', format: q4_K },
  13: { name: 'Q5_K', format: q5_K },
  14: { name: 'Q6_K', format: q6_K },
  28: { name: 'F64', format: F64 },
  30: { name: 'BF16', format: BF16 },
};

/** Names of formats that are refused, for the message. */
export const OTHER_GGUF_TYPES: Readonly<Record<number, string>> = {
  9: 'Q8_1',
  10: 'Q2_K',
  11: 'Q3_K',
  15: 'Q8_K',
  16: 'IQ2_XXS',
  17: 'IQ2_XS',
  18: 'IQ3_XXS',
  19: 'IQ1_S',
  20: 'IQ4_NL',
  21: 'IQ3_S',
  22: 'IQ2_S',
  23: 'IQ4_XS',
  24: 'I8',
  25: 'I16',
  26: 'I32',
  27: 'I64',
  29: 'IQ1_M',
  34: 'TQ1_0',
  35: 'TQ2_0',
  39: 'MXFP4',
};
