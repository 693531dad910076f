import { expect, test } from 'vitest';
import { Rng } from '../../base/rng.ts';
import type { ModelConfig } from '../model/config.ts';
import { Decoder } from '../model/decoder.ts';
import { initialWeights } from '../model/init.ts';
import { openBackend } from '../tensor/device.ts';
import { Float64Reference, type ReferenceBatch } from './float64-reference.ts';
import { AdamW } from './optimizer.ts';
import type { OptimizerSettings } from './recipe.ts';
import { TapeLearner } from './tape-learner.ts';

const config: ModelConfig = {
  architecture: 'llama',
  vocabSize: 11,
  hiddenSize: 12,
  intermediateSize: 20,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headDim: 6,
  ropeTheta: 100,
  rmsNormEps: 1e-5,
  tieWordEmbeddings: true,
  qkvBias: false,
  outputBias: false,
  mlpBias: false,
  qkNorm: false,
  maxPositions: 16,
};
const settings: OptimizerSettings = {
  learningRate: 1e-2,
  warmupSteps: 0,
  schedule: 'constant',
  minLearningRateRatio: 1,
  tagLearningRate: 1,
  gradientCheckpointing: false,
  microBatchTokens: 0,
  weightDecay: 0.1,
  decayNorms: false,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  maxGradNorm: 0.5,
};

const B = 2;
const T = 7;
const N = B * T;

/** Two rows of random tokens; one slot predicts nothing. */
function batchOf(step: number): ReferenceBatch {
  const rng = new Rng(5, step);
  const ids = () => Int32Array.from({ length: N }, () => rng.int(config.vocabSize));
  const targets = ids();
  targets[3] = -1;
  return { B, T, tokens: ids(), targets };
}

function initial(changes: Partial<ModelConfig> = {}) {
  const changed = { ...config, ...changes };
  const weights = initialWeights(changed, { embeddingStd: 0.3, headStd: 0.3 }, 3);
  // Norms that are all 1 would hide where they are left out.
  for (const [name, { data }] of weights)
    if (name.endsWith('norm.weight')) for (let i = 0; i < data.length; i++) data[i] += 0.1 * Math.sin(i + 1);
  return { config: changed, weights };
}

test.each([true, false])('gradients agree with finite differences (tied head: %s)', (tieWordEmbeddings) => {
  const { config, weights } = initial({ tieWordEmbeddings });
  const batch = batchOf(0);
  const reference = new Float64Reference(config, weights);
  reference.add(batch);
  const moved = new Float64Reference(config, weights);
  const rng = new Rng(9);
  for (const [name, gradient] of reference.gradients) {
    const weight = moved.weights.get(name)!;
    const direction = Float64Array.from(weight, () => rng.normal());
    const base = weight.slice();
    const lossAt = (h: number) => {
      weight.set(base.map((w, i) => w + h * direction[i]));
      return moved.add(batch);
    };
    const h = 1e-5;
    const difference = (lossAt(h) - lossAt(-h)) / (2 * h);
    weight.set(base);
    const derivative = direction.reduce((sum, u, i) => sum + u * gradient[i], 0);
    // The error of a central difference is about h² times the third derivative, plus 1e-16 / h.
    expect(Math.abs(derivative - difference), name).toBeLessThan(1e-8 + 1e-7 * Math.abs(difference));
  }
});

test('the decoder, its loss and AdamW follow it', async () => {
  await openBackend('cpu');
  const { weights } = initial();
  const model = new Decoder(config, weights);
  const optimizer = new AdamW(model, settings);
  const learner = new TapeLearner(model, optimizer, { temperature: 1, clip: null });
  const reference = new Float64Reference(config, weights);
  const int = (of: (n: number) => number) => Int32Array.from({ length: N }, (_, n) => of(n));
  for (let step = 0; step < 5; step++) {
    const { tokens, targets } = batchOf(step);
    const batch = {
      B,
      T,
      tokens: int((n) => tokens[n]),
      targets: int((n) => targets[n]),
      positions: int((n) => n % T),
      branches: int(() => 0),
      rows: int((n) => Math.floor(n / T)),
      slots: int((n) => n % T),
    };
    const mask = Float32Array.from(batch.targets, (target) => (target >= 0 ? 1 : 0));
    await learner.add({ batch, mask, policy: null }, N - 1);
    const { loss, gradNorm } = await learner.apply(settings.learningRate);
    const expected = reference.add(batchOf(step));
    const norm = reference.apply(settings, settings.learningRate);
    // float32 keeps 7 digits; five steps of so small a model lose at most one or two of them.
    expect(Math.abs(loss - expected) / expected).toBeLessThan(1e-5);
    expect(Math.abs(gradNorm - norm) / norm).toBeLessThan(1e-5);
  }
  learner.dispose();
  optimizer.dispose();
  model.dispose();
});
