import { describe, expect, test } from 'vitest';
import type { ModelConfig } from '../model/config.ts';
import { DeviceModel } from '../model/device-model.ts';
import { LoraArenas } from '../model/lora.ts';
import { DeviceBuffer } from '../tensor/device-buffer.ts';
import { buildMicroStep, buildUpdate, inputBytes, stepBuffers, type TrainGraph } from './captured-learner.ts';

/** The bench's model: 4 layers of 64, two heads, 64 tokens. */
const config: ModelConfig = {
  architecture: 'llama',
  vocabSize: 64,
  hiddenSize: 64,
  intermediateSize: 160,
  layers: 4,
  heads: 2,
  kvHeads: 2,
  headDim: 32,
  ropeTheta: 10000,
  rmsNormEps: 1e-5,
  tieWordEmbeddings: true,
  qkvBias: false,
  outputBias: false,
  mlpBias: false,
  qkNorm: false,
  maxPositions: 64,
};
const LIMITS = { maxBytes: 2 ** 27 };

function graphOf(changes: Partial<ModelConfig> = {}, options: Partial<TrainGraph> = {}): TrainGraph {
  const model = new DeviceModel({ ...config, ...changes }, LIMITS);
  const gradients = model.weights.like('gradients');
  return { model, gradients, lora: null, checkpointing: false, temperature: 1, ...options };
}

function build(graph: TrainGraph, B = 4, T = 32) {
  return buildMicroStep(graph, B, T, new DeviceBuffer(inputBytes(B * T), 'inputs'), stepBuffers());
}

describe('a captured step, counted without a device', () => {
  const count = (layers: number, changes: Partial<ModelConfig> = {}) =>
    build(graphOf({ ...changes, layers })).dispatches.length;

  test('dispatches of a layer, forward and backward', () => {
    expect(count(4) - count(3)).toBeLessThanOrEqual(30);
    expect(count(4) - count(3)).toBe(count(2) - count(1));
    // Biases of Qwen2 ride along; the norms of q and k in Qwen3 cost their own.
    const perLayer = (changes: Partial<ModelConfig>) => count(2, changes) - count(1, changes);
    expect(perLayer({ architecture: 'qwen2', qkvBias: true })).toBeLessThanOrEqual(31);
    expect(perLayer({ architecture: 'qwen3', qkNorm: true })).toBeLessThanOrEqual(50);
  });

  test('clip and AdamW of all tensors: two dispatches, whatever the number of layers', () => {
    const graph = graphOf({ layers: 9 });
    const { weights } = graph.model;
    const update = buildUpdate(
      {
        weights,
        gradients: graph.gradients!,
        mean: weights.like('mean'),
        square: weights.like('square'),
        decayEnds: graph.model.decayEnds(false),
      },
      stepBuffers(),
    );
    expect(update.dispatches).toHaveLength(2);
  });

  test('a ratio of whole responses is one more dispatch', () => {
    const plain = build(graphOf()).dispatches.map(({ pass }) => pass.name);
    const sequence = build(graphOf({}, { sequenceRatio: true })).dispatches.map(({ pass }) => pass.name);
    expect(sequence).toHaveLength(plain.length + 1);
    expect(sequence.filter((name) => !plain.includes(name))).toEqual([
      'sequence-ratio',
      'sequence-objective',
    ]);
  });

  test('weight decay ends where the norms begin', () => {
    const { model } = graphOf();
    const [end] = model.decayEnds(false);
    expect(4 * end).toBe(model.weights.whole('model.layers.0.input_layernorm.weight')!.offset);
    expect(4 * end).toBeGreaterThan(model.weights.whole('model.layers.3.mlp.down_proj.weight')!.offset);
    expect(model.decayEnds(true)).toEqual([model.weights.bytes / 4]);
  });

  test('checkpointing trades dispatches for memory', () => {
    const plain = build(graphOf({ layers: 8 }));
    const again = build(graphOf({ layers: 8 }, { checkpointing: true }));
    expect(again.layout().bytes).toBeLessThan(0.6 * plain.layout().bytes);
    expect(again.dispatches.length).toBeGreaterThan(plain.dispatches.length);
    expect(again.dispatches.length).toBeLessThan(1.4 * plain.dispatches.length);
  });

  test('logits of the batch never exist when the vocabulary is large', () => {
    const plan = build(graphOf({ vocabSize: 151_936, layers: 1 }), 8, 256);
    const N = 8 * 256;
    // 2,048 × 151,936 logits would be 1.2 GB.
    expect(plan.layout().bytes).toBeLessThan(64 * 2 ** 20);
    expect(Math.max(...plan.layout().sizes)).toBeLessThanOrEqual(4 * 2 ** 22);
    expect(N * 151_936 * 4).toBeGreaterThan(2 ** 30);
  });

  test('a frozen model with adapters: no gradient of a frozen weight is computed', () => {
    const model = new DeviceModel(config, LIMITS);
    const lora = new LoraArenas(config, { rank: 4, alpha: 8, targets: ['q_proj', 'v_proj'] }, LIMITS);
    const plan = build({ model, gradients: null, lora, checkpointing: false, temperature: 1 });
    const written = plan.dispatches.flatMap(({ pass, values }) =>
      values.filter((value, i) => value.bound && pass.bindings[i].access === 'read_write'),
    );
    const buffers = new Set(written.map((value) => value.bound!.buffer.label));
    expect(buffers).toEqual(new Set(['gradients of the adapters', 'statistics of the step']));
    // Four adapters a layer (A and B of q and v), each with its gradient.
    const names = plan.dispatches.map(({ pass }) => pass.name).filter((name) => name.includes('weight'));
    expect(names.length % 4).toBe(0);
  });
});
