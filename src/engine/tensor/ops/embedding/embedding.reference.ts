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

/** y[n] = piece[ids[n] − firstRow] where that row exists. */
export function embeddingRowsReference(
  [piece, ids, y]: readonly HostArray[],
  firstRow: number,
  C: number,
): void {
  const rows = piece.length / C;
  ids.forEach((id, n) => {
    const row = id - firstRow;
    if (row >= 0 && row < rows) y.set(piece.subarray(row * C, (row + 1) * C), n * C);
  });
}

/** dw[ids[n] − firstRow] += dy[n] where that row exists. */
export function embeddingGradAddReference(
  [ids, dy, dw]: readonly HostArray[],
  firstRow: number,
  C: number,
): void {
  const rows = dw.length / C;
  ids.forEach((id, n) => {
    const row = id - firstRow;
    if (row < 0 || row >= rows) return;
    for (let c = 0; c < C; c++) dw[row * C + c] += dy[n * C + c];
  });
}
