/** Each block format against a slow formula that is written from the layout's description, bit by bit. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { f16ToFloat32, float32ToF16 } from '../../base/half.ts';
import { Rng } from '../../base/rng.ts';
import { GGUF_FORMATS } from './gguf-blocks.ts';
import { pairsToHalves } from './rotary-rows.ts';
import { readSafetensors } from './safetensors.ts';

const byName = (name: string) => Object.values(GGUF_FORMATS).find((one) => one.name === name)!.format;

/** Bit `i` of a byte array, the lowest of each byte first. */
const bit = (bytes: Uint8Array, i: number) => (bytes[i >> 3] >> (i & 7)) & 1;
/** The `width` bits from bit `i` on. */
const bits = (bytes: Uint8Array, i: number, width: number) =>
  Array.from({ length: width }, (_, k) => bit(bytes, i + k) << k).reduce((a, b) => a + b, 0);
const half = (bytes: Uint8Array, at: number) => f16ToFloat32(Uint16Array.of(bits(bytes, at * 8, 16)))[0];
const signed = (byte: number) => (byte > 127 ? byte - 256 : byte);
const nibble = (bytes: Uint8Array, at: number, high: boolean) => bits(bytes, at * 8 + (high ? 4 : 0), 4);

/** Scale and minimum of sub-block j: 8 × 6 bits each, of which the upper two of the last four are stowed away. */
function scale6(bytes: Uint8Array, at: number, j: number): [number, number] {
  if (j < 4) return [bits(bytes, (at + j) * 8, 6), bits(bytes, (at + 4 + j) * 8, 6)];
  return [
    nibble(bytes, at + 4 + j, false) + 16 * bits(bytes, (at + j - 4) * 8 + 6, 2),
    nibble(bytes, at + 4 + j, true) + 16 * bits(bytes, (at + j) * 8 + 6, 2),
  ];
}

/** Value `i` of a block, in float64. */
const SLOW: Record<string, (block: Uint8Array, i: number) => number> = {
  Q4_0: (b, i) => (nibble(b, 2 + (i % 16), i >= 16) - 8) * half(b, 0),
  Q4_1: (b, i) => nibble(b, 4 + (i % 16), i >= 16) * half(b, 0) + half(b, 2),
  Q5_0: (b, i) => (nibble(b, 6 + (i % 16), i >= 16) + 16 * bit(b, 16 + i) - 16) * half(b, 0),
  Q5_1: (b, i) => (nibble(b, 8 + (i % 16), i >= 16) + 16 * bit(b, 32 + i)) * half(b, 0) + half(b, 2),
  Q8_0: (b, i) => signed(b[2 + i]) * half(b, 0),
  Q4_K: (b, i) => {
    const j = Math.floor(i / 32);
    const [scale, min] = scale6(b, 4, j);
    const q = nibble(b, 16 + 32 * Math.floor(j / 2) + (i % 32), j % 2 === 1);
    return half(b, 0) * scale * q - half(b, 2) * min;
  },
  Q5_K: (b, i) => {
    const j = Math.floor(i / 32);
    const [scale, min] = scale6(b, 4, j);
    const q = nibble(b, 48 + 32 * Math.floor(j / 2) + (i % 32), j % 2 === 1);
    return half(b, 0) * scale * (q + 16 * bit(b, (16 + (i % 32)) * 8 + j)) - half(b, 2) * min;
  },
  Q6_K: (b, i) => {
    const [h, r] = [Math.floor(i / 128), i % 128];
    const low = nibble(b, 64 * h + (r % 64), r >= 64);
    const high = bits(b, (128 + 32 * h + (r % 32)) * 8 + 2 * Math.floor(r / 32), 2);
    return half(b, 208) * signed(b[192 + Math.floor(i / 16)]) * (low + 16 * high - 32);
  },
};

/** Where each format keeps its float16 scales. */
const HALVES: Record<string, number[]> = {
  Q4_0: [0],
  Q4_1: [0, 2],
  Q5_0: [0],
  Q5_1: [0, 2],
  Q8_0: [0],
  Q4_K: [0, 2],
  Q5_K: [0, 2],
  Q6_K: [208],
};

describe.each(Object.keys(SLOW))('%s', (name) => {
  const { bytes, values, decode } = byName(name);

  test('random blocks equal the slow formula', () => {
    const rng = new Rng(7, bytes);
    const blocks = 40;
    const data = Uint8Array.from({ length: blocks * bytes }, () => Math.floor(rng.next() * 256));
    for (let block = 0; block < blocks; block++)
      for (const at of HALVES[name]) {
        const scale = float32ToF16(Float32Array.of((rng.next() - 0.5) * 10 ** (2 - (block % 7)))).bits[0];
        data.set([scale & 255, scale >> 8], block * bytes + at);
      }
    const out = new Float32Array(blocks * values + 3).fill(99);
    decode(data, out, 3);
    expect(Array.from(out.subarray(0, 3))).toEqual([99, 99, 99]);
    for (let i = 0; i < blocks * values; i++) {
      const block = data.subarray(Math.floor(i / values) * bytes, (Math.floor(i / values) + 1) * bytes);
      expect(out[3 + i], `value ${i}`).toBe(Math.fround(SLOW[name](block, i % values)));
    }
  });
});

test('a Q8_0 block made by hand comes back', () => {
  const values = Float32Array.from({ length: 32 }, (_, i) => (i - 16) * 0.25);
  // d = 0.25 is 0x3400 in float16, and each value is a multiple of it.
  const block = Uint8Array.of(0, 0x34, ...Array.from(values, (value) => (value / 0.25 + 256) % 256));
  const out = new Float32Array(32);
  byName('Q8_0').decode(block, out, 0);
  expect(out).toEqual(values);
});

test('a Q4_K block made by hand comes back', () => {
  // d = 1, dmin = 1; sub-block j has scale j + 1 (below 16) and minimum 33 + j: six bits in the packed form.
  const block = new Uint8Array(144);
  block.set([0, 0x3c, 0, 0x3c]);
  for (let j = 0; j < 4; j++) {
    const [late, lateMin] = [j + 5, 37 + j];
    block[4 + j] = (j + 1) | ((late >> 4) << 6);
    block[8 + j] = (33 + j) | ((lateMin >> 4) << 6);
    block[12 + j] = (late & 15) | ((lateMin & 15) << 4);
  }
  const q = (i: number) => (i * 7) % 16;
  for (let i = 0; i < 256; i++) {
    const j = i >> 5;
    block[16 + (j >> 1) * 32 + (i & 31)] |= q(i) << (j % 2 ? 4 : 0);
  }
  const out = new Float32Array(256);
  byName('Q4_K').decode(block, out, 0);
  expect(Array.from(out)).toEqual(
    Array.from({ length: 256 }, (_, i) => ((i >> 5) + 1) * q(i) - (33 + (i >> 5))),
  );
});

test('the golden blocks of compiled ggml, bit for bit, and the permuted rows of q and k', (context) => {
  const folder = fileURLToPath(new URL('../../../../shared/golden/dev/', import.meta.url));
  const path = `${folder}08_quant/blocks.safetensors`;
  if (!existsSync(path)) {
    if (process.env.CI) throw new Error(`CI must have ${path}`);
    console.warn(`SKIPPED: the golden blocks are in ${path}`);
    context.skip();
  }
  const read = (file: string) => readSafetensors(new Uint8Array(readFileSync(file)).buffer, file).tensors;
  const tensors = read(path);
  for (const name of ['Q8_0', 'Q4_0', 'Q4_1']) {
    const key = name.toLowerCase();
    const raw = Uint8Array.from(tensors.get(`${key}.raw`)!.data as Uint8Array);
    const expected = tensors.get(`${key}.f32`)!.data as Float32Array;
    const out = new Float32Array(expected.length);
    byName(name).decode(raw, out, 0);
    expect(new Uint32Array(out.buffer), name).toEqual(
      new Uint32Array(expected.buffer, expected.byteOffset, expected.length),
    );
  }
  const llama = read(`${folder}ckpt/llama/model.safetensors`);
  const config = JSON.parse(readFileSync(`${folder}ckpt/llama/config.json`, 'utf8'));
  const heads = { q: config.num_attention_heads, k: config.num_key_value_heads };
  for (const one of ['q', 'k'] as const) {
    const permuted = tensors.get(`gguf_permuted.blk.0.attn_${one}.weight`)!.data as Float32Array;
    const D = config.head_dim ?? config.hidden_size / config.num_attention_heads;
    expect(pairsToHalves(permuted, heads[one], D)).toEqual(
      llama.get(`model.layers.0.self_attn.${one}_proj.weight`)!.data,
    );
  }
});
