import type { HostArray } from '../../tfjs.ts';

/** y[n] = w[ids[n]]. */
export function embeddingReference(
  [w, ids]: readonly HostArray[],
  [y]: readonly HostArray[],
  C: number,
): void {
  for (let n = 0; n < ids.length; n++) y.set(w.subarray(ids[n] * C, (ids[n] + 1) * C), n * C);
}

/** dw[v] = Σ over n with ids[n] = v of dy[n], in the order of n: the same sum on every run. */
export function embeddingGradReference(
  [ids, dy]: readonly HostArray[],
  [dw]: readonly HostArray[],
  C: number,
): void {
  for (let n = 0; n < ids.length; n++) {
    const row = ids[n] * C;
    for (let c = 0; c < C; c++) dw[row + c] += dy[n * C + c];
  }
}
