/** Weights kept as two IEEE float16 a 32-bit word, the lower half first. */
import { f16ToFloat32 } from '../../../../base/half.ts';

/** The numbers in `words`, twice as many. */
export function unpackHalves(words: ArrayLike<number>): Float32Array {
  return f16ToFloat32(new Uint16Array(Int32Array.from(words).buffer));
}
