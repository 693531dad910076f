/** Weights kept as two IEEE float16 a 32-bit word, the lower half first. */

function float16(bits: number): number {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 0x3ff;
  const magnitude =
    exponent === 0
      ? fraction * 2 ** -24
      : exponent === 31
        ? fraction
          ? Number.NaN
          : Number.POSITIVE_INFINITY
        : (1 + fraction / 1024) * 2 ** (exponent - 15);
  return bits & 0x8000 ? -magnitude : magnitude;
}

/** The numbers in `words`, twice as many. */
export function unpackHalves(words: ArrayLike<number>): Float32Array {
  const values = new Float32Array(2 * words.length);
  for (let i = 0; i < words.length; i++) {
    values[2 * i] = float16(words[i] & 0xffff);
    values[2 * i + 1] = float16(words[i] >>> 16);
  }
  return values;
}
