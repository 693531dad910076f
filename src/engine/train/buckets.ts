/**
 * Shapes come in buckets, so that few steps have to be captured: lengths are rounded up to multiples of 32, rows to a
 * short list of sizes. Padding is never seen by attention and never counts in a loss.
 */
import { type Batch, PADDING_SEGMENT } from '../data/packing.ts';

/** Lengths on a GPU are rounded up to this. */
export const LENGTH_MULTIPLE = 32;

/** 1, 2, 3, 4, 6, 8, 12, 16, 24, …: at most a third of the rows is padding. */
function rowsBucket(rows: number): number {
  if (rows <= 2) return rows;
  const power = 2 ** Math.floor(Math.log2(rows));
  return [power, 1.5 * power, 2 * power].find((size) => size >= rows)!;
}

export function bucketOf({ B, T }: { B: number; T: number }): { B: number; T: number } {
  return { B: rowsBucket(B), T: Math.ceil(T / LENGTH_MULTIPLE) * LENGTH_MULTIPLE };
}

/** The batch as B rows of T slots, with padding behind its own rows and slots. */
export function padTo(
  batch: Pick<Batch, 'B' | 'T' | 'tokens' | 'positions' | 'branches' | 'targets'>,
  B: number,
  T: number,
): Record<'tokens' | 'positions' | 'branches' | 'targets', Int32Array> {
  const pad = (values: Int32Array, filler: number) => {
    const out = new Int32Array(B * T).fill(filler);
    for (let row = 0; row < batch.B; row++)
      out.set(values.subarray(row * batch.T, (row + 1) * batch.T), row * T);
    return out;
  };
  return {
    tokens: pad(batch.tokens, 0),
    positions: pad(batch.positions, 0),
    branches: pad(batch.branches, PADDING_SEGMENT << 16),
    targets: pad(batch.targets, -1),
  };
}
