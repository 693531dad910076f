import { beforeAll, expect, test } from 'vitest';
import { openBackend } from '../tensor/device.ts';
import { requireWebGpu } from '../tensor/testing.ts';
import { checkRollouts, randomModel, rollOut, SETTINGS } from './generate.golden.ts';

beforeAll(async () => {
  await requireWebGpu();
});

test('sampled log-probs are those of the training pass; trees are those of the reference', async () => {
  const keys = [1, 2, 3, 4, 5, 6];
  const settings = { ...SETTINGS, maxTokens: 36, paths: 3, maxBlocks: 1 };
  const model = randomModel(2);
  const { rollouts, blocks } = await checkRollouts(model, settings, keys);
  expect(blocks).toBeGreaterThan(0);
  model.dispose();
  await openBackend('wasm');
  const reference = randomModel(2);
  const truth = await rollOut(reference, settings, keys);
  expect(rollouts.map((r) => Array.from(r.tokens))).toEqual(truth.map((r) => Array.from(r.tokens)));
  reference.dispose();
  await openBackend('webgpu');
});
