import type { HostArray } from '../../tfjs.ts';

/** y[n, o] = Σ_i x[n, i]·w[o, i] (+ b[o]). */
export function linearReference([x, w, b]: readonly HostArray[], [y]: readonly HostArray[], I: number): void {
  const O = w.length / I;
  const N = x.length / I;
  for (let n = 0; n < N; n++) {
    for (let o = 0; o < O; o++) {
      let sum = b ? b[o] : 0;
      for (let i = 0; i < I; i++) sum += x[n * I + i] * w[o * I + i];
      y[n * O + o] = sum;
    }
  }
}

/** dx[n, i] = Σ_o dy[n, o]·w[o, i]. */
export function linearInputGradReference(
  [dy, w]: readonly HostArray[],
  [dx]: readonly HostArray[],
  I: number,
): void {
  const O = w.length / I;
  const N = dy.length / O;
  for (let n = 0; n < N; n++)
    for (let o = 0; o < O; o++) {
      const d = dy[n * O + o];
      for (let i = 0; i < I; i++) dx[n * I + i] += d * w[o * I + i];
    }
}

/** dw[o, i] = Σ_n dy[n, o]·x[n, i]. */
export function linearWeightGradReference(
  [dy, x]: readonly HostArray[],
  [dw]: readonly HostArray[],
  O: number,
  I: number,
): void {
  const N = x.length / I;
  for (let n = 0; n < N; n++)
    for (let o = 0; o < O; o++) {
      const d = dy[n * O + o];
      for (let i = 0; i < I; i++) dw[o * I + i] += d * x[n * I + i];
    }
}
