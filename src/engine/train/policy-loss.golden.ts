/**
 * Golden checks of advantages and policy losses, one body for cpu, wasm and webgpu; values by PyTorch in float64
 * (fixtures/grpo.*, made by make_golden.py of the project's reference notes, and checked there against the executed source
 * of TRL and verl).
 */
import { expect } from 'vitest';
import { readSafetensors } from '../model/safetensors.ts';
import { fixtureBytes, relativeError } from '../tensor/fixture.ts';
import { sequenceRatioOp } from '../tensor/ops/token-objective/sequence-ratio.ts';
import { OBJECTIVE_SUMS, tokenObjectiveOp } from '../tensor/ops/token-objective/token-objective.ts';
import { type Tensor, tf } from '../tensor/tfjs.ts';
import { groupAdvantages } from './advantage.ts';
import { noSums, type ObjectiveSums } from './learner.ts';
import { policyCounts } from './policy-counts.ts';
import {
  hasSequenceRatio,
  objectiveSettings,
  type PolicyLossKind,
  type PolicyLossSettings,
  policyLoss,
  responseIndicator,
} from './policy-loss.ts';
import { tokenWeights } from './token-weights.ts';

const urls = import.meta.glob<string>('./fixtures/grpo.{json,safetensors}', {
  query: '?url',
  import: 'default',
  eager: true,
});

/** A variant as the golden file describes it. */
interface Facts {
  surrogate: 'ppo' | 'gspo' | 'cispo';
  agg: 'token_mean' | 'seq_mean' | 'seq_mean_nonempty' | 'dr_grpo';
  adv: 'std' | 'mean';
  mask: 'loss' | 'with_injected' | 'no_truncated';
  beta: number;
  eps_low?: number;
  eps_high?: number;
  dual_clip?: number | null;
  eps_max?: number;
  loss: number;
  n_tokens: number;
  metrics: Record<string, number>;
}

/** A variant in our words, ready for both ways of computing it. */
interface Variant {
  name: string;
  facts: Facts;
  settings: PolicyLossSettings;
  T: number;
  logp: Float32Array;
  old: Float32Array;
  reference: Float32Array;
  advantages: Float32Array;
  mask: Float32Array;
  /** The mask times what a token weighs, and what the sum is divided by. */
  weights: Float32Array;
  total: number;
  rows: Int32Array;
  perToken: ArrayLike<number>;
  gradient: ArrayLike<number>;
}

async function load() {
  const facts = JSON.parse(new TextDecoder().decode(await fixtureBytes(urls['./fixtures/grpo.json'])));
  const file = readSafetensors(await fixtureBytes(urls['./fixtures/grpo.safetensors']), 'grpo');
  const tensors = file.tensors as unknown as Map<string, { shape: number[]; data: ArrayLike<number> }>;
  return { facts, get: (key: string) => tensors.get(key)!.data, shape: tensors.get('logp_policy')!.shape };
}

async function variants(): Promise<Variant[]> {
  const { facts, get, shape } = await load();
  const [B, T] = shape;
  const perSlot = (rows: ArrayLike<number>) =>
    Float32Array.from({ length: B * T }, (_, n) => rows[Math.floor(n / T)]);
  return Object.entries(facts.variants as Record<string, Facts>).flatMap(([name, one]) => {
    const mask = Float32Array.from(get(`mask.${one.mask}`));
    const counts = Array.from({ length: B }, (_, i) =>
      mask.subarray(i * T, (i + 1) * T).reduce((a, b) => a + b, 0),
    );
    expect(mask.reduce((a, b) => a + b, 0)).toBe(one.n_tokens);
    const aggregation: PolicyLossKind = {
      token_mean: 'dapo',
      seq_mean: 'grpo',
      seq_mean_nonempty: 'grpo',
      dr_grpo: 'dr_grpo',
    }[one.agg] as PolicyLossKind;
    const { weights, total } = tokenWeights(aggregation, {
      counts,
      passes: counts.map(() => 0),
      maxTokens: facts.config.max_completion_length,
    });
    const loss: PolicyLossKind = one.surrogate === 'ppo' ? aggregation : one.surrogate;
    const base: Omit<Variant, 'name' | 'logp' | 'old' | 'reference'> = {
      facts: one,
      settings: {
        loss,
        clipLow: one.eps_low ?? 0,
        clipHigh: one.eps_high ?? 0,
        dualClip: one.dual_clip ?? null,
        cispoCap: one.eps_max ?? 1,
        klBeta: one.beta,
        entropyBonus: 0,
      },
      T,
      advantages: perSlot(get(`advantages.${one.adv}`)),
      mask,
      weights: perSlot(weights).map((weight, n) => weight * mask[n]),
      // verl takes the mean over the rows that have a token that counts; we, as TRL, over all.
      total: one.agg === 'seq_mean_nonempty' ? counts.filter((count) => count > 0).length : total,
      rows: Int32Array.from({ length: B * T }, (_, n) => Math.floor(n / T)),
      perToken: get(`${name}.per_token_loss`),
      gradient: get(`${name}.dloss_dlogp`),
    };
    // Ratios outside the mask that overflow float32 must change nothing.
    return (one.mask === 'loss' ? ['', '_overflow_outside_mask'] : ['']).map((suffix) => {
      const [logp, old, reference] = ['policy', 'old', 'ref'].map((key) =>
        Float32Array.from(get(`logp_${key}${suffix}`)),
      );
      return { ...base, name: `${name}${suffix}`, logp, old, reference };
    });
  });
}

function expectCounts(
  { name, facts, settings }: Variant,
  counts: Pick<ObjectiveSums, 'low' | 'high' | 'dual'>,
): void {
  const { metrics } = facts;
  if (settings.loss === 'cispo') expect(counts.high, name).toBe(metrics.cispo_clip_count);
  else expect([counts.low, counts.high], name).toEqual([metrics.clip_count_low, metrics.clip_count_high]);
  expect(counts.dual, name).toBe(metrics.dual_clip_count ?? 0);
}

/** Every variant, through tf ops and tfjs's tape: loss of each token, its gradient, the total, the counts. */
export async function checkPolicyLossGolden(tolerance: number): Promise<void> {
  const all = await variants();
  expect(new Set(all.map(({ settings }) => settings.loss))).toEqual(
    new Set(['dapo', 'grpo', 'dr_grpo', 'gspo', 'cispo']),
  );
  const { facts } = await load();
  for (const variant of all) {
    const { name, settings, logp, old, reference, advantages, mask, weights, total, rows } = variant;
    const indicator = responseIndicator(rows, mask);
    const [x, o, r, a, m, w] = [logp, old, reference, advantages, mask, weights].map((values) =>
      tf.tensor1d(values),
    );
    const responses = tf.tensor2d(indicator.values, indicator.shape);
    const tokens = { old: o, advantages: a, reference: r, responses };
    const lossOf = (p: Tensor, over: Tensor) => policyLoss(p, { ...tokens, weights: over }, settings);
    const perToken = tf.tidy(() => lossOf(x, m));
    expect(relativeError(await perToken.data(), variant.perToken), name).toBeLessThan(tolerance);
    const { value, grad } = tf.valueAndGrad((p) => tf.div(tf.sum(lossOf(p, w)), total))(x);
    expect(relativeError(await grad.data(), variant.gradient), `${name} gradient`).toBeLessThan(tolerance);
    expect(Math.abs((await value.data())[0] - variant.facts.loss), `${name} loss`).toBeLessThan(tolerance);
    const counts = policyCounts({ logp, old, advantages, weights, reference, rows }, settings);
    expectCounts(variant, counts);
    if (settings.klBeta > 0)
      expect(counts.kl / counts.tokens, name).toBeCloseTo(facts.metrics.kl_k3_to_ref_token_mean, 6);
    tf.dispose([x, o, r, a, m, w, responses, perToken, value, grad]);
  }
}

/** Every variant through the ops that captured steps are made of. */
export async function checkTokenObjectiveGolden(tolerance: number): Promise<void> {
  for (const variant of await variants()) {
    const { name, settings, logp, old, reference, advantages, mask, weights, total, T } = variant;
    const info = Float32Array.from(
      { length: 4 * mask.length },
      (_, i) => [old, advantages, weights, reference][i % 4][i >> 2],
    );
    const inputs: Tensor[] = [
      tf.tensor1d(logp),
      tf.zeros([mask.length]),
      tf.tensor2d(info, [mask.length, 4]),
      tf.tensor1d(objectiveSettings(settings, total)),
      tf.tensor1d(Object.values(noSums())),
    ];
    if (hasSequenceRatio(settings)) inputs.push(...sequenceRatioOp([inputs[0], inputs[2]], { T }));
    const outputs = tokenObjectiveOp(inputs, {});
    expect(relativeError(await outputs[0].data(), variant.gradient), `${name} gradient`).toBeLessThan(
      tolerance,
    );
    const values = await inputs[4].data();
    const sums = Object.fromEntries(OBJECTIVE_SUMS.map((key, i) => [key, values[i]])) as ObjectiveSums;
    expect(Math.abs(sums.loss - variant.facts.loss), `${name} loss`).toBeLessThan(tolerance);
    expect(sums.tokens).toBe(variant.facts.n_tokens);
    expectCounts(variant, sums);
    const { kl } = policyCounts({ ...variant, weights }, settings);
    expect(Math.abs(sums.kl - kl), `${name} KL`).toBeLessThan(1e-4 * kl + 1e-9);
    tf.dispose([...inputs, ...outputs]);
  }
}

/** Advantages of three groups of four; one group is all-equal and must be exactly 0. */
export async function checkAdvantageGolden(): Promise<void> {
  const { get } = await load();
  const rewards = Array.from(get('rewards'));
  for (const [scaling, key] of [
    ['group', 'advantages.std'],
    ['none', 'advantages.mean'],
  ] as const) {
    const expected = get(key);
    const advantages = groupAdvantages(rewards, 4, scaling);
    expect(relativeError(advantages, expected)).toBeLessThan(1e-5);
    for (let i = 0; i < expected.length; i++) if (expected[i] === 0) expect(advantages[i]).toBe(0);
  }
}
