import { beforeAll, expect, test } from 'vitest';
import { openBackend } from '../tensor/device.ts';
import { counters } from '../tensor/pipelines.ts';
import { requireWebGpu } from '../tensor/testing.ts';
import { memory, tf } from '../tensor/tfjs.ts';
import type { PolypathBackend } from '../tensor/webgpu-backend.ts';
import { CapturedRollouts } from './captured-rollouts.ts';
import { checkRollouts, IDS, randomModel, rollOut, SETTINGS } from './generate.golden.ts';
import { type GenerateSettings, generateStepByStep, type RolloutRequest } from './generate.ts';
import type { Rollout } from './row.ts';

beforeAll(async () => {
  await requireWebGpu();
});

const KEYS = [1, 2, 3, 4, 5, 6];

test('sampled log-probs are those of the training pass; trees are those of the reference', async () => {
  const settings = { ...SETTINGS, maxTokens: 36, paths: 3, maxBlocks: 1 };
  const model = randomModel(2);
  const { rollouts, blocks } = await checkRollouts(model, settings, KEYS);
  expect(blocks).toBeGreaterThan(0);
  model.dispose();
  await openBackend('wasm');
  const reference = randomModel(2);
  const truth = await rollOut(reference, settings, KEYS);
  expect(rollouts.map((r) => Array.from(r.tokens))).toEqual(truth.map((r) => Array.from(r.tokens)));
  reference.dispose();
  await requireWebGpu();
});

const requests = (count: number): RolloutRequest[] =>
  Array.from({ length: count }, (_, i) => ({ prompt: [1, 10, 11, 12].slice(0, 2 + (i % 3)), key: 31 + i }));

async function all(
  rows: AsyncGenerator<unknown, Rollout[]>,
): Promise<{ rollouts: Rollout[]; yields: number }> {
  for (let yields = 0; ; yields++) {
    const next = await rows.next();
    if (next.done) return { rollouts: next.value, yields };
  }
}

const CASES: [string, Partial<GenerateSettings>][] = [
  ['two rows for nine requests', {}],
  [
    'noise, and budgets that run out',
    { maxTokens: 24, pathTokens: 4, noise: { after: 10, replacements: [12, 13], probability: 0.5 } },
  ],
  ['no forks', { parallel: false, maxTokens: 20 }],
  ['greedy', { temperature: 0, maxTokens: 20 }],
];

test.each(CASES)('on the GPU as step by step: %s', async (_, changes) => {
  const settings = { ...SETTINGS, maxTokens: 40, ...changes };
  const model = randomModel(4);
  const captured = new CapturedRollouts(model, { mostRows: 2, stepsPerSubmit: 16 });
  const { rollouts } = await all(captured.generate(requests(9), settings, IDS));
  const truth = await all(generateStepByStep(model, requests(9), settings, IDS));
  rollouts.forEach((rollout, i) => {
    const { logp, ...rest } = rollout;
    const { logp: expected, ...others } = truth.rollouts[i];
    expect(rest).toEqual(others);
    for (let t = 0; t < logp.length; t++) expect(Math.abs(logp[t] - expected[t])).toBeLessThan(1e-4);
  });
  captured.dispose();
  model.dispose();
});

test('one submit and one read-back for 32 tokens; nothing new the second time', async () => {
  const model = randomModel(4);
  const captured = new CapturedRollouts(model);
  const settings = { ...SETTINGS, maxTokens: 40 };
  await all(captured.generate(requests(4), settings, IDS));
  const backend = tf.backend() as unknown as PolypathBackend;
  const before = {
    ...counters,
    bytes: backend.gpuBytes,
    tensors: memory().numTensors,
    steps: captured.steps,
  };
  const { yields } = await all(captured.generate(requests(4), settings, IDS));
  expect(captured.steps - before.steps).toBe(32 * yields);
  // The last submit only copies the results.
  expect(counters.submits - before.submits).toBe(yields + 1);
  expect(counters.bindGroups).toBe(before.bindGroups);
  expect(counters.pipelines).toBe(before.pipelines);
  expect(backend.gpuBytes).toBe(before.bytes);
  expect(memory().numTensors).toBe(before.tensors);
  captured.dispose();
  model.dispose();
});
