import { describe, expect, test } from 'vitest';
import { f16ToFloat32, float32ToF16 } from '../../base/half.ts';
import { Rng } from '../../base/rng.ts';
import { type ModelConfig, tensorShapes } from '../model/config.ts';
import { Decoder, type WeightArray } from '../model/decoder.ts';
import { DeviceModel } from '../model/device-model.ts';
import { initialWeights } from '../model/init.ts';
import { LoraArenas, type LoraSettings } from '../model/lora.ts';
import { ownGpuBytes } from '../tensor/device-buffer.ts';
import { counters } from '../tensor/pipelines.ts';
import { expectClose, requireWebGpu } from '../tensor/testing.ts';
import { memory, tf } from '../tensor/tfjs.ts';
import type { PolypathBackend } from '../tensor/webgpu-backend.ts';
import { CapturedLearner, type CapturedOptions, captureLearner } from './captured-learner.ts';
import type { Learner, MicroBatch, Objective } from './learner.ts';
import { trainingMemory } from './memory.ts';
import { AdamW } from './optimizer.ts';
import { hasSequenceRatio, PLAIN_TERMS, type PolicyLossSettings } from './policy-loss.ts';
import type { OptimizerSettings } from './recipe.ts';
import { TapeLearner } from './tape-learner.ts';

const CONFIG: ModelConfig = {
  architecture: 'llama',
  vocabSize: 130,
  hiddenSize: 32,
  intermediateSize: 64,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headDim: 8,
  ropeTheta: 100,
  rmsNormEps: 1e-5,
  tieWordEmbeddings: true,
  qkvBias: false,
  outputBias: false,
  mlpBias: false,
  qkNorm: false,
  maxPositions: 64,
};
const SETTINGS: OptimizerSettings = {
  learningRate: 1e-2,
  warmupSteps: 0,
  schedule: 'constant',
  minLearningRateRatio: 1,
  weightDecay: 0.1,
  decayNorms: false,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  maxGradNorm: 1,
  tagLearningRate: 1,
  gradientCheckpointing: false,
  microBatchTokens: 1024,
};
const CROSS_ENTROPY: Objective = { temperature: 1, clip: null };
const CLIP: PolicyLossSettings = { ...PLAIN_TERMS, clipLow: 0.2, clipHigh: 0.28, dualClip: 3 };
/** Each loss that runs differently on the device, one with both terms. */
const POLICIES: [string, PolicyLossSettings][] = [
  ['surrogate', CLIP],
  ['gspo', { ...CLIP, loss: 'gspo', clipLow: 0.1, clipHigh: 0.15, klBeta: 0.04, entropyBonus: 0.01 }],
  ['cispo', { ...CLIP, loss: 'cispo', cispoCap: 1.5, klBeta: 0.04 }],
];

const weightsOf = (config: ModelConfig, seed = 1) =>
  initialWeights(config, { embeddingStd: 0.3, headStd: 0.3 }, seed);
const backendNow = () => tf.backend() as unknown as PolypathBackend;

/** Random tokens in B rows of T, with forks, padding, and slots that do not count. */
function batchOf(seed: number, B: number, T: number, V: number, policy = false): MicroBatch {
  const rng = new Rng(seed);
  const N = B * T;
  const int = (of: (n: number) => number) => Int32Array.from({ length: N }, (_, n) => of(n));
  const length = (row: number) => T - row;
  const padding = (n: number) => n % T >= length(Math.floor(n / T));
  const targets = int((n) => (padding(n) || (n % T) + 1 >= length(Math.floor(n / T)) ? -1 : rng.int(V)));
  const mask = Float32Array.from(targets, (target) => (target >= 0 && rng.next() < 0.8 ? 1 : 0));
  return {
    batch: {
      B,
      T,
      tokens: int(() => rng.int(V)),
      positions: int((n) => n % T),
      // Two paths from slot 6 to 13 of every row.
      branches: int((n) => (padding(n) ? 0x7fff << 16 : n % T >= 6 && n % T < 14 ? 17 + (n % 2) : 0)),
      targets,
      rows: int((n) => Math.floor(n / T)),
      slots: int((n) => n % T),
    },
    mask,
    policy: policy
      ? {
          old: Float32Array.from(mask, () => -4.9 + 0.8 * rng.normal()),
          advantages: Float32Array.from(mask, () => rng.normal()),
          reference: Float32Array.from(mask, () => -4.9 + 0.5 * rng.normal()),
        }
      : null,
  };
}

const counted = (micro: MicroBatch) => micro.mask.reduce((a, b) => a + b, 0);

interface Trainee {
  model: Decoder;
  optimizer: AdamW;
  learner: Learner;
  dispose(): void;
}

function trainee(make: (model: Decoder, optimizer: AdamW) => Learner, config = CONFIG): Trainee {
  const model = new Decoder(config, weightsOf(config));
  const optimizer = new AdamW(model, SETTINGS);
  const learner = make(model, optimizer);
  return {
    model,
    optimizer,
    learner,
    dispose() {
      learner.dispose();
      optimizer.dispose();
      model.dispose();
    },
  };
}

const captured =
  (objective: Objective, options: CapturedOptions = {}) =>
  (model: Decoder, optimizer: AdamW) =>
    captureLearner(model, optimizer, objective, options);

async function step(learner: Learner, seed: number, rate = 1e-2, policy = false) {
  const micro = batchOf(seed, 3, 20, CONFIG.vocabSize, policy);
  await learner.add(micro, counted(micro));
  return learner.apply(rate);
}

describe.skipIf(!(await requireWebGpu()))('captured steps', () => {
  test.each(POLICIES)('%s: sums and gradients of the tape', async (_, clip) => {
    const objective = { temperature: 0.8, clip };
    const slow = trainee((model, optimizer) => new TapeLearner(model, optimizer, objective));
    const fast = trainee(captured(objective));
    const micros = [batchOf(3, 3, 20, CONFIG.vocabSize, true), batchOf(4, 2, 40, CONFIG.vocabSize, true)];
    // The tokens of a response share advantage and weight where they share a ratio.
    if (hasSequenceRatio(clip))
      for (const { batch, mask, policy } of micros)
        for (let n = 0; n < mask.length; n++) {
          mask[n] *= 0.5 + 0.1 * batch.rows[n];
          policy!.advantages[n] = (-1) ** batch.rows[n] * (1 + batch.rows[n]);
        }
    const total = micros.reduce((sum, micro) => sum + counted(micro), 0);
    for (const { learner } of [slow, fast]) for (const micro of micros) await learner.add(micro, total);
    const [expected, actual] = [await slow.learner.gradients(), await fast.learner.gradients()];
    for (const [name, values] of expected)
      expectClose(
        actual.get(name)!,
        values,
        { atol: 1e-5, rtol: 1e-3, why: 'float32 in another order' },
        name,
      );
    const [a, b] = [await slow.learner.apply(1e-2), await fast.learner.apply(1e-2)];
    for (const key of ['tokens', 'low', 'high', 'dual'] as const) expect(b[key], key).toBe(a[key]);
    for (const key of ['loss', 'entropy', 'differenceSum', 'differenceMax', 'gradNorm'] as const)
      expect(Math.abs(b[key] - a[key]) / Math.abs(a[key]), key).toBeLessThan(1e-4);
    expect(Math.abs(b.kl - a.kl)).toBeLessThan(1e-4 * a.kl + 1e-9);
    expect(b.kl > 0).toBe(clip.klBeta > 0);
    expect(b.low + b.high).toBeGreaterThan(0);
    slow.dispose();
    fast.dispose();
  });

  test('one submit, one read-back, nothing new and nothing left behind: step after step', async () => {
    const { learner, dispose } = trainee(captured(CROSS_ENTROPY));
    for (let i = 0; i < 2; i++) await step(learner, 5 + i);
    const before = { ...counters, bytes: backendNow().gpuBytes, tensors: memory().numTensors };
    for (let i = 0; i < 20; i++) await step(learner, 10 + i);
    expect(counters.submits - before.submits).toBe(20);
    expect(counters.bindGroups).toBe(before.bindGroups);
    expect(counters.pipelines).toBe(before.pipelines);
    expect(counters.uniformBuffers).toBe(before.uniformBuffers);
    expect(backendNow().gpuBytes).toBe(before.bytes);
    expect(memory().numTensors).toBe(before.tensors);
    dispose();
    const own = ownGpuBytes();
    trainee(captured(CROSS_ENTROPY)).dispose();
    expect(ownGpuBytes()).toBe(own);
  });

  test('an edit of the learning rate, other lengths and a small budget for plans change nothing else', async () => {
    const slow = trainee((model, optimizer) => new TapeLearner(model, optimizer, CROSS_ENTROPY));
    const fast = trainee(captured(CROSS_ENTROPY, { budget: 1 }));
    for (let i = 0; i < 4; i++) {
      const micro = batchOf(30 + i, 2, i % 2 === 0 ? 20 : 40, CONFIG.vocabSize);
      const results = [];
      for (const { learner } of [slow, fast]) {
        await learner.add(micro, counted(micro));
        results.push(await learner.apply(i < 2 ? 1e-2 : 3e-3));
      }
      expect(Math.abs(results[1].loss - results[0].loss)).toBeLessThan(2e-4);
      expect(Math.abs(results[1].gradNorm / results[0].gradNorm - 1)).toBeLessThan(2e-3);
      expect((fast.learner as CapturedLearner).dispatches.micro).toHaveLength(1);
    }
    slow.dispose();
    fast.dispose();
  });

  test('rows of the tags learn at their own rate, as on the tape', async () => {
    const settings = { ...SETTINGS, tagLearningRate: 5 };
    const tags = [3, 4, 5, 6, 7, 8];
    const moved: Float32Array[] = [];
    for (const make of [TapeLearner, null]) {
      const model = new Decoder(CONFIG, weightsOf(CONFIG));
      const optimizer = new AdamW(model, settings, tags);
      const learner = make
        ? new make(model, optimizer, CROSS_ENTROPY)
        : captureLearner(model, optimizer, CROSS_ENTROPY);
      await step(learner, 45);
      moved.push((await model.snapshot()).get('model.embed_tokens.weight')!.data);
      learner.dispose();
      optimizer.dispose();
      model.dispose();
    }
    expectClose(moved[1], moved[0], { atol: 1e-4, rtol: 0, why: 'Adam divides by small numbers' });
    const before = weightsOf(CONFIG).get('model.embed_tokens.weight')!.data;
    const largest = (row: number) =>
      Math.max(
        ...Array.from({ length: 32 }, (_, c) => Math.abs(moved[1][32 * row + c] - before[32 * row + c])),
      );
    expect(largest(5)).toBeGreaterThan(3 * largest(9));
  });

  test('save, load and go on: as never stopped', async () => {
    const whole = trainee(captured(CROSS_ENTROPY));
    const first = trainee(captured(CROSS_ENTROPY));
    for (const { learner } of [whole, first]) for (let i = 0; i < 3; i++) await step(learner, 40 + i);
    const saved = {
      weights: await first.model.snapshot(),
      moments: await first.optimizer.snapshot(),
      steps: first.optimizer.steps,
    };
    first.dispose();
    const model = new Decoder(CONFIG, saved.weights);
    const optimizer = new AdamW(model, SETTINGS);
    optimizer.restore(saved.moments, saved.steps);
    const learner = captureLearner(model, optimizer, CROSS_ENTROPY);
    for (let i = 0; i < 3; i++)
      expect((await step(learner, 43 + i)).loss).toBe((await step(whole.learner, 43 + i)).loss);
    const [a, b] = [await whole.model.snapshot(), await model.snapshot()];
    for (const [name, { data }] of a) expect(b.get(name)!.data, name).toEqual(data);
    whole.dispose();
    learner.dispose();
    optimizer.dispose();
    model.dispose();
  });

  test('a gradient that is not finite changes no weight, and the norm tells', async () => {
    const { model, learner, dispose } = trainee(captured(CROSS_ENTROPY));
    const before = await model.snapshot();
    const micro = batchOf(50, 3, 20, CONFIG.vocabSize);
    await learner.add(micro, 0); // divided by zero
    expect((await learner.apply(1e-2)).gradNorm).not.toBeLessThan(Number.POSITIVE_INFINITY);
    const after = await model.snapshot();
    for (const [name, { data }] of before) expect(after.get(name)!.data, name).toEqual(data);
    // The next step is not poisoned by what was added before.
    expect(Number.isFinite((await step(learner, 51)).gradNorm)).toBe(true);
    dispose();
  });
});

describe.skipIf(!(await requireWebGpu()))('captured steps and a lost device', () => {
  test('a step on a lost device fails with words, and a new device goes on from the save', async () => {
    const first = trainee(captured(CROSS_ENTROPY));
    await step(first.learner, 90);
    const saved = {
      weights: await first.model.snapshot(),
      moments: await first.optimizer.snapshot(),
      steps: first.optimizer.steps,
    };
    const expected = (await step(first.learner, 91)).loss;
    backendNow().device.destroy();
    await expect(step(first.learner, 92)).rejects.toThrow(/device|buffer|lost|destroyed/i);
    await requireWebGpu();
    const model = new Decoder(CONFIG, saved.weights);
    const optimizer = new AdamW(model, SETTINGS);
    optimizer.restore(saved.moments, saved.steps);
    const learner = captureLearner(model, optimizer, CROSS_ENTROPY);
    expect((await step(learner, 91)).loss).toBe(expected);
    learner.dispose();
    optimizer.dispose();
    model.dispose();
  });
});

/** A learner on a model that no Decoder holds: split weights, frozen weights in half precision, adapters. */
function bare(
  config: ModelConfig,
  weights: ReadonlyMap<string, WeightArray> | null,
  { maxBytes, half, lora: settings }: { maxBytes: number; half?: boolean; lora?: LoraSettings },
) {
  const backend = backendNow();
  const { device } = backend;
  const limits = { maxBytes };
  const model = new DeviceModel(config, limits, { half });
  model.allocate(device);
  for (const [name, { data }] of weights ?? []) model.write(device, name, data);
  const lora = settings ? new LoraArenas(config, settings, limits) : null;
  lora?.weights.allocate(device);
  lora?.initialise(device, 7);
  const trainedWeights = lora?.weights ?? model.weights;
  const [gradients, mean, square] = [
    lora?.gradients ?? trainedWeights.like('gradients'),
    trainedWeights.like('mean'),
    trainedWeights.like('square'),
  ];
  for (const arena of [gradients, mean, square]) arena.allocate(device);
  let steps = 0;
  const learner = new CapturedLearner({
    backend,
    graph: { model, gradients: lora ? null : gradients, lora, checkpointing: false, temperature: 1 },
    trained: {
      weights: trainedWeights,
      gradients,
      mean,
      square,
      decayEnds: lora ? lora.weights.buffers.map((buffer) => buffer.bytes / 4) : model.decayEnds(false),
    },
    nextHyper: (rate) => {
      steps++;
      return [rate, 0.9, 0.95, 1e-8, 0, 1, 1 - 0.9 ** steps, 1 - 0.95 ** steps];
    },
    objective: CROSS_ENTROPY,
    options: {},
  });
  return {
    learner,
    model,
    lora,
    dispose() {
      learner.dispose();
      for (const arena of [mean, square]) arena.destroy();
      lora?.weights.destroy();
      model.destroy();
    },
  };
}

describe.skipIf(!(await requireWebGpu()))('captured steps of models that need room', () => {
  test('weights split over many buffers give the gradients of whole ones', async () => {
    const weights = weightsOf(CONFIG);
    const whole = bare(CONFIG, weights, { maxBytes: 2 ** 27 });
    // The embedding has 16 KB, a matrix of the layers at most 8 KB.
    const split = bare(CONFIG, weights, { maxBytes: 8192 });
    expect(split.model.weights.whole('model.embed_tokens.weight')).toBeNull();
    expect(split.model.weights.buffers.length).toBeGreaterThan(5);
    const micro = batchOf(60, 3, 20, CONFIG.vocabSize);
    for (const { learner } of [whole, split]) await learner.add(micro, counted(micro));
    const [expected, actual] = [await whole.learner.gradients(), await split.learner.gradients()];
    for (const [name, values] of expected)
      expectClose(actual.get(name)!, values, { atol: 1e-6, rtol: 1e-3, why: 'sums in another order' }, name);
    for (let i = 0; i < 3; i++) {
      const [a, b] = [await whole.learner.apply(1e-2), await split.learner.apply(1e-2)];
      expect(Math.abs(a.loss - b.loss)).toBeLessThan(1e-4);
      expect(Math.abs(a.gradNorm / b.gradNorm - 1)).toBeLessThan(1e-3);
      for (const { learner } of [whole, split]) await learner.add(micro, counted(micro));
    }
    whole.dispose();
    split.dispose();
  });

  test.each([false, true])(
    'adapters on frozen weights (half precision %s): the chain rule on W + s·B·A',
    async (half) => {
      const settings = { rank: 4, alpha: 6, targets: ['q_proj', 'v_proj', 'down_proj'] };
      const weights = new Map(weightsOf(CONFIG));
      const { learner, lora, dispose } = bare(CONFIG, weights, { maxBytes: 2 ** 27, half, lora: settings });
      const { device } = backendNow();
      const rng = new Rng(71);
      // B starts at zero, which would hide the gradient of A.
      const merged = new Map<string, WeightArray>();
      const adapters = new Map<string, { A: Float32Array; B: Float32Array; O: number; I: number }>();
      for (const [name, shape] of tensorShapes(CONFIG)) {
        const [O, I] = shape;
        const rounded = half && shape.length === 2 && name.startsWith('model.layers');
        const data = weights.get(name)!.data.slice();
        merged.set(name, { shape, data: rounded ? f16ToFloat32(float32ToF16(data).bits) : data });
        const layer = name.replace('.weight', '');
        if (!lora!.has(layer)) continue;
        const draw = (size: number) => Float32Array.from({ length: size }, () => 0.2 * rng.normal());
        const [A, B] = [draw(4 * I), draw(O * 4)];
        lora!.weights.write(device, lora!.nameOf(layer, 'A'), A);
        lora!.weights.write(device, lora!.nameOf(layer, 'B'), B);
        adapters.set(name, { A, B, O, I });
        const W = merged.get(name)!.data;
        for (let o = 0; o < O; o++)
          for (let i = 0; i < I; i++)
            for (let r = 0; r < 4; r++) W[o * I + i] += lora!.scale * B[o * 4 + r] * A[r * I + i];
      }
      expect(adapters.size).toBe(6);
      const model = new Decoder(CONFIG, merged);
      const optimizer = new AdamW(model, SETTINGS);
      const tape = new TapeLearner(model, optimizer, CROSS_ENTROPY);
      const micro = batchOf(70, 3, 20, CONFIG.vocabSize);
      for (const one of [tape, learner]) await one.add(micro, counted(micro));
      const [full, actual] = [await tape.gradients(), await learner.gradients()];
      for (const [name, { A, B, O, I }] of adapters) {
        const dW = full.get(name)!;
        const dA = new Float32Array(A.length);
        const dB = new Float32Array(B.length);
        for (let o = 0; o < O; o++)
          for (let i = 0; i < I; i++)
            for (let r = 0; r < 4; r++) {
              dA[r * I + i] += lora!.scale * B[o * 4 + r] * dW[o * I + i];
              dB[o * 4 + r] += lora!.scale * dW[o * I + i] * A[r * I + i];
            }
        const layer = name.replace('.weight', '');
        const tolerance = { atol: 2e-6, rtol: 2e-3, why: 'the merged weight rounds once more' };
        expectClose(actual.get(lora!.nameOf(layer, 'A'))!, dA, tolerance, `${layer} A`);
        expectClose(actual.get(lora!.nameOf(layer, 'B'))!, dB, tolerance, `${layer} B`);
      }
      const [a, b] = [await tape.apply(0), await learner.apply(0.01)];
      expect(Math.abs(a.loss - b.loss)).toBeLessThan(1e-4);
      await learner.add(micro, counted(micro));
      expect((await learner.apply(0.01)).loss).toBeLessThan(b.loss);
      tape.dispose();
      optimizer.dispose();
      model.dispose();
      dispose();
    },
  );

  test('the shape of a model of 0.5 B: a LoRA step within bindings of 128 MB, and the memory that was told', async () => {
    const config: ModelConfig = {
      ...CONFIG,
      architecture: 'qwen2',
      vocabSize: 151_936,
      hiddenSize: 896,
      intermediateSize: 4864,
      layers: 2,
      heads: 14,
      kvHeads: 2,
      headDim: 64,
      ropeTheta: 1e6,
      qkvBias: true,
      maxPositions: 64,
    };
    const limits = { maxBytes: 2 ** 27 };
    const settings = { rank: 8, alpha: 16, targets: ['q_proj', 'v_proj'] };
    const before = backendNow().gpuBytes;
    const { learner, model, lora, dispose } = bare(config, null, { ...limits, half: true, lora: settings });
    // Weights in pieces, so that no array of half a gigabyte is needed here; the norms must not be zero.
    const rng = new Rng(80);
    const noise = Float32Array.from({ length: 1 << 20 }, () => 0.02 * rng.normal());
    const halves = new Float32Array(float32ToF16(noise).bits.slice().buffer);
    for (const name of model.weights.names)
      for (const { buffer, offset, shape } of model.weights.all(name)) {
        const size = shape.reduce((a, b) => a * b, 1);
        const values = name.includes('norm')
          ? new Float32Array(size).fill(1)
          : model.isHalf(name)
            ? halves
            : noise;
        for (let at = 0; at < size; at += values.length)
          backendNow().device.queue.writeBuffer(
            buffer.gpu,
            offset + 4 * at,
            values,
            0,
            Math.min(values.length, size - at),
          );
      }
    expect(model.weights.all('model.embed_tokens.weight').length).toBeGreaterThan(4);
    const micro = batchOf(81, 1, 16, config.vocabSize);
    // One step only: 26 GFLOP take software WebGPU half a minute.
    await learner.add(micro, counted(micro));
    const { loss, gradNorm } = await learner.apply(1e-2);
    // Random weights know nothing: the loss is that of a uniform guess, plus the spread of the logits.
    expect(Math.abs(loss - Math.log(config.vocabSize))).toBeLessThan(1);
    expect(gradNorm).toBeGreaterThan(0);
    const layer = 'model.layers.1.self_attn.v_proj';
    const B = await backendNow().readSlices(lora!.weights.all(lora!.nameOf(layer, 'B')));
    // Adam's first step moves every number by the learning rate.
    expect(Math.max(...B.map(Math.abs))).toBeGreaterThan(5e-3);
    const told = trainingMemory(config, { B: 1, T: 16, lora: settings, half: true }, limits).total;
    const taken = backendNow().gpuBytes - before;
    expect(Math.abs(told / taken - 1)).toBeLessThan(0.1);
    dispose();
    expect(backendNow().gpuBytes).toBe(before);
  }, 240_000);
});
