import type { HostArray } from '../../tfjs.ts';
import type { LogitChunk } from './logit-chunk.ts';

/** Folds one piece of the logits into the running state of each row. */
export function logitChunkReference(
  [logits, targets, state]: readonly HostArray[],
  R: number,
  { temperature, firstId }: LogitChunk,
): void {
  for (let n = 0; n < targets.length; n++) {
    let [largest, sum, weighted, target] =
      firstId === 0 ? [-Infinity, 0, 0, 0] : state.subarray(4 * n, 4 * n + 4);
    let next = largest;
    for (let v = 0; v < R; v++) next = Math.max(next, logits[n * R + v] / temperature);
    const down = largest - next; // −∞ at the start, where sum is 0
    if (sum > 0) {
      weighted = (weighted + sum * down) * Math.exp(down);
      sum *= Math.exp(down);
    }
    largest = next;
    for (let v = 0; v < R; v++) {
      const shifted = logits[n * R + v] / temperature - largest;
      sum += Math.exp(shifted);
      weighted += Math.exp(shifted) * shifted;
    }
    const own = targets[n] - firstId;
    if (targets[n] >= 0 && own >= 0 && own < R) target = logits[n * R + own] / temperature;
    state.set([largest, sum, weighted, target], 4 * n);
  }
}

/** logp = x_target − lse, H = log Σe − Σe·s / Σe. */
export function logitFinishReference(
  [state, targets]: readonly HostArray[],
  [logp, entropy, lse]: readonly HostArray[],
): void {
  for (let n = 0; n < targets.length; n++) {
    const [largest, sum, weighted, target] = state.subarray(4 * n, 4 * n + 4);
    const logSum = Math.log(sum);
    lse[n] = largest + logSum;
    entropy[n] = logSum - weighted / sum;
    logp[n] = targets[n] >= 0 ? target - largest - logSum : 0;
  }
}

/** dlogits = (dlogp·(onehot − p) − dentropy·p·(log p + H)) / τ, in place of the logits. */
export function logitChunkGradReference(
  [logits, targets, lse, entropy, dlogp, dentropy]: readonly HostArray[],
  R: number,
  { temperature, firstId }: LogitChunk,
): void {
  for (let n = 0; n < targets.length; n++) {
    const a = targets[n] >= 0 ? dlogp[n] : 0;
    for (let v = 0; v < R; v++) {
      const logP = logits[n * R + v] / temperature - lse[n];
      const p = Math.exp(logP);
      const hit = targets[n] === firstId + v ? 1 : 0;
      logits[n * R + v] = (a * (hit - p) - dentropy[n] * p * (logP + entropy[n])) / temperature;
    }
  }
}
