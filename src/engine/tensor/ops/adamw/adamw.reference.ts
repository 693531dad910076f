import type { HostArray } from '../../tfjs.ts';

/** sqrt(Σ g²) over all arrays. */
export function globalNormReference(gradients: readonly HostArray[], [norm]: readonly HostArray[]): void {
  let sum = 0;
  for (const g of gradients) for (let i = 0; i < g.length; i++) sum += g[i] * g[i];
  norm[0] = Math.sqrt(sum);
}

/** Numbers from … to − 1 learn at `multiplier` times the rate (tags that are new to a model, say); at most two a tensor. */
export interface RateRange {
  from: number;
  to: number;
  multiplier: number;
}

/** One AdamW step in place: inputs are [norm, hyper, p0, g0, m0, v0, p1, …]. */
export function adamwReference(
  inputs: readonly HostArray[],
  decay: readonly boolean[],
  ranges: readonly (readonly RateRange[])[] = [],
): void {
  const [norm, hyper] = inputs;
  const [rate, beta1, beta2, eps, weightDecay, maxNorm, correction1, correction2] = hyper;
  const clip = Math.min(1, maxNorm / (norm[0] + 1e-6));
  for (let t = 0; t < decay.length; t++) {
    const [p, g, m, v] = inputs.slice(2 + 4 * t, 6 + 4 * t);
    const inside = (i: number) => ranges[t]?.find(({ from, to }) => i >= from && i < to);
    for (let i = 0; i < p.length; i++) {
      const lr = rate * (inside(i)?.multiplier ?? 1);
      const keep = decay[t] ? 1 - lr * weightDecay : 1;
      const gradient = g[i] * clip;
      const mean = beta1 * m[i] + (1 - beta1) * gradient;
      const square = beta2 * v[i] + (1 - beta2) * gradient * gradient;
      m[i] = mean;
      v[i] = square;
      p[i] = p[i] * keep - (lr * (mean / correction1)) / (Math.sqrt(square / correction2) + eps);
    }
  }
}

/**
 * One AdamW step in place over flat arenas: inputs are [hyper, norm, p0, g0, m0, v0, p1, …]; `norm` gets the gradient
 * norm before clipping. Numbers up to `decayEnds[i]` of an arena decay. A norm that is not finite leaves all as it is.
 * Gradients are zero afterwards, ready for the next sum.
 */
export function arenaAdamwReference(
  inputs: readonly HostArray[],
  decayEnds: readonly number[],
  ranges: readonly (readonly RateRange[])[] = [],
): void {
  const [hyper, norm] = inputs;
  const arenas = decayEnds.map((_, i) => inputs.slice(2 + 4 * i, 6 + 4 * i));
  globalNormReference(
    arenas.map(([, g]) => g),
    [norm],
  );
  if (Number.isFinite(norm[0]))
    for (const [i, arena] of arenas.entries()) {
      const cut = (from: number, to: number) => arena.map((values) => values.subarray(from, to));
      const size = arena[0].length;
      const end = decayEnds[i];
      const own = ranges[i] ?? [];
      const shifted = own.map(({ from, to, multiplier }) => ({ from: from - end, to: to - end, multiplier }));
      adamwReference([norm, hyper, ...cut(0, end), ...cut(end, size)], [true, false], [own, shifted]);
    }
  for (const [, g] of arenas) g.fill(0);
}
