import type { HostArray } from '../../tfjs.ts';

/**
 * Per row of logits (N, V): logp[n] = log softmax(logits/τ)[target] (0 for target −1), entropy[n] in nats, and
 * lse[n] = log Σ exp(logits/τ).
 */
export function logitLossReference(
  [logits, targets]: readonly HostArray[],
  [logp, entropy, lse]: readonly HostArray[],
  V: number,
  temperature: number,
): void {
  const N = targets.length;
  const scale = 1 / temperature;
  for (let n = 0; n < N; n++) {
    const row = n * V;
    let max = -Infinity;
    for (let v = 0; v < V; v++) if (logits[row + v] > max) max = logits[row + v];
    let sum = 0;
    let weighted = 0;
    for (let v = 0; v < V; v++) {
      const shifted = (logits[row + v] - max) * scale;
      const e = Math.exp(shifted);
      sum += e;
      weighted += e * shifted;
    }
    const logSum = Math.log(sum);
    lse[n] = logSum + max * scale;
    // H = log Σe^s − Σ p·s, with s the shifted logits
    entropy[n] = logSum - weighted / sum;
    if (targets[n] >= 0) logp[n] = (logits[row + targets[n]] - max) * scale - logSum;
  }
}

/** dlogits = (dlogp·(onehot − p) − dentropy·p·(log p + H)) / τ. */
export function logitLossGradReference(
  [logits, targets, lse, entropy, dlogp, dentropy]: readonly HostArray[],
  [dlogits]: readonly HostArray[],
  V: number,
  temperature: number,
): void {
  const N = targets.length;
  const scale = 1 / temperature;
  for (let n = 0; n < N; n++) {
    const row = n * V;
    const a = targets[n] >= 0 ? dlogp[n] * scale : 0;
    const b = dentropy[n] * scale;
    if (a === 0 && b === 0) continue;
    for (let v = 0; v < V; v++) {
      const logP = logits[row + v] * scale - lse[n];
      const p = Math.exp(logP);
      dlogits[row + v] = -a * p - b * p * (logP + entropy[n]);
    }
    if (targets[n] >= 0) dlogits[row + targets[n]] += a;
  }
}
