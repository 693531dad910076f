/** Half precision: IEEE float16 and bfloat16, rounding to nearest, ties to even. */

const word = new Uint32Array(1);
const real = new Float32Array(word.buffer);

export function f16ToFloat32(bits: Uint16Array): Float32Array {
  const out = new Float32Array(bits.length);
  for (let i = 0; i < bits.length; i++) {
    const h = bits[i];
    const exponent = (h >> 10) & 31;
    const fraction = h & 0x3ff;
    const magnitude =
      exponent === 0
        ? fraction * 2 ** -24
        : exponent === 31
          ? fraction
            ? Number.NaN
            : Number.POSITIVE_INFINITY
          : (1 + fraction / 1024) * 2 ** (exponent - 15);
    out[i] = h & 0x8000 ? -magnitude : magnitude;
  }
  return out;
}

export function bf16ToFloat32(bits: Uint16Array): Float32Array {
  const out = new Float32Array(bits.length);
  const words = new Uint32Array(out.buffer);
  for (let i = 0; i < bits.length; i++) words[i] = bits[i] << 16;
  return out;
}

/** Half bits of each value. `overflows` counts finite values that became infinite. */
interface HalfArray {
  bits: Uint16Array;
  overflows: number;
}

function f16Bits(value: number): number {
  real[0] = value;
  const x = word[0];
  const sign = (x >>> 16) & 0x8000;
  const magnitude = x & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  // 65520 and more round to infinity.
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  if (magnitude >= 0x38800000) {
    const rounded = magnitude + 0xfff + ((magnitude >>> 13) & 1);
    return sign | ((rounded - 0x38000000) >>> 13);
  }
  // Subnormal: multiples of 2^-24. The product is exact in float64, so one rounding remains.
  const units = Math.abs(value) * 2 ** 24;
  const floor = Math.floor(units);
  const rest = units - floor;
  return sign | (rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor);
}

export function float32ToF16(values: Float32Array): HalfArray {
  const bits = new Uint16Array(values.length);
  let overflows = 0;
  for (let i = 0; i < values.length; i++) {
    bits[i] = f16Bits(values[i]);
    if ((bits[i] & 0x7fff) === 0x7c00 && Number.isFinite(values[i])) overflows++;
  }
  return { bits, overflows };
}

export function float32ToBf16(values: Float32Array): HalfArray {
  const bits = new Uint16Array(values.length);
  let overflows = 0;
  for (let i = 0; i < values.length; i++) {
    real[0] = values[i];
    const x = word[0];
    bits[i] = Number.isNaN(values[i]) ? 0x7fc0 : (x + 0x7fff + ((x >>> 16) & 1)) >>> 16;
    if ((bits[i] & 0x7fff) === 0x7f80 && Number.isFinite(values[i])) overflows++;
  }
  return { bits, overflows };
}
