/** The bench's model of ours; known to the page that trains it and to the float64 reference that checks it. */
import type { ModelConfig } from '../../src/engine/model/config.ts';
import type { WeightArray } from '../../src/engine/model/decoder.ts';
import { initialWeights } from '../../src/engine/model/init.ts';
import type { OptimizerSettings } from '../../src/engine/train/recipe.ts';
import type { BenchShape } from './report.ts';

/** Three matrices of 8/3·C, to the nearest multiple of 32, have as many numbers as the two of 4·C of a GPT-2. */
export function oursConfig({ layers, hidden, heads, length, vocab }: BenchShape): ModelConfig {
  return {
    architecture: 'llama',
    vocabSize: vocab,
    hiddenSize: hidden,
    intermediateSize: 32 * Math.max(1, Math.round((8 * hidden) / 3 / 32)),
    layers,
    heads,
    kvHeads: heads,
    headDim: hidden / heads,
    ropeTheta: 10_000,
    rmsNormEps: 1e-5,
    tieWordEmbeddings: true,
    qkvBias: false,
    outputBias: false,
    mlpBias: false,
    qkNorm: false,
    maxPositions: 32 * Math.ceil(length / 32),
  };
}

export function oursWeights(config: ModelConfig): Map<string, WeightArray> {
  return initialWeights(config, { embeddingStd: 0.02, headStd: 0.02 }, 1);
}

export const oursSettings: OptimizerSettings = {
  learningRate: 1e-3,
  warmupSteps: 0,
  schedule: 'constant',
  minLearningRateRatio: 1,
  tagLearningRate: 1,
  gradientCheckpointing: false,
  microBatchTokens: 2 ** 30,
  weightDecay: 0.1,
  decayNorms: false,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  maxGradNorm: 1,
};
