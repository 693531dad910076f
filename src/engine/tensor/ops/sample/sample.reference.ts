import { uniformAt } from '../../../../base/rng.ts';
import type { HostArray } from '../../tfjs.ts';

export interface SampleAttributes {
  /** 0 = greedy. */
  temperature: number;
  /** 0 = off. */
  topK: number;
  /** 1 = off. */
  topP: number;
  /** 0 = off. */
  minP: number;
}

/**
 * Which tokens survive the filters, as a 0/1 mask over V, in Hugging Face's order: temperature (already applied to
 * `scores`), top-k, top-p, min-p. −Infinity never survives.
 */
export function keptTokens(scores: Float64Array, { topK, topP, minP }: SampleAttributes): Uint8Array {
  const V = scores.length;
  const kept = new Uint8Array(V);
  for (let v = 0; v < V; v++) kept[v] = scores[v] > -Infinity ? 1 : 0;
  if (topK > 0 && topK < V) {
    const threshold = Float64Array.from(scores).sort()[V - topK];
    for (let v = 0; v < V; v++) if (scores[v] < threshold) kept[v] = 0;
  }
  const alive = () => Array.from(kept.keys()).filter((v) => kept[v]);
  if (topP < 1) {
    const ids = alive().sort((a, b) => scores[b] - scores[a] || a - b);
    const max = scores[ids[0]];
    const total = ids.reduce((sum, v) => sum + Math.exp(scores[v] - max), 0);
    let above = 0;
    ids.forEach((v, rank) => {
      if (rank > 0 && above >= topP * total) kept[v] = 0;
      above += Math.exp(scores[v] - max);
    });
  }
  if (minP > 0) {
    const ids = alive();
    const max = Math.max(...ids.map((v) => scores[v]));
    for (const v of ids) if (Math.exp(scores[v] - max) < minP) kept[v] = 0;
  }
  return kept;
}

/** One token per row; see `sampleOp`. */
export function sampleReference(
  [logits, keys, counters, banned]: readonly HostArray[],
  [ids, logp]: readonly HostArray[],
  V: number,
  attributes: SampleAttributes,
): void {
  const { temperature, topK, topP, minP } = attributes;
  const greedy = temperature === 0;
  const scale = greedy ? 1 : 1 / temperature;
  const filtered = !greedy && (topK > 0 || topP < 1 || minP > 0);
  const scores = new Float64Array(V);
  for (let n = 0; n < keys.length; n++) {
    const row = n * V;
    let max = -Infinity;
    for (let v = 0; v < V; v++) {
      scores[v] = logits[row + v] * scale;
      if (scores[v] > max) max = scores[v];
    }
    let sum = 0;
    for (let v = 0; v < V; v++) sum += Math.exp(scores[v] - max);
    const lse = max + Math.log(sum);
    const own = banned[n] >= 0 ? scores[banned[n]] : 0;
    if (banned[n] >= 0) scores[banned[n]] = -Infinity;
    let choice = -1;
    if (greedy) {
      let best = -Infinity;
      for (let v = 0; v < V; v++)
        if (scores[v] > best) {
          best = scores[v];
          choice = v;
        }
    } else {
      const kept = filtered ? keptTokens(scores, attributes) : null;
      let total = 0;
      for (let v = 0; v < V; v++) if (!kept || kept[v]) total += Math.exp(scores[v] - max);
      const threshold = uniformAt(keys[n] >>> 0, counters[n]) * total;
      let cumulative = 0;
      for (let v = 0; v < V; v++) {
        if (scores[v] === -Infinity || (kept && !kept[v])) continue;
        cumulative += Math.exp(scores[v] - max);
        choice = v;
        if (cumulative > threshold) break;
      }
    }
    ids[n] = choice;
    logp[n] = (choice === banned[n] ? own : scores[choice]) - lse;
  }
}
