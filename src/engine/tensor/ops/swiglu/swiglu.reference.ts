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
