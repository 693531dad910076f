/**
 * Counter-based random numbers: a number depends only on its key and counter, never on call order, so a run can
 * be repeated, resumed and split over a GPU exactly. The same integer hash is written in WGSL (`hash32Wgsl`).
 */

/** 32-bit finaliser with low bias (C. Wellons, "Prospecting for hash functions", 2018: lowbias32). */
export function hash32(x: number): number {
  let h = x >>> 0;
  h = Math.imul(h ^ (h >>> 16), 0x7feb352d);
  h = Math.imul(h ^ (h >>> 15), 0x846ca68b);
  return (h ^ (h >>> 16)) >>> 0;
}

/** Folds integers into one 32-bit key, order mattering: `key(seed, stage, step, prompt, sample, lane)`. */
export function foldKey(...parts: number[]): number {
  let h = 0x9e3779b9;
  for (const part of parts) h = hash32((Math.imul(h, 0x01000193) ^ hash32(part)) >>> 0);
  return h;
}

/** Number `counter` of the stream `key`, uniform in [0, 1) with 24 random bits (exact in float32). */
export function uniformAt(key: number, counter: number): number {
  return (hash32((key ^ hash32((counter + 0x632be5ab) >>> 0)) >>> 0) >>> 8) / 16777216;
}

/** WGSL twin of `hash32` and `uniformAt`. */
export const hash32Wgsl = /* wgsl */ `
fn hash32(x: u32) -> u32 {
  var h = x;
  h = (h ^ (h >> 16u)) * 0x7feb352du;
  h = (h ^ (h >> 15u)) * 0x846ca68bu;
  return h ^ (h >> 16u);
}
fn uniform_at(key: u32, counter: u32) -> f32 {
  return f32(hash32(key ^ hash32(counter + 0x632be5abu)) >> 8u) / 16777216.0;
}
`;

/** WGSL twin of `foldKey` with two parts, and the 24 bits that `uniformAt` is made of; needs `hash32Wgsl`. */
export const foldKeyWgsl = /* wgsl */ `
fn fold_part(key: u32, part: u32) -> u32 { return hash32((key * 0x01000193u) ^ hash32(part)); }
fn fold_key(a: u32, b: u32) -> u32 { return fold_part(fold_part(0x9e3779b9u, a), b); }
fn bits_at(key: u32, counter: u32) -> u32 { return hash32(key ^ hash32(counter + 0x632be5abu)) >> 8u; }
`;

/** A sequential view of one stream, for generators of data. */
export class Rng {
  private counter = 0;
  readonly key: number;

  constructor(...parts: number[]) {
    this.key = foldKey(...parts);
  }

  /** Uniform in [0, 1). */
  next(): number {
    return uniformAt(this.key, this.counter++);
  }

  /** Integer, uniform in [0, n). */
  int(n: number): number {
    return Math.floor(this.next() * n);
  }

  /** Standard normal (Box–Muller). */
  normal(): number {
    const u = 1 - this.next();
    return Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * this.next());
  }

  pick<T>(items: readonly T[]): T {
    return items[this.int(items.length)];
  }

  /** Key of `weights`, drawn in proportion to its value. */
  weighted<K extends string>(weights: Readonly<Partial<Record<K, number>>>): K {
    const entries = Object.entries(weights) as [K, number][];
    let u = this.next() * entries.reduce((sum, [, w]) => sum + w, 0);
    for (const [name, weight] of entries) {
      u -= weight;
      if (u < 0) return name;
    }
    return entries[entries.length - 1][0];
  }

  /** Fisher–Yates, in place. */
  shuffle<T>(items: T[]): T[] {
    for (let i = items.length - 1; i > 0; i--) {
      const j = this.int(i + 1);
      [items[i], items[j]] = [items[j], items[i]];
    }
    return items;
  }
}
