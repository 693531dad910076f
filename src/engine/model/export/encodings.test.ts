/** Q8_0 against the bound of its own rounding; halves against the largest numbers of their formats. */
import { expect, test } from 'vitest';
import { f16ToFloat32 } from '../../../base/half.ts';
import { Rng } from '../../../base/rng.ts';
import { GGUF_FORMATS } from '../gguf-blocks.ts';
import { ENCODINGS, encodeTensor } from './encodings.ts';

const q8 = GGUF_FORMATS[8].format;
const tally = () => ({ clamped: 0, notFinite: 0 });
const decoded = (bytes: Uint8Array<ArrayBuffer>) => {
  const out = new Float32Array((bytes.length / 34) * 32);
  q8.decode(bytes, out, 0);
  return out;
};

test('Q8_0: every value within its bound, the largest of a block at ±127', () => {
  const rng = new Rng(3, 1);
  const blocks = 200;
  const values = Float32Array.from(
    { length: blocks * 32 },
    (_, i) => rng.normal() * 10 ** ((Math.floor(i / 32) % 6) - 3),
  );
  const bytes = ENCODINGS.Q8_0.encode(values, tally());
  const out = decoded(bytes);
  for (let block = 0; block < blocks; block++) {
    const at = block * 34;
    const d = f16ToFloat32(Uint16Array.of(bytes[at] | (bytes[at + 1] << 8)))[0];
    const q = new Int8Array(bytes.buffer, at + 2, 32);
    expect(Math.max(...q.map(Math.abs)), `block ${block}`).toBe(127);
    // Half a step of rounding, and the scale itself rounded to float16 (or to a multiple of 2^-24).
    const bound = d / 2 + 127 * Math.max(d * 2 ** -11, 2 ** -25) + 1e-6 * d;
    for (let j = 0; j < 32; j++)
      expect(Math.abs(out[block * 32 + j] - values[block * 32 + j]), `${block}:${j}`).toBeLessThan(bound);
  }
});

test('Q8_0: what was read is written again bit for bit', () => {
  const rng = new Rng(5, 2);
  const bytes = new Uint8Array(50 * 34);
  for (let block = 0; block < 50; block++) {
    // Normal float16 scales between 2^-10 and 2^5, and ±127 in each block.
    const d = ((5 + Math.floor(rng.next() * 15)) << 10) | Math.floor(rng.next() * 1024);
    bytes.set([d & 255, d >> 8], block * 34);
    for (let j = 0; j < 32; j++) bytes[block * 34 + 2 + j] = (Math.floor(rng.next() * 255) - 127) & 255;
    bytes[block * 34 + 2 + (block % 32)] = (block % 2 ? 127 : -127) & 255;
  }
  expect(ENCODINGS.Q8_0.encode(decoded(bytes), tally())).toEqual(bytes);
});

test('Q8_0: zeros, values too large for a float16 scale, NaN', () => {
  const seen = tally();
  const values = new Float32Array(96);
  values[32] = 1e8;
  values[33] = 4e6;
  values[64] = Number.NaN;
  values[65] = 2;
  const [bytes] = encodeTensor(values, 'Q8_0', seen);
  const out = decoded(bytes);
  expect(Array.from(out.subarray(0, 32))).toEqual(new Array(32).fill(0));
  expect(out[32]).toBe(127 * 65504);
  expect(Math.abs(out[33] - 4e6)).toBeLessThan(65504 / 2);
  expect([out[64], Math.abs(out[65] - 2) < 0.001]).toEqual([0, true]);
  expect(seen).toEqual({ clamped: 1, notFinite: 1 });
});

test('bf16: the largest float32 does not become infinite', () => {
  const seen = tally();
  const bits = new Uint16Array(ENCODINGS.BF16.encode(Float32Array.of(3.4e38, -3.4e38, 1), seen).buffer);
  expect(Array.from(bits)).toEqual([0x7f7f, 0xff7f, 0x3f80]);
  expect(seen.clamped).toBe(2);
});

test('a tensor comes in pieces of whole blocks', () => {
  const values = new Float32Array(2 ** 20 + 64).fill(0.5);
  const pieces = [...encodeTensor(values, 'Q8_0', tally())];
  expect(pieces.map(({ length }) => length)).toEqual([(2 ** 20 / 32) * 34, 68]);
});
