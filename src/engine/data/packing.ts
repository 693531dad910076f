/** Examples side by side in one batch. B rows of T slots; visibility stays within an example (its segment). */
import { assert } from '../../base/assert.ts';
import type { Example } from './example.ts';

/** Segment of padding: no example has it, so nothing sees padding. */
export const PADDING_SEGMENT = 0x7fff;

/**
 * A batch as flat arrays of B·T entries. Branch codes carry the example in their upper half: slot i sees slot j of the
 * same row iff j ≤ i, code(i) >> 16 = code(j) >> 16, and not (same block, different path).
 */
export interface Batch {
  B: number;
  T: number;
  tokens: Int32Array;
  positions: Int32Array;
  branches: Int32Array;
  /** Id of the token to predict at this slot: the example's next token if that is a target, else −1. */
  targets: Int32Array;
  /** Index of the slot's example, or −1 for padding. */
  rows: Int32Array;
  /** Index of the slot within its example. */
  slots: Int32Array;
}

function emptyBatch(B: number, T: number): Batch {
  const int = (value: number) => new Int32Array(B * T).fill(value);
  return {
    B,
    T,
    tokens: int(0),
    positions: int(0),
    branches: int(PADDING_SEGMENT << 16),
    targets: int(-1),
    rows: int(-1),
    slots: int(0),
  };
}

function place(batch: Batch, example: Example, row: number, segment: number, offset: number): void {
  const length = example.tokens.length;
  batch.tokens.set(example.tokens, offset);
  batch.positions.set(example.positions, offset);
  for (let t = 0; t < length; t++) {
    const branch = example.branches[t];
    assert(branch >= 0 && branch <= 0xffff, `branch code ${branch} does not fit into 16 bits`);
    batch.branches[offset + t] = (segment << 16) | branch;
    batch.rows[offset + t] = row;
    batch.slots[offset + t] = t;
    if (t + 1 < length && example.targets[t + 1]) batch.targets[offset + t] = example.tokens[t + 1];
  }
}

/** All examples behind one another in one row, without padding: B = 1, T = all their tokens. */
export function packRagged(examples: readonly Example[]): Batch {
  assert(examples.length > 0 && examples.length < PADDING_SEGMENT, `cannot pack ${examples.length} examples`);
  const total = examples.reduce((sum, example) => sum + example.tokens.length, 0);
  const batch = emptyBatch(1, total);
  let offset = 0;
  for (const [e, example] of examples.entries()) {
    place(batch, example, e, e, offset);
    offset += example.tokens.length;
  }
  return batch;
}

/** One example per row, padded on the right to the longest, rounded up to a multiple of `multipleOf`. */
export function packPadded(examples: readonly Example[], multipleOf = 1): Batch {
  assert(examples.length > 0, 'cannot pack 0 examples');
  const longest = examples.reduce((max, example) => Math.max(max, example.tokens.length), 1);
  const T = Math.ceil(longest / multipleOf) * multipleOf;
  const batch = emptyBatch(examples.length, T);
  for (const [e, example] of examples.entries()) place(batch, example, e, 0, e * T);
  return batch;
}

/**
 * Splits a batch into micro-batches of similar lengths, each with at most `maxTokens` slots once padded to a multiple
 * of `multipleOf`. An example that is longer than that stands alone. Shortest first; equal lengths keep their order.
 */
export function splitByTokens(examples: readonly Example[], maxTokens: number, multipleOf = 1): Example[][] {
  const sorted = [...examples].sort((a, b) => a.tokens.length - b.tokens.length);
  const out: Example[][] = [];
  let current: Example[] = [];
  for (const example of sorted) {
    const padded = Math.ceil(example.tokens.length / multipleOf) * multipleOf;
    // Sorted by length, so this example is the longest of its micro-batch.
    if (current.length > 0 && (current.length + 1) * padded > maxTokens) {
      out.push(current);
      current = [];
    }
    current.push(example);
  }
  if (current.length > 0) out.push(current);
  return out;
}
