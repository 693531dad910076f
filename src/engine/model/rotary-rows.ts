/**
 * Row order of q and k. Meta's Llama rotates neighbouring numbers of a head, transformers number i with i + D/2; GGUF
 * files of Llama models and llama2.c keep Meta's order.
 */

/** The inverse of `pairsToHalves`: row j·D/2 + i of a head becomes row 2i + j. */
export function halvesToPairs(values: Float32Array, heads: number, D: number): Float32Array {
  const width = values.length / (heads * D);
  const out = new Float32Array(values.length);
  for (let head = 0; head < heads; head++)
    for (let row = 0; row < D; row++) {
      const from = (head * D + (row % 2) * (D / 2) + (row >> 1)) * width;
      out.set(values.subarray(from, from + width), (head * D + row) * width);
    }
  return out;
}

/** Rows (H·D, …) of neighbouring pairs → rows of halves: row 2i + j of a head becomes row j·D/2 + i. */
export function pairsToHalves(values: Float32Array, heads: number, D: number): Float32Array {
  const width = values.length / (heads * D); // 1 for a bias
  const out = new Float32Array(values.length);
  for (let head = 0; head < heads; head++)
    for (let row = 0; row < D; row++) {
      const from = (head * D + row) * width;
      const to = head * D + (row % 2) * (D / 2) + (row >> 1);
      out.set(values.subarray(from, from + width), to * width);
    }
  return out;
}
