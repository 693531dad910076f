import type { HostArray } from '../../tfjs.ts';

export interface AttentionAttributes {
  B: number;
  T: number;
  /** Query heads. */
  H: number;
  /** Key and value heads; query head h reads key head floor(h / (H / Hkv)). */
  Hkv: number;
  D: number;
}

/** Branch codes hold the example's number (packing) above these bits. */
export const SEGMENT_SHIFT = 16;
/** Segment number of padding slots: they see nothing and nothing sees them. */
export const PADDING_SEGMENT = 0x7fff;

/**
 * Does a token with branch code `a` see an earlier one with code `b`? Same example, and not two different paths of
 * one block. (Codes: example · 2¹⁶ + block · 16 + path; the trunk is 0.)
 */
export function branchSees(a: number, b: number): boolean {
  const difference = a ^ b;
  return difference === 0 || (difference >> 4 !== 0 && difference >> SEGMENT_SHIFT === 0);
}

/** Calls `visit` with each real token and the list of tokens that it sees (as many as `count`). */
function forVisible(
  branches: HostArray,
  B: number,
  T: number,
  visit: (n: number, seen: Int32Array, count: number) => void,
): void {
  const seen = new Int32Array(T);
  for (let b = 0; b < B; b++) {
    let start = b * T;
    for (let n = b * T; n < (b + 1) * T; n++) {
      const code = branches[n];
      const segment = code >> SEGMENT_SHIFT;
      if (segment === PADDING_SEGMENT) continue;
      // Packed examples lie one after the other, so nothing before the segment's first slot can be seen.
      if (branches[start] >> SEGMENT_SHIFT !== segment) start = n;
      let count = 0;
      for (let m = start; m <= n; m++) if (branchSees(code, branches[m])) seen[count++] = m;
      visit(n, seen, count);
    }
  }
}

/**
 * Attention of one query head over `count` keys, four at a time: the loops below are where a run on the CPU spends
 * its time, and one load of q then serves four products (2 to 3 times as fast as one key at a time, LOG.md).
 * @param at first element of the query (and output) head
 * @param keys element offsets of the visible keys' head
 * @returns log-sum-exp of the scores
 */
export function attendHead(
  q: HostArray,
  k: HostArray,
  v: HostArray,
  out: HostArray,
  at: number,
  D: number,
  keys: Int32Array,
  count: number,
  scores: Float64Array,
): number {
  let max = -Infinity;
  let j = 0;
  for (; j + 3 < count; j += 4) {
    const k0 = keys[j];
    const k1 = keys[j + 1];
    const k2 = keys[j + 2];
    const k3 = keys[j + 3];
    let s0 = 0;
    let s1 = 0;
    let s2 = 0;
    let s3 = 0;
    for (let d = 0; d < D; d++) {
      const x = q[at + d];
      s0 += x * k[k0 + d];
      s1 += x * k[k1 + d];
      s2 += x * k[k2 + d];
      s3 += x * k[k3 + d];
    }
    scores[j] = s0;
    scores[j + 1] = s1;
    scores[j + 2] = s2;
    scores[j + 3] = s3;
    max = Math.max(max, s0, s1, s2, s3);
  }
  for (; j < count; j++) {
    const k0 = keys[j];
    let s0 = 0;
    for (let d = 0; d < D; d++) s0 += q[at + d] * k[k0 + d];
    scores[j] = s0;
    max = Math.max(max, s0);
  }
  let total = 0;
  for (j = 0; j < count; j++) {
    const p = Math.exp(scores[j] - max);
    scores[j] = p;
    total += p;
  }
  const inverse = 1 / total;
  for (j = 0; j + 3 < count; j += 4) {
    const k0 = keys[j];
    const k1 = keys[j + 1];
    const k2 = keys[j + 2];
    const k3 = keys[j + 3];
    const p0 = scores[j] * inverse;
    const p1 = scores[j + 1] * inverse;
    const p2 = scores[j + 2] * inverse;
    const p3 = scores[j + 3] * inverse;
    for (let d = 0; d < D; d++)
      out[at + d] += p0 * v[k0 + d] + p1 * v[k1 + d] + p2 * v[k2 + d] + p3 * v[k3 + d];
  }
  for (; j < count; j++) {
    const k0 = keys[j];
    const p0 = scores[j] * inverse;
    for (let d = 0; d < D; d++) out[at + d] += p0 * v[k0 + d];
  }
  return max + Math.log(total);
}

/**
 * Attention of rotated rows over the keys that they see. Log-sum-exps go to `lse[(n·H + h)·stride]`.
 * See `attendOp`, and `ropeAttentionOp`.
 */
export function attendReference(
  [qr, kr, v, branches]: readonly HostArray[],
  [out, lse]: readonly HostArray[],
  { B, T, H, Hkv, D }: AttentionAttributes,
  stride: 1 | 2,
): void {
  const scores = new Float64Array(T);
  const keys = new Int32Array(T);
  const group = H / Hkv;
  forVisible(branches, B, T, (n, seen, count) => {
    for (let h = 0; h < H; h++) {
      const kvHead = Math.floor(h / group) * D;
      for (let j = 0; j < count; j++) keys[j] = seen[j] * Hkv * D + kvHead;
      const at = (n * H + h) * D;
      lse[(n * H + h) * stride] = attendHead(qr, kr, v, out, at, D, keys, count, scores);
    }
  });
}

/** Backward pass of `attendHead`: adds to dq, dk and dv (of the rotated q and k). */
function attendHeadGrad(
  dout: HostArray,
  q: HostArray,
  k: HostArray,
  v: HostArray,
  dq: HostArray,
  dk: HostArray,
  dv: HostArray,
  at: number,
  D: number,
  keys: Int32Array,
  count: number,
  lse: number,
  delta: number,
): void {
  let j = 0;
  for (; j + 3 < count; j += 4) {
    const k0 = keys[j];
    const k1 = keys[j + 1];
    const k2 = keys[j + 2];
    const k3 = keys[j + 3];
    let s0 = 0;
    let s1 = 0;
    let s2 = 0;
    let s3 = 0;
    let g0 = 0;
    let g1 = 0;
    let g2 = 0;
    let g3 = 0;
    for (let d = 0; d < D; d++) {
      const x = q[at + d];
      const g = dout[at + d];
      s0 += x * k[k0 + d];
      s1 += x * k[k1 + d];
      s2 += x * k[k2 + d];
      s3 += x * k[k3 + d];
      g0 += g * v[k0 + d];
      g1 += g * v[k1 + d];
      g2 += g * v[k2 + d];
      g3 += g * v[k3 + d];
    }
    const p0 = Math.exp(s0 - lse);
    const p1 = Math.exp(s1 - lse);
    const p2 = Math.exp(s2 - lse);
    const p3 = Math.exp(s3 - lse);
    const ds0 = p0 * (g0 - delta);
    const ds1 = p1 * (g1 - delta);
    const ds2 = p2 * (g2 - delta);
    const ds3 = p3 * (g3 - delta);
    for (let d = 0; d < D; d++) {
      const x = q[at + d];
      const g = dout[at + d];
      dq[at + d] += ds0 * k[k0 + d] + ds1 * k[k1 + d] + ds2 * k[k2 + d] + ds3 * k[k3 + d];
      dk[k0 + d] += ds0 * x;
      dk[k1 + d] += ds1 * x;
      dk[k2 + d] += ds2 * x;
      dk[k3 + d] += ds3 * x;
      dv[k0 + d] += p0 * g;
      dv[k1 + d] += p1 * g;
      dv[k2 + d] += p2 * g;
      dv[k3 + d] += p3 * g;
    }
  }
  for (; j < count; j++) {
    const k0 = keys[j];
    let s0 = 0;
    let g0 = 0;
    for (let d = 0; d < D; d++) {
      s0 += q[at + d] * k[k0 + d];
      g0 += dout[at + d] * v[k0 + d];
    }
    const p0 = Math.exp(s0 - lse);
    const ds0 = p0 * (g0 - delta);
    for (let d = 0; d < D; d++) {
      dq[at + d] += ds0 * k[k0 + d];
      dk[k0 + d] += ds0 * q[at + d];
      dv[k0 + d] += p0 * dout[at + d];
    }
  }
}

/**
 * Its backward pass: adds to dqr, dkr and dv. With a stride of 2, Δ goes into `lse` after each log-sum-exp.
 * See `attendGradOp`, and `ropeAttentionGradOp`.
 */
export function attendGradReference(
  [dout, qr, kr, v, branches, out, lse]: readonly HostArray[],
  [dqr, dkr, dv]: readonly HostArray[],
  { B, T, H, Hkv, D }: AttentionAttributes,
  stride: 1 | 2,
): void {
  const keys = new Int32Array(T);
  const group = H / Hkv;
  forVisible(branches, B, T, (n, seen, count) => {
    for (let h = 0; h < H; h++) {
      const at = (n * H + h) * D;
      const kvHead = Math.floor(h / group) * D;
      for (let j = 0; j < count; j++) keys[j] = seen[j] * Hkv * D + kvHead;
      // Δ = Σ_j p_j·dp_j = dout · out (FlashAttention, arXiv 2205.14135, appendix B.2)
      let delta = 0;
      for (let d = 0; d < D; d++) delta += dout[at + d] * out[at + d];
      const stat = (n * H + h) * stride;
      if (stride === 2) lse[stat + 1] = delta;
      attendHeadGrad(dout, qr, kr, v, dqr, dkr, dv, at, D, keys, count, lse[stat], delta);
    }
  });
}
