/**
 * Golden checks of optimizer and losses, one body for cpu, wasm and webgpu; values by PyTorch in float64
 * (fixtures/, made by make_golden.py of the project's reference notes). Tolerances are those of its README.
 */
import { expect } from 'vitest';
import { goldenModel } from '../model/decoder.golden.ts';
import type { Decoder } from '../model/decoder.ts';
import { readSafetensors } from '../model/safetensors.ts';
import { fixtureBytes, relativeError } from '../tensor/fixture.ts';
import { adamw } from '../tensor/ops/adamw/adamw.ts';
import { tf } from '../tensor/tfjs.ts';
import type { Learner, MicroBatch } from './learner.ts';
import { AdamW } from './optimizer.ts';
import type { OptimizerSettings } from './recipe.ts';
import { learningRateAt } from './schedule.ts';
import { TapeLearner } from './tape-learner.ts';

const urls = import.meta.glob<string>('./fixtures/*.{json,safetensors}', {
  query: '?url',
  import: 'default',
  eager: true,
});

type Arrays = Map<string, { shape: readonly number[]; data: ArrayLike<number> }>;

// biome-ignore lint/suspicious/noExplicitAny: fixtures are read key by key
async function json(name: string): Promise<any> {
  return JSON.parse(new TextDecoder().decode(await fixtureBytes(urls[`./fixtures/${name}.json`])));
}

async function arrays(name: string): Promise<Arrays> {
  return readSafetensors(await fixtureBytes(urls[`./fixtures/${name}.safetensors`]), name)
    .tensors as unknown as Arrays;
}

interface Hyper {
  lr: number;
  min_ratio: number;
  warmup: number;
  steps: number;
  betas: [number, number];
  eps: number;
  weight_decay: number;
  clip: number;
}

function settingsOf(hyper: Hyper): OptimizerSettings {
  return {
    learningRate: hyper.lr,
    warmupSteps: hyper.warmup,
    schedule: 'cosine',
    minLearningRateRatio: hyper.min_ratio,
    weightDecay: hyper.weight_decay,
    decayNorms: false,
    beta1: hyper.betas[0],
    beta2: hyper.betas[1],
    epsilon: hyper.eps,
    maxGradNorm: hyper.clip,
    tagLearningRate: 1,
    gradientCheckpointing: false,
    microBatchTokens: 4096,
  };
}

/** Ten steps of AdamW on given gradients; the strictest test: it tells every usual variant apart. */
export async function checkAdamwGolden(): Promise<void> {
  const facts = await json('optimizer_only');
  const golden = await arrays('optimizer_only');
  const settings = settingsOf(facts.hyper);
  const names = [...golden.keys()].filter((key) => key.startsWith('init.')).map((key) => key.slice(5));
  const tensors = names.map((name) => {
    const { shape, data } = golden.get(`init.${name}`)!;
    const make = (values: ArrayLike<number>) => tf.tensor(Float32Array.from(values), [...shape]);
    return {
      name,
      shape,
      decay: facts.decayed.includes(name),
      parameter: make(data),
      mean: make(new Float32Array(data.length)),
      square: make(new Float32Array(data.length)),
    };
  });
  for (let step = 1; step <= facts.hyper.steps; step++) {
    const part = (key: string, size: number) =>
      Float32Array.from({ length: size }, (_, i) => golden.get(key)!.data[(step - 1) * size + i]);
    const hyper = tf.tensor1d([
      learningRateAt(settings, step, facts.hyper.steps),
      settings.beta1,
      settings.beta2,
      settings.epsilon,
      settings.weightDecay,
      settings.maxGradNorm,
      1 - settings.beta1 ** step,
      1 - settings.beta2 ** step,
    ]);
    const gradients = tensors.map((t) => tf.tensor(part(`grad.${t.name}`, t.parameter.size), [...t.shape]));
    const norm = adamw(
      tensors.map((t, i) => ({ ...t, gradient: gradients[i] })),
      hyper,
    );
    const expected = facts.steps[step - 1];
    const measured = (await norm.data())[0];
    expect(Math.abs(measured - expected.grad_norm) / expected.grad_norm, `norm, step ${step}`).toBeLessThan(
      1e-5,
    );
    for (const t of tensors) {
      const values = await t.parameter.data();
      const after = part(`after.${t.name}`, t.parameter.size);
      const worst = after.reduce((m, x, i) => Math.max(m, Math.abs(x - values[i])), 0);
      expect(worst, `${t.name}, step ${step}`).toBeLessThan(2e-6);
    }
    tf.dispose([norm, hyper, ...gradients]);
  }
  tf.dispose(tensors.flatMap((t) => [t.parameter, t.mean, t.square]));
}

const PADDING = 0x7fff << 16;

/** How a test asks for one of the learners. */
export type LearnerMaker = (model: Decoder, optimizer: AdamW) => Learner;
const CROSS_ENTROPY = { temperature: 1, clip: null };
export const tapeLearner: LearnerMaker = (model, optimizer) =>
  new TapeLearner(model, optimizer, CROSS_ENTROPY);

/** Rows of a padded batch of the golden files. */
function microBatch(
  ids: readonly number[],
  mask: readonly number[],
  labels: readonly number[],
  T: number,
): MicroBatch {
  const int = (of: (n: number) => number) => Int32Array.from(ids, (_, n) => of(n));
  const targets = int((n) => ((n + 1) % T === 0 ? -1 : Math.max(-1, labels[n + 1])));
  return {
    batch: {
      B: ids.length / T,
      T,
      tokens: int((n) => ids[n]),
      positions: int((n) => n % T),
      branches: int((n) => (mask[n] ? 0 : PADDING)),
      targets,
      rows: int((n) => Math.floor(n / T)),
      slots: int((n) => n % T),
    },
    mask: Float32Array.from(targets, (target) => (target >= 0 ? 1 : 0)),
    policy: null,
  };
}

/** Ten steps of forward, backward, clip and AdamW on the llama checkpoint: losses, norms, learning rates, weights. */
export async function checkTrajectoryGolden(
  name: 'trajectory' | 'trajectory_clip_mid',
  strict: boolean,
  make: LearnerMaker = tapeLearner,
): Promise<void> {
  const facts = await json(name);
  const golden = await arrays(name);
  // The clip-mid file shares its inputs with the other.
  const inputs = golden.has('input_ids') ? golden : await arrays('trajectory');
  const model = await goldenModel('llama');
  const settings = settingsOf(facts.hyper);
  const optimizer = new AdamW(model, settings);
  const learner = make(model, optimizer);
  const [steps, B, T] = inputs.get('input_ids')!.shape;
  for (let step = 1; step <= steps; step++) {
    const part = (key: string) =>
      Array.from({ length: B * T }, (_, i) => inputs.get(key)!.data[(step - 1) * B * T + i]);
    const expected = facts.steps[step - 1];
    const micro = microBatch(part('input_ids'), part('attention_mask'), part('labels'), T);
    await learner.add(micro, expected.n_targets);
    const lr = learningRateAt(settings, step, steps);
    expect(Math.abs(lr - expected.lr) / expected.lr, `learning rate, step ${step}`).toBeLessThan(1e-9);
    const { loss, gradNorm: norm } = await learner.apply(lr);
    const [lossLimit, normLimit] = step === 1 || strict ? [1e-4, 1e-3] : [2e-3, 1e-2];
    expect(Math.abs(loss - expected.loss) / expected.loss, `loss, step ${step}`).toBeLessThan(lossLimit);
    expect(Math.abs(norm - expected.grad_norm) / expected.grad_norm, `norm, step ${step}`).toBeLessThan(
      normLimit,
    );
  }
  learner.dispose();
  let squares = 0;
  let count = 0;
  for (const [key, weight] of model.weights) {
    const values = await weight.data();
    const final = golden.get(`final.${key}`)!.data;
    for (let i = 0; i < values.length; i++) squares += (values[i] - final[i]) ** 2;
    count += values.length;
  }
  expect(Math.sqrt(squares / count), 'final weights, rms').toBeLessThan(strict ? 1e-5 : 1e-4);
  optimizer.dispose();
  model.dispose();
}

/** Two micro-batches add up to the gradient of the whole batch (not to the mean of their means). */
export async function checkAccumulationGolden(make: LearnerMaker = tapeLearner): Promise<void> {
  const facts = await json('grad_accum');
  const golden = await arrays('grad_accum');
  const model = await goldenModel('llama');
  const optimizer = new AdamW(model, settingsOf((await json('trajectory')).hyper));
  const learner = make(model, optimizer);
  const T = golden.get('input_ids')!.shape[1];
  for (const { rows } of facts.micro_batches as { rows: number[] }[]) {
    const part = (key: string) =>
      rows.flatMap((row) => Array.from({ length: T }, (_, t) => golden.get(key)!.data[row * T + t]));
    await learner.add(
      microBatch(part('input_ids'), part('attention_mask'), part('labels'), T),
      facts.n_targets,
    );
  }
  const sums = await learner.gradients();
  for (const name of model.weights.keys())
    expect(relativeError(sums.get(name)!, golden.get(`grad.${name}`)!.data, 1e-9), name).toBeLessThan(1e-3);
  const { loss } = await learner.apply(0);
  expect(Math.abs(loss - facts.loss) / facts.loss, 'loss').toBeLessThan(1e-4);
  learner.dispose();
  optimizer.dispose();
  model.dispose();
}
