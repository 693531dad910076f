import type { HostArray } from '../../tfjs.ts';
import { attendHead, branchSees } from '../rope-attention/attend.reference.ts';
import { rotate } from '../rope-attention/rope-attention.reference.ts';
import { rotatePackedReference } from '../rope-attention/rotate-packed.reference.ts';

export interface CachedAttentionAttributes {
  /** Cache slots of one row. */
  slotsPerRow: number;
  H: number;
  Hkv: number;
  D: number;
}

/** Stores rotated keys, values and branch codes, then attends. Lanes with a negative slot are left out. */
function storeAndAttend(
  [qr, kr, v]: readonly HostArray[],
  [cacheK, cacheV, cacheBranches]: readonly HostArray[],
  [branches, slots]: readonly HostArray[],
  out: HostArray,
  { slotsPerRow, H, Hkv, D }: CachedAttentionAttributes,
): void {
  const N = slots.length;
  const width = Hkv * D;
  for (let n = 0; n < N; n++) {
    if (slots[n] < 0) continue;
    const at = slots[n] * width;
    for (let i = 0; i < width; i++) {
      cacheK[at + i] = kr[n * width + i];
      cacheV[at + i] = v[n * width + i];
    }
    cacheBranches[slots[n]] = branches[n];
  }
  const group = H / Hkv;
  const seen = new Int32Array(slotsPerRow);
  const keys = new Int32Array(slotsPerRow);
  const scores = new Float64Array(slotsPerRow);
  for (let n = 0; n < N; n++) {
    if (slots[n] < 0) continue;
    const first = Math.floor(slots[n] / slotsPerRow) * slotsPerRow;
    let count = 0;
    for (let m = first; m <= slots[n]; m++) if (branchSees(branches[n], cacheBranches[m])) seen[count++] = m;
    for (let h = 0; h < H; h++) {
      const kvHead = Math.floor(h / group) * D;
      for (let j = 0; j < count; j++) keys[j] = seen[j] * width + kvHead;
      attendHead(qr, cacheK, cacheV, out, (n * H + h) * D, D, keys, count, scores);
    }
  }
}

/** See `cachedAttentionOp`. */
export function cachedAttentionReference(
  [q, k, v, cacheK, cacheV, cacheBranches, cos, sin, positions, branches, slots]: readonly HostArray[],
  [out]: readonly HostArray[],
  attributes: CachedAttentionAttributes,
): void {
  const { H, Hkv, D } = attributes;
  const qr = new Float32Array(q.length);
  const kr = new Float32Array(k.length);
  rotate(q, qr, positions, [cos, sin], H, D, 1 / Math.sqrt(D), 1);
  rotate(k, kr, positions, [cos, sin], Hkv, D, 1, 1);
  storeAndAttend([qr, kr, v], [cacheK, cacheV, cacheBranches], [branches, slots], out, attributes);
}

/** See `cachedAttentionPackedOp`. */
export function cachedAttentionPackedReference(
  [qkv, cacheK, cacheV, cacheBranches, cos, sin, lanes]: readonly HostArray[],
  [out]: readonly HostArray[],
  attributes: CachedAttentionAttributes,
  stride: number,
): void {
  const { H, Hkv, D } = attributes;
  const N = qkv.length / ((H + 2 * Hkv) * D);
  const [positions, branches, slots] = [0, 1, 2].map((p) => lanes.subarray(p * stride, p * stride + N));
  const rows = [H, Hkv, Hkv].map((heads) => new Float32Array(N * heads * D));
  rotatePackedReference([qkv, cos, sin, positions], rows, attributes);
  storeAndAttend(rows, [cacheK, cacheV, cacheBranches], [branches, slots], out, attributes);
}
