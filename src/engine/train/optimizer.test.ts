import { beforeAll, expect, test } from 'vitest';
import type { ModelConfig } from '../model/config.ts';
import { Decoder } from '../model/decoder.ts';
import { initialWeights } from '../model/init.ts';
import { openBackend } from '../tensor/device.ts';
import { tf } from '../tensor/tfjs.ts';
import { AdamW } from './optimizer.ts';
import type { OptimizerSettings } from './recipe.ts';

const CONFIG: ModelConfig = {
  architecture: 'llama',
  vocabSize: 12,
  hiddenSize: 8,
  intermediateSize: 8,
  layers: 1,
  heads: 2,
  kvHeads: 2,
  headDim: 4,
  ropeTheta: 100,
  rmsNormEps: 1e-6,
  tieWordEmbeddings: false,
  qkvBias: false,
  outputBias: false,
  mlpBias: false,
  qkNorm: false,
  maxPositions: 8,
};
const settings: OptimizerSettings = {
  learningRate: 1e-3,
  warmupSteps: 0,
  schedule: 'constant',
  minLearningRateRatio: 1,
  weightDecay: 0,
  decayNorms: false,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  maxGradNorm: 1e6,
  tagLearningRate: 5,
  gradientCheckpointing: false,
  microBatchTokens: 64,
};

beforeAll(async () => {
  await openBackend('cpu');
});

test('rows of the tags in embedding and head learn at their own rate, and no others', async () => {
  const weights = initialWeights(CONFIG, { embeddingStd: 1, headStd: 1 }, 1);
  const model = new Decoder(CONFIG, weights);
  const optimizer = new AdamW(model, settings, [4, 5, 6, 3, 7, 8]);
  await optimizer.apply(
    [...model.weights.values()].map((weight) => tf.ones(weight.shape)),
    1e-3,
  );
  for (const [name, { data, shape }] of await model.snapshot()) {
    const rows = name === 'model.embed_tokens.weight' || name === 'lm_head.weight';
    data.forEach((value, i) => {
      const row = Math.floor(i / (shape[1] ?? 1));
      const rate = rows && row >= 3 && row <= 8 ? 5e-3 : 1e-3;
      // Adam's first step is the learning rate, whatever the gradient.
      expect(Math.abs(weights.get(name)!.data[i] - value - rate)).toBeLessThan(1e-6);
    });
  }
  optimizer.dispose();
  model.dispose();
});

test('tags that are no neighbours are refused with a sentence', () => {
  const model = new Decoder(CONFIG, initialWeights(CONFIG, { embeddingStd: 1, headStd: 1 }, 1));
  expect(() => new AdamW(model, settings, [1, 2, 3, 4, 5, 9])).toThrow(
    /tags are not neighbours.*Set it to 1/,
  );
  model.dispose();
});
