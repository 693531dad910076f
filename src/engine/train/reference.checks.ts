/** Checks of the frozen reference, one body for wasm and webgpu. */
import { expect } from 'vitest';
import { goldenModel } from '../model/decoder.golden.ts';
import type { Rollout } from '../rollout/row.ts';
import { tf } from '../tensor/tfjs.ts';
import { logProbs } from './log-probs.ts';
import { frozenReference, referenceArrays } from './reference.ts';

const ROLLOUT = {
  tokens: Int32Array.of(5, 9, 14, 33, 8, 2),
  positions: Int32Array.of(0, 1, 2, 3, 4, 5),
  branches: Int32Array.of(0, 0, 0, 0, 0, 0),
  promptLength: 2,
} as Rollout;
const FORWARD = { temperature: 0.9, microBatchTokens: 64 };

/** The policy moves, its reference does not, and a save brings it back. */
export async function checkReference(): Promise<void> {
  const model = await goldenModel('llama');
  const ask = (of: typeof model) =>
    logProbs(of, [ROLLOUT, ROLLOUT], [Uint8Array.of(0, 0, 1, 1, 1, 1), null], FORWARD);
  const before = await ask(model);
  expect(Array.from(before[0].subarray(0, 2))).toEqual([0, 0]);
  expect(before[0].subarray(2).every((logp) => logp < 0)).toBe(true);
  expect(before[1].every((logp) => logp === 0)).toBe(true);

  const reference = await frozenReference(model, null);
  const head = model.weights.get('lm_head.weight')!;
  const moved = (await head.data()).map((x, i) => x + 0.1 * Math.sin(i)) as Float32Array;
  if (model.device) model.device.backend.overwrite(head.dataId, moved);
  else {
    const tensor = tf.tensor(moved, head.shape);
    head.assign(tensor);
    tensor.dispose();
  }
  const after = await ask(model);
  expect(Math.abs(after[0][3] - before[0][3])).toBeGreaterThan(1e-3);
  expect(await ask(reference)).toEqual(before);

  const again = await frozenReference(model, await referenceArrays(reference));
  expect(await ask(again)).toEqual(before);
  // A save from before the KL weight was set has no reference to go on with.
  await expect(frozenReference(model, await model.snapshot())).rejects.toThrow(
    /The save has no "reference\.model\.embed_tokens\.weight".*earlier save/,
  );
  for (const one of [model, reference, again]) one.dispose();
}
