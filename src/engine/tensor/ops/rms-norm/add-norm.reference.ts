import type { HostArray } from '../../tfjs.ts';
import { rmsNormGradReference, rmsNormReference } from './rms-norm.reference.ts';

/** See `addNormOp`. */
export function addNormReference(
  [x, r, w]: readonly HostArray[],
  [sum, y, inv]: readonly HostArray[],
  eps: number,
): void {
  for (let i = 0; i < sum.length; i++) sum[i] = x[i] + r[i];
  rmsNormReference([sum, w], [y, inv], eps);
}

/** See `normGradAddOp`. */
export function normGradAddReference(
  [dy, x, w, inv, dw, dres]: readonly HostArray[],
  [dx]: readonly HostArray[],
  residual: boolean,
): void {
  const added = new Float32Array(dw.length);
  rmsNormGradReference([dy, x, w, inv], [dx, added]);
  for (let c = 0; c < dw.length; c++) dw[c] += added[c];
  if (residual) for (let i = 0; i < dx.length; i++) dx[i] += dres[i];
}
