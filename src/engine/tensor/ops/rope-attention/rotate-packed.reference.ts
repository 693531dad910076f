import type { HostArray } from '../../tfjs.ts';
import type { AttentionAttributes } from './attend.reference.ts';
import { rotate } from './rope-attention.reference.ts';

export type HeadAttributes = Pick<AttentionAttributes, 'H' | 'Hkv' | 'D'>;

/** Copies columns of all rows: `count` from column `from` of x (width) to column `to` of y (toWidth). */
function copyColumns(
  [x, width, from]: readonly [HostArray, number, number],
  [y, toWidth, to]: readonly [HostArray, number, number],
  count: number,
): void {
  for (let n = 0; n * width < x.length; n++)
    for (let i = 0; i < count; i++) y[n * toWidth + to + i] = x[n * width + from + i];
}

/** See `rotatePackedOp`. */
export function rotatePackedReference(
  [qkv, cos, sin, positions]: readonly HostArray[],
  [qr, kr, v]: readonly HostArray[],
  { H, Hkv, D }: HeadAttributes,
): void {
  const width = (H + 2 * Hkv) * D;
  copyColumns([qkv, width, 0], [qr, H * D, 0], H * D);
  copyColumns([qkv, width, H * D], [kr, Hkv * D, 0], Hkv * D);
  copyColumns([qkv, width, (H + Hkv) * D], [v, Hkv * D, 0], Hkv * D);
  rotate(qr, qr, positions, [cos, sin], H, D, 1 / Math.sqrt(D), 1);
  rotate(kr, kr, positions, [cos, sin], Hkv, D, 1, 1);
}

/** See `rotatePackedGradOp`. */
export function rotatePackedGradReference(
  [dqr, dkr, dv, cos, sin, positions]: readonly HostArray[],
  [dqkv]: readonly HostArray[],
  { H, Hkv, D }: HeadAttributes,
): void {
  const width = (H + 2 * Hkv) * D;
  const dq = new Float32Array(dqr.length);
  const dk = new Float32Array(dkr.length);
  rotate(dqr, dq, positions, [cos, sin], H, D, 1 / Math.sqrt(D), -1);
  rotate(dkr, dk, positions, [cos, sin], Hkv, D, 1, -1);
  copyColumns([dq, H * D, 0], [dqkv, width, 0], H * D);
  copyColumns([dk, Hkv * D, 0], [dqkv, width, H * D], Hkv * D);
  copyColumns([dv, Hkv * D, 0], [dqkv, width, (H + Hkv) * D], Hkv * D);
}
