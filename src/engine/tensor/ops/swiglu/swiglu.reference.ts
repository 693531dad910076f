import type { HostArray } from '../../tfjs.ts';

/** y = silu(gate) · up with silu(z) = z / (1 + e^−z). */
export function swigluReference([gate, up]: readonly HostArray[], [y]: readonly HostArray[]): void {
  for (let i = 0; i < y.length; i++) y[i] = (gate[i] / (1 + Math.exp(-gate[i]))) * up[i];
}

/** silu'(z) = s·(1 + z·(1 − s)) with s = 1 / (1 + e^−z). */
export function swigluGradReference(
  [dy, gate, up]: readonly HostArray[],
  [dgate, dup]: readonly HostArray[],
): void {
  for (let i = 0; i < dy.length; i++) {
    const z = gate[i];
    const s = 1 / (1 + Math.exp(-z));
    dgate[i] = dy[i] * up[i] * s * (1 + z * (1 - s));
    dup[i] = dy[i] * z * s;
  }
}

/** `swigluReference` on rows of F gates and F ups. */
export function swigluPackedReference(
  [gu]: readonly HostArray[],
  [y]: readonly HostArray[],
  F: number,
): void {
  for (let at = 0; at < y.length; at += F) {
    const gate = gu.subarray(2 * at, 2 * at + F);
    swigluReference([gate, gu.subarray(2 * at + F, 2 * at + 2 * F)], [y.subarray(at, at + F)]);
  }
}

/** `swigluGradReference` on rows of F gates and F ups. */
export function swigluPackedGradReference(
  [dy, gu]: readonly HostArray[],
  [dgu]: readonly HostArray[],
  F: number,
): void {
  for (let at = 0; at < dy.length; at += F) {
    const halves = (x: HostArray) => [x.subarray(2 * at, 2 * at + F), x.subarray(2 * at + F, 2 * at + 2 * F)];
    swigluGradReference([dy.subarray(at, at + F), ...halves(gu)], halves(dgu));
  }
}
