/**
 * The golden checks of the decoder, one body for cpu, wasm and webgpu: three checkpoints of PyTorch in float64
 * (fixtures/golden, made by make_golden.py of the project's reference notes). Tolerances are those of its README.
 */
import { expect } from 'vitest';
import { fixtureBytes, relativeError } from '../tensor/fixture.ts';
import { tokenLoss } from '../tensor/ops/token-loss/token-loss.ts';
import { memory, type Tensor, tf } from '../tensor/tfjs.ts';
import { parseModelConfig } from './config.ts';
import { Decoder, type WeightArray } from './decoder.ts';
import { readSafetensors } from './safetensors.ts';

const urls = import.meta.glob<string>('./fixtures/**/*.{json,safetensors}', {
  query: '?url',
  import: 'default',
  eager: true,
});

type Arrays = Map<string, { shape: readonly number[]; data: ArrayLike<number> }>;

async function json(path: string): Promise<Record<string, unknown>> {
  return JSON.parse(new TextDecoder().decode(await fixtureBytes(urls[`./fixtures/${path}`])));
}

async function arrays(path: string): Promise<Arrays> {
  return readSafetensors(await fixtureBytes(urls[`./fixtures/${path}`]), path).tensors as unknown as Arrays;
}

export async function goldenModel(name: string): Promise<Decoder> {
  const config = parseModelConfig(await json(`ckpt/${name}/config.json`));
  return new Decoder(
    config,
    (await arrays(`ckpt/${name}/model.safetensors`)) as unknown as Map<string, WeightArray>,
  );
}

const int = (values: ArrayLike<number>) => tf.tensor1d(Int32Array.from(values), 'int32');
const PADDING = 0x7fff << 16;

/** Logits, log-probs, entropies, hidden states, loss and every gradient of one of the three checkpoints. */
export async function checkModelGolden(name: 'llama' | 'qwen2' | 'qwen3'): Promise<void> {
  const model = await goldenModel(name);
  const golden = await arrays(`golden/${name}.safetensors`);
  const facts = await json(`golden/${name}.json`);
  const get = (key: string) => golden.get(key)!.data;
  const [B, T] = golden.get('input_ids')!.shape;
  const [ids, mask, labels] = [get('input_ids'), get('attention_mask'), get('labels')];
  const at = (b: number, t: number) => b * T + t;
  const next = (b: number, t: number) => t + 1 < T && mask[at(b, t + 1)] === 1;
  const positions = Array.from(ids, (_, n) => n % T);
  const branches = Array.from(ids, (_, n) => (mask[n] ? 0 : PADDING));
  const trained = Array.from(ids, (_, n) => ((n + 1) % T === 0 ? -1 : Math.max(-1, labels[n + 1])));
  const every = Array.from(ids, (_, n) => (next(Math.floor(n / T), n % T) ? ids[n + 1] : -1));
  const batch = { B, T, tokens: int(ids), positions: int(positions), branches: int(branches) };
  const real = Array.from(ids, (_, n) => n).filter((n) => mask[n] === 1);
  const C = model.config.hiddenSize;
  const rowsOf = (values: ArrayLike<number>, width: number) =>
    real.flatMap((n) => Array.from({ length: width }, (_, c) => values[n * width + c]));

  // Hidden states and logits
  const hidden = new Map<string, Tensor>();
  const normed = tf.tidy(() => {
    const x = model.hidden(batch, (layer, h) => hidden.set(layer, tf.keep(tf.clone(h))));
    return x;
  });
  for (const [layer, h] of hidden) {
    expect(
      relativeError(rowsOf(await h.data(), C), rowsOf(get(`hidden.${layer}`), C)),
      `hidden.${layer}`,
    ).toBeLessThan(1e-4);
    h.dispose();
  }
  const logits = tf.matMul(normed as tf.Tensor2D, model.head as tf.Tensor2D, false, true);
  const V = model.config.vocabSize;
  expect(relativeError(rowsOf(await logits.data(), V), rowsOf(get('logits'), V)), 'logits').toBeLessThan(
    1e-4,
  );

  // Log-probs and entropies, through the chunked loss (a chunk that does not divide the rows)
  const targets = int(every);
  const { logp, entropy } = tf.tidy(() => tokenLoss(normed, model.head, targets, 1, 7));
  const [logps, entropies] = [await logp.data(), await entropy.data()];
  for (const n of real) {
    const [b, t] = [Math.floor(n / T), n % T];
    expect(Math.abs(entropies[n] - get('entropy')[n]), `entropy ${b},${t}`).toBeLessThan(2e-4);
    if (next(b, t))
      expect(Math.abs(logps[n] - get('logprobs')[b * (T - 1) + t]), `logp ${b},${t}`).toBeLessThan(2e-4);
  }
  tf.dispose([logits, normed, targets, logp, entropy]);

  // Loss and gradients
  await checkGradients(model, batch, int(trained), facts.loss as number, golden);
  tf.dispose([batch.tokens, batch.positions, batch.branches]);
  model.dispose();
}

async function checkGradients(
  model: Decoder,
  batch: Parameters<Decoder['hidden']>[0],
  targets: Tensor,
  loss: number,
  golden: Arrays,
): Promise<void> {
  const count = (await targets.data()).filter((target) => target >= 0).length;
  const before = memory().numTensors;
  const weights = [...model.weights.values()];
  const { value, grads } = tf
    .engine()
    .gradients(
      () =>
        tf.div(
          tf.neg(tf.sum(tokenLoss(model.hidden(batch), model.head, targets, 1, 7).logp)),
          count,
        ) as tf.Scalar,
      weights,
    );
  expect(memory().numTensors - before, 'tensors left by forward and backward').toBe(grads.length + 1);
  expect(Math.abs((await value.data())[0] - loss) / loss, 'loss').toBeLessThan(1e-4);
  const names = [...model.weights.keys()];
  const expected = names.map((name) => golden.get(`grad.${name}`)!.data);
  const largest = Math.max(
    ...expected.map((values) => Array.from(values).reduce((m, x) => Math.max(m, Math.abs(x)), 0)),
  );
  for (let i = 0; i < names.length; i++)
    expect(
      relativeError(await grads[i].data(), expected[i], 1e-6 * largest),
      `grad.${names[i]}`,
    ).toBeLessThan(1e-3);
  tf.dispose([value, ...grads, targets]);
}

/** Path-window attention on flat sequences: logits, log-probs and (where the fixture has them) gradients. */
export async function checkStructuralGolden(name: string): Promise<void> {
  const model = await goldenModel('llama');
  const golden = await arrays(`golden/${name}.safetensors`);
  const facts = await json(`golden/${name}.json`);
  const get = (key: string) => golden.get(key)!.data;
  const [B, T] = golden.get('input_ids')!.shape;
  const labels = get('labels');
  const batch = {
    B,
    T,
    tokens: int(get('input_ids')),
    positions: int(get('position_ids')),
    branches: int(get('branch_code')),
  };
  const logits = tf.tidy(() =>
    tf.matMul(model.hidden(batch) as tf.Tensor2D, model.head as tf.Tensor2D, false, true),
  );
  expect(relativeError(await logits.data(), get('logits')), 'logits').toBeLessThan(1e-4);
  logits.dispose();
  if (golden.has('grad.model.norm.weight')) {
    const trained = Array.from(labels, (_, n) => ((n + 1) % T === 0 ? -1 : Math.max(-1, labels[n + 1])));
    await checkGradients(model, batch, int(trained), facts.loss as number, golden);
  }
  tf.dispose([batch.tokens, batch.positions, batch.branches]);
  model.dispose();
}

/**
 * Fork and join over the shared cache: fed token by token, lanes of a block together, the logits are those that
 * PyTorch got without any mask, by cloning a cache per path (fixture fork_equivalence).
 */
export async function checkForkGolden(name: string): Promise<void> {
  const model = await goldenModel('llama');
  const flat = await arrays(`golden/${name}.safetensors`);
  const forked = await arrays('golden/fork_equivalence.safetensors');
  const expected = forked.get(`${name}.logits`)!.data;
  const get = (key: string) => flat.get(key)!.data;
  const T = flat.get('input_ids')!.shape[1];
  const V = model.config.vocabSize;
  const codes = Array.from(get('branch_code'));
  const cache = model.makeCache(2, T + 3);
  const row = 1;
  let slot = 0;
  let checked = 0;
  for (const lanes of emissionOrder(codes)) {
    const slots = lanes.map(() => row * cache.slotsPerRow + slot++);
    const pick = (key: string) => int(lanes.map((i) => get(key)[i]));
    const inputs = { positions: pick('position_ids'), branches: pick('branch_code'), slots: int(slots) };
    const tokens = pick('input_ids');
    const wanted = int(lanes.map((_, i) => i));
    const logits = model.decode(cache, tokens, inputs, wanted);
    const values = await logits.data();
    lanes.forEach((i, lane) => {
      const own = values.slice(lane * V, (lane + 1) * V);
      const golden = Array.from({ length: V }, (_, v) => expected[i * V + v]);
      expect(relativeError(own, golden), `token ${i}`).toBeLessThan(1e-4);
      checked++;
    });
    tf.dispose([...Object.values(inputs), tokens, wanted, logits]);
  }
  expect(checked).toBe(T);
  model.disposeCache(cache);
  model.dispose();
}

/** Indices of the tokens in the order in which a rollout writes them: one a step on the trunk, one a path in a block. */
function emissionOrder(codes: number[]): number[][] {
  const steps: number[][] = [];
  for (let i = 0; i < codes.length; ) {
    if (codes[i] === 0) {
      steps.push([i++]);
      continue;
    }
    const block = codes[i] >> 4;
    const paths = new Map<number, number[]>();
    for (; i < codes.length && codes[i] >> 4 === block && codes[i] !== 0; i++)
      paths.set(codes[i], [...(paths.get(codes[i]) ?? []), i]);
    const longest = Math.max(...[...paths.values()].map((path) => path.length));
    for (let k = 0; k < longest; k++)
      steps.push([...paths.values()].flatMap((path) => (k < path.length ? [path[k]] : [])));
  }
  return steps;
}
