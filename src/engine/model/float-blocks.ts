/** The plain number formats of weights as blocks of one value. */
import { bf16ToFloat32, f16ToFloat32 } from '../../base/half.ts';
import type { BlockFormat } from './blobs.ts';

const half = (convert: (bits: Uint16Array) => Float32Array): BlockFormat => ({
  bytes: 2,
  values: 1,
  decode: (bytes, out, at) => out.set(convert(new Uint16Array(bytes.buffer, 0, bytes.length / 2)), at),
});

export const F32: BlockFormat = {
  bytes: 4,
  values: 1,
  decode: (bytes, out, at) => out.set(new Float32Array(bytes.buffer, 0, bytes.length / 4), at),
};
export const F16 = half(f16ToFloat32);
export const BF16 = half(bf16ToFloat32);
export const F64: BlockFormat = {
  bytes: 8,
  values: 1,
  decode: (bytes, out, at) => out.set(new Float64Array(bytes.buffer, 0, bytes.length / 8), at),
};
