import type { HostArray } from '../../tfjs.ts';

/** y = x / sqrt(mean(x²) + eps) · w per row, and inv = 1 / sqrt(mean(x²) + eps). */
export function rmsNormReference(
  [x, w]: readonly HostArray[],
  [y, inv]: readonly HostArray[],
  eps: number,
): void {
  const C = w.length;
  const N = inv.length;
  for (let n = 0; n < N; n++) {
    const row = n * C;
    let sum = 0;
    for (let c = 0; c < C; c++) sum += x[row + c] * x[row + c];
    const scale = 1 / Math.sqrt(sum / C + eps);
    inv[n] = scale;
    for (let c = 0; c < C; c++) y[row + c] = x[row + c] * scale * w[c];
  }
}

/** dx = inv·(dy·w − x·inv²·mean(dy·w·x)), dw = Σ_n dy·x·inv. */
export function rmsNormGradReference(
  [dy, x, w, inv]: readonly HostArray[],
  [dx, dw]: readonly HostArray[],
): void {
  const C = w.length;
  const N = inv.length;
  const sums = new Float64Array(C);
  for (let n = 0; n < N; n++) {
    const row = n * C;
    const scale = inv[n];
    let dot = 0;
    for (let c = 0; c < C; c++) dot += dy[row + c] * w[c] * x[row + c];
    const pull = (dot / C) * scale * scale;
    for (let c = 0; c < C; c++) {
      dx[row + c] = scale * (dy[row + c] * w[c] - x[row + c] * pull);
      sums[c] += dy[row + c] * x[row + c] * scale;
    }
  }
  for (let c = 0; c < C; c++) dw[c] = sums[c];
}
