import type { HostArray } from '../../tfjs.ts';
import { type AttentionAttributes, attendGradReference, attendReference } from './attend.reference.ts';

/** Scratch arrays are kept between calls: these ops run thousands of times with similar sizes. */
const scratch = new Map<string, Float32Array>();
function scratchArray(name: string, size: number): Float32Array {
  let array = scratch.get(name);
  if (!array || array.length < size) {
    array = new Float32Array(Math.ceil(size * 1.25));
    scratch.set(name, array);
  }
  return array;
}

/** Rotates `heads` heads of every row of x (N, heads·D) by its position; `sign` −1 rotates back. */
export function rotate(
  x: HostArray,
  out: HostArray,
  positions: HostArray,
  [cos, sin]: readonly HostArray[],
  heads: number,
  D: number,
  factor: number,
  sign: 1 | -1,
): void {
  const half = D / 2;
  const width = heads * D;
  for (let n = 0; n < positions.length; n++) {
    const table = positions[n] * half;
    for (let h = 0; h < heads; h++) {
      const at = n * width + h * D;
      for (let i = 0; i < half; i++) {
        const c = cos[table + i] * factor;
        const s = sin[table + i] * factor * sign;
        const a = x[at + i];
        const b = x[at + half + i];
        out[at + i] = a * c - b * s;
        out[at + half + i] = b * c + a * s;
      }
    }
  }
}

/** See `ropeAttentionOp`. */
export function ropeAttentionReference(
  [q, k, v, cos, sin, positions, branches]: readonly HostArray[],
  outputs: readonly HostArray[],
  attributes: AttentionAttributes,
): void {
  const { H, Hkv, D } = attributes;
  const qr = scratchArray('q', q.length);
  const kr = scratchArray('k', k.length);
  rotate(q, qr, positions, [cos, sin], H, D, 1 / Math.sqrt(D), 1);
  rotate(k, kr, positions, [cos, sin], Hkv, D, 1, 1);
  attendReference([qr, kr, v, branches], outputs, attributes, 1);
}

/** See `ropeAttentionGradOp`. */
export function ropeAttentionGradReference(
  [dout, q, k, v, cos, sin, positions, branches, out, lse]: readonly HostArray[],
  [dq, dk, dv]: readonly HostArray[],
  attributes: AttentionAttributes,
): void {
  const { H, Hkv, D } = attributes;
  const scale = 1 / Math.sqrt(D);
  const qr = scratchArray('q', q.length);
  const kr = scratchArray('k', k.length);
  rotate(q, qr, positions, [cos, sin], H, D, scale, 1);
  rotate(k, kr, positions, [cos, sin], Hkv, D, 1, 1);
  const dqr = scratchArray('dq', q.length).fill(0, 0, q.length);
  const dkr = scratchArray('dk', k.length).fill(0, 0, k.length);
  attendGradReference([dout, qr, kr, v, branches, out, lse], [dqr, dkr, dv], attributes, 1);
  rotate(dqr, dq, positions, [cos, sin], H, D, scale, -1);
  rotate(dkr, dk, positions, [cos, sin], Hkv, D, 1, -1);
}
