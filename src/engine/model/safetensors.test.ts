import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { UserError } from '../../base/assert.ts';
import { bf16ToFloat32, f16ToFloat32, float32ToBf16, float32ToF16 } from '../../base/half.ts';
import halves from './fixtures/halves.json' with { type: 'json' };
import { readFloatTensors, readSafetensors, type TensorArray, writeSafetensors } from './safetensors.ts';

const sample = new Map<string, { shape: number[]; data: TensorArray }>([
  ['bytes', { shape: [3], data: Uint8Array.of(1, 2, 255) }],
  ['a', { shape: [2, 3], data: Float32Array.of(0, -0, 1.5, -3e38, 1e-45, Number.POSITIVE_INFINITY) }],
  ['ids', { shape: [2], data: Int32Array.of(-7, 2 ** 31 - 1) }],
  ['wide', { shape: [1], data: BigInt64Array.of(-(2n ** 60n)) }],
  ['none', { shape: [0, 4], data: new Float32Array(0) }],
  ['scalar', { shape: [], data: Float32Array.of(42) }],
]);

/** A file from a header of one's own. */
function fileOf(header: unknown, data = 0): ArrayBuffer {
  const json = new TextEncoder().encode(typeof header === 'string' ? header : JSON.stringify(header));
  const bytes = new Uint8Array(8 + json.length + data);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(json.length), true);
  bytes.set(json, 8);
  return bytes.buffer;
}
const f32 = (shape: unknown, begin: unknown, end: unknown) => ({
  dtype: 'F32',
  shape,
  data_offsets: [begin, end],
});

describe('round trip', () => {
  test('every type, bit for bit, and an aligned header', () => {
    const { bytes, overflows } = writeSafetensors(sample, { metadata: { step: '7' } });
    expect(overflows).toBe(0);
    const headerLength = Number(new DataView(bytes.buffer).getBigUint64(0, true));
    expect(headerLength % 8).toBe(0);
    const { tensors, metadata } = readSafetensors(bytes.buffer, 'x');
    expect(() => readFloatTensors(bytes.buffer, 'x')).toThrow(/tensor "wide" has the type I64/);
    expect(metadata).toEqual({ format: 'pt', step: '7' });
    expect(new Set(tensors.keys())).toEqual(new Set(sample.keys()));
    for (const [name, { shape, data }] of sample) {
      const read = tensors.get(name)!;
      expect(read.shape, name).toEqual(shape);
      expect(read.data.constructor, name).toBe(data.constructor);
      expect([...new Uint8Array(read.data.buffer)], name).toEqual([...new Uint8Array(data.buffer)]);
    }
  });

  test('views into a larger buffer are written alone', () => {
    const data = new Float32Array([9, 1, 2, 9]).subarray(1, 3);
    const { bytes } = writeSafetensors(new Map([['v', { shape: [2], data }]]));
    expect([...(readSafetensors(bytes.buffer, 'x').tensors.get('v')!.data as Float32Array)]).toEqual([1, 2]);
  });

  test('half precision, overflow counted', () => {
    const tensors = new Map([['h', { shape: [5], data: Float32Array.of(1, -0.5, 65504, 65520, 1e30) }]]);
    const f16 = writeSafetensors(tensors, { floats: 'F16' });
    expect(f16.overflows).toBe(2);
    const read = readSafetensors(f16.bytes.buffer, 'x').tensors.get('h')!;
    expect(read.dtype).toBe('F16');
    expect([...(read.data as Float32Array)]).toEqual([1, -0.5, 65504, Infinity, Infinity]);
    const bf16 = writeSafetensors(tensors, { floats: 'BF16' });
    expect(bf16.overflows).toBe(0);
    expect(readSafetensors(bf16.bytes.buffer, 'x').tensors.get('h')!.dtype).toBe('BF16');
  });
});

describe('half precision', () => {
  const bits = (values: Float32Array) => new Uint32Array(values.buffer);
  const float = (word: number) => new Float32Array(Uint32Array.of(word).buffer);
  const sameNumber = (a: number, b: number) => (Number.isNaN(a) ? Number.isNaN(b) : Object.is(a, b));

  test('float16 and bfloat16 to float32: golden bits', () => {
    for (const [h, f] of halves.f16_to_f32_bits)
      expect(sameNumber(f16ToFloat32(Uint16Array.of(Number(h)))[0], float(Number(f))[0]), h).toBe(true);
    for (const [h, f] of halves.bf16_to_f32_bits)
      expect(sameNumber(bf16ToFloat32(Uint16Array.of(Number(h)))[0], float(Number(f))[0]), h).toBe(true);
  });

  test('float32 to both: golden bits', () => {
    for (const { f32_bits, f16, bf16 } of halves.f32_to_half_round_to_nearest_even) {
      const value = float(Number(f32_bits));
      const [half, brain] = [float32ToF16(value).bits, float32ToBf16(value).bits];
      if (Number.isNaN(value[0])) {
        expect([f16ToFloat32(half)[0], bf16ToFloat32(brain)[0]]).toEqual([Number.NaN, Number.NaN]);
      } else {
        expect([half[0], brain[0]], f32_bits).toEqual([Number(f16), Number(bf16)]);
      }
    }
  });

  test('every half value survives a round trip', () => {
    const all = Uint16Array.from({ length: 65536 }, (_, i) => i);
    const f16 = f16ToFloat32(all);
    const back = float32ToF16(f16).bits;
    const wide = bf16ToFloat32(all);
    const backWide = float32ToBf16(wide).bits;
    const changed = [...all.keys()].filter(
      (i) => (!Number.isNaN(f16[i]) && back[i] !== i) || (!Number.isNaN(wide[i]) && backWide[i] !== i),
    );
    expect(changed).toEqual([]);
    expect(bits(f16)[1]).toBe(0x33800000);
  });
});

describe('what is refused', () => {
  test.each([
    ['an empty file', new ArrayBuffer(0), /w\.safetensors is not a safetensors file: it has 0 bytes/],
    ['a huge header length', new Uint8Array(16).fill(255).buffer, /does not begin with a header length/],
    ['a cut header', fileOf({ a: f32([1], 0, 4) }).slice(0, 20), /cut off inside its header/],
    ['a header that is not JSON', fileOf('{"a": '), /its header is not JSON/],
    ['a header that is a list', fileOf([]), /not a JSON object/],
    [
      'an unknown type',
      fileOf({ a: { dtype: 'F8_E4M3', shape: [4], data_offsets: [0, 4] } }, 4),
      /tensor "a" has the type "F8_E4M3"/,
    ],
    ['a negative size', fileOf({ a: f32([-1], 0, 4) }, 4), /tensor "a" has no valid shape/],
    ['no shape', fileOf({ a: f32(undefined, 0, 4) }, 4), /tensor "a" has no valid shape/],
    ['no description', fileOf({ a: null }), /tensor "a" has no description/],
    ['offsets in the wrong order', fileOf({ a: f32([1], 4, 0) }, 4), /tensor "a" has no valid data offsets/],
    [
      'a size that does not fit the shape',
      fileOf({ a: f32([2], 0, 4) }, 4),
      /has 4 bytes, but its shape \[2\] of F32 needs 8/,
    ],
    [
      'cut data',
      fileOf({ a: f32([2], 0, 8) }, 5),
      /tensor "a" ends at byte 8 of the data, but the file holds 5: it is cut off/,
    ],
    ['overlapping tensors', fileOf({ a: f32([2], 0, 8), b: f32([2], 4, 12) }, 12), /tensor "b" overlaps/],
    ['a hole', fileOf({ a: f32([1], 0, 4), b: f32([1], 8, 12) }, 12), /tensor "b" leaves a gap/],
    ['bytes at the end', fileOf({ a: f32([1], 0, 4) }, 7), /3 bytes that belong to no tensor/],
  ])('%s', (_, buffer, message) => {
    expect(() => readSafetensors(buffer, 'w.safetensors')).toThrow(UserError);
    expect(() => readSafetensors(buffer, 'w.safetensors')).toThrow(message);
  });

  const { bytes } = writeSafetensors(sample);
  const readOrUserError = (buffer: ArrayBuffer) => {
    try {
      return readSafetensors(buffer, 'x').tensors;
    } catch (error) {
      expect(error).toBeInstanceOf(UserError);
      return null;
    }
  };

  test('every cut of a file', () => {
    for (let length = 0; length < bytes.length; length++)
      expect(readOrUserError(bytes.buffer.slice(0, length)), `${length} bytes`).toBeNull();
  });

  test('garbled bytes and noise never crash it otherwise', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { minLength: 1, maxLength: 6 }),
        (edits) => {
          const copy = bytes.slice();
          for (const [at, value] of edits) copy[at] = value;
          readOrUserError(copy.buffer);
        },
      ),
      { numRuns: 2000 },
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => {
        readOrUserError(noise.slice().buffer);
      }),
      { numRuns: 500 },
    );
  });

  test('any JSON as the header', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(16), (json, data) => {
        readOrUserError(fileOf(json, data));
      }),
      { numRuns: 500 },
    );
  });
});
