import type { HostArray } from '../../tfjs.ts';

/** y[n, o] = α·Σ_i x[n, i]·w[o, i] (+ b[o]) (+ r[n, o]). */
export function linearReference(
  { x, w, b, r }: { x: HostArray; w: HostArray; b: HostArray | null; r: HostArray | null },
  y: HostArray,
  { I, alpha }: { I: number; alpha: number },
): void {
  const O = w.length / I;
  const N = x.length / I;
  for (let n = 0; n < N; n++) {
    for (let o = 0; o < O; o++) {
      let sum = 0;
      for (let i = 0; i < I; i++) sum += x[n * I + i] * w[o * I + i];
      y[n * O + o] = alpha * sum + (b ? b[o] : 0) + (r ? r[n * O + o] : 0);
    }
  }
}

/** dx[n, i] = α·Σ_o dy[n, o]·w[o, i] (+ r[n, i]). */
export function linearInputGradReference(
  { dy, w, r }: { dy: HostArray; w: HostArray; r: HostArray | null },
  dx: HostArray,
  { I, alpha }: { I: number; alpha: number },
): void {
  const O = w.length / I;
  const N = dy.length / O;
  for (let n = 0; n < N; n++)
    for (let i = 0; i < I; i++) {
      let sum = 0;
      for (let o = 0; o < O; o++) sum += dy[n * O + o] * w[o * I + i];
      dx[n * I + i] = alpha * sum + (r ? r[n * I + i] : 0);
    }
}

/** dw[o, i] += α·Σ_n dy[n, o]·x[n, i], db[o] += Σ_n dy[n, o]. */
export function linearWeightGradReference(
  { dy, x }: { dy: HostArray; x: HostArray },
  { dw, db }: { dw: HostArray; db: HostArray | null },
  { O, I, alpha }: { O: number; I: number; alpha: number },
): void {
  const N = x.length / I;
  for (let o = 0; o < O; o++) {
    for (let i = 0; i < I; i++) {
      let sum = 0;
      for (let n = 0; n < N; n++) sum += dy[n * O + o] * x[n * I + i];
      dw[o * I + i] += alpha * sum;
    }
    if (!db) continue;
    let sum = 0;
    for (let n = 0; n < N; n++) sum += dy[n * O + o];
    db[o] += sum;
  }
}
