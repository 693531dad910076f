/** The loss settings of a GRPO stage, in short runs from the shipped base model. */
import { beforeAll, describe, expect, test } from 'vitest';
import { openBackend } from '../tensor/device.ts';
import { memory } from '../tensor/tfjs.ts';
import type { Metrics, RolloutRecord, SavedRun } from './events.ts';
import { type GrpoStage, parseRecipe, type Recipe } from './recipe.ts';
import { runRecipe } from './run.ts';
import { grpoRecipe, loadShipped } from './trajectories/trajectory.ts';

/** A step of 2 × 6 rollouts on problems that the model solves now and then; one update. */
const QUICK = { promptsPerStep: 2, groupSize: 6, miniBatches: 1, microBatchTokens: 100_000 };

interface Run {
  steps: Metrics[];
  records: RolloutRecord[];
  saves: SavedRun[];
}

async function run(steps: number, over: Partial<GrpoStage>, resume: SavedRun | null = null): Promise<Run> {
  const base = grpoRecipe(steps);
  const stage = { ...(base.stages[0] as GrpoStage), ...QUICK, ...over };
  const recipe: Recipe = { ...base, stages: [stage], autosave: { minutes: 0 } };
  const out: Run = { steps: [], records: [], saves: [] };
  const { events } = runRecipe({
    recipe,
    scale: 1,
    resume,
    dropped: new Map(),
    droppedModel: null,
    loadShipped,
  });
  for await (const event of events) {
    if (event.type === 'step') out.steps.push(event.metrics);
    if (event.type === 'rollouts') out.records.push(...event.records);
    if (event.type === 'autosave') out.saves.push(event.saved);
    if (out.steps.length === steps && event.type === 'autosave') break;
  }
  return out;
}

/** The first step, worked out once for the same settings. */
const known = new Map<string, Promise<Run>>();
const once = (over: Partial<GrpoStage>): Promise<Run> => {
  const key = JSON.stringify(over);
  if (!known.has(key)) known.set(key, run(1, over));
  return known.get(key)!;
};
const first = async (over: Partial<GrpoStage>) => (await once(over)).steps[0];
const near = (a: number | undefined, b: number) => expect(a).toBeCloseTo(b, 5);

beforeAll(async () => {
  await openBackend('wasm');
});

test('what is usual is what the released code does, without terms of its own', () => {
  expect(grpoRecipe(1).stages[0]).toMatchObject({
    loss: 'dapo',
    advantageScaling: 'group',
    splitAdvantage: false,
    klBeta: 0,
    entropyBonus: 0,
    maskTruncated: false,
    keepEqualGroups: false,
    resampleRounds: 0,
  });
});

test('split advantages want a reward with parts', () => {
  const recipe = structuredClone(grpoRecipe(1));
  Object.assign(recipe.stages[0], { splitAdvantage: true });
  expect(() => parseRecipe(recipe)).toThrow(/"stages\[0\]\.splitAdvantage".*"accuracy".*Set it to "sum"/);
});

describe('on fresh rollouts every ratio is 1, so the losses differ in their weights only', () => {
  test('losses that agree there', async () => {
    const dapo = await first({});
    expect(dapo.grad_norm).toBeGreaterThan(0.01);
    const bnpo = await first({ loss: 'bnpo' });
    near(bnpo.grad_norm, dapo.grad_norm!);
    near(bnpo.loss, dapo.loss!);
    near((await first({ loss: 'cispo' })).grad_norm, dapo.grad_norm!);
    const grpo = await first({ loss: 'grpo' });
    near((await first({ loss: 'gspo', clipLow: 3e-4, clipHigh: 4e-4 })).grad_norm, grpo.grad_norm!);
    // Long and short responses are there, so these must not agree.
    expect(Math.abs(grpo.grad_norm! - dapo.grad_norm!)).toBeGreaterThan(1e-3);
  });

  test('Dr. GRPO divides by the response limit, and scaling changes the size', async () => {
    const dapo = await run(1, { loss: 'dapo', advantageScaling: 'none' });
    const dr = await first({ loss: 'dr_grpo', advantageScaling: 'none' });
    const longer = await first({
      loss: 'dr_grpo',
      advantageScaling: 'none',
      keepEqualGroups: true,
    });
    const trained = dapo.records.filter(({ advantage }) => advantage !== 0).length;
    expect(trained).toBeGreaterThan(0);
    expect(dr.grad_norm).toBeLessThan(dapo.steps[0].grad_norm!);
    // Kept groups count among the responses that the sum is divided by.
    near(longer.grad_norm! * 12, dr.grad_norm! * trained);
    const batch = await run(1, { advantageScaling: 'batch' });
    const std = batch.steps[0].reward_std!;
    for (const [i, { advantage }] of batch.records.entries())
      expect(advantage).toBeCloseTo(dapo.records[i].advantage / (std + 1e-6), 6);
  });
});

test('the entropy bonus is worth its weight', async () => {
  const plain = await first({});
  const paid = await first({ entropyBonus: 0.05 });
  expect(paid.entropy).toBeCloseTo(plain.entropy!, 6);
  near(paid.loss, plain.loss! - 0.05 * plain.entropy!);
  expect(Math.abs(paid.grad_norm! - plain.grad_norm!)).toBeGreaterThan(1e-4);
});

test('KL to the weights that the stage began with: 0 at first, held down by its weight, the same after a resume', async () => {
  const before = memory().numTensors;
  const fast = { learningRate: 2e-3, keepEqualGroups: true };
  const whole = await run(3, { ...fast, klBeta: 1e-6 });
  expect(whole.steps[0].kl).toBeLessThan(1e-8);
  expect(whole.steps[2].kl).toBeGreaterThan(1e-4);
  const held = await run(3, { ...fast, klBeta: 3 });
  expect(held.steps[2].kl).toBeLessThan(0.7 * whole.steps[2].kl!);
  const saved = whole.saves.find(({ step }) => step === 2)!;
  const rest = await run(3, { ...fast, klBeta: 1e-6 }, saved);
  const { kl, loss, grad_norm } = whole.steps[2];
  expect(rest.steps).toMatchObject([{ kl, loss, grad_norm }]);
  expect(memory().numTensors).toBe(before);
});

test('cut-off responses count in their group, not in the loss', async () => {
  // Some of the responses end within 24 tokens.
  const cut = { rollout: { ...(grpoRecipe(1).stages[0] as GrpoStage).rollout, maxTokens: 24 } };
  const plain = await run(1, cut);
  const masked = await run(1, { ...cut, maskTruncated: true });
  const { 'completions/clipped_ratio': clipped } = plain.steps[0];
  expect(clipped).toBeGreaterThan(0);
  expect(clipped).toBeLessThan(1);
  expect(masked.records.map(({ advantage }) => advantage)).toEqual(
    plain.records.map(({ advantage }) => advantage),
  );
  expect(Math.abs(masked.steps[0].grad_norm! - plain.steps[0].grad_norm!)).toBeGreaterThan(1e-4);
});

describe('dynamic sampling', () => {
  test('draws again until enough groups differ, and trains on no more', async () => {
    const { steps, records } = await run(1, { promptsPerStep: 3, groupSize: 4, resampleRounds: 6 });
    const rounds = steps[0]['sampling/rounds']!;
    expect(rounds).toBeGreaterThan(1);
    expect(records).toHaveLength(rounds * 3 * 4);
    const trained = new Set(records.filter(({ advantage }) => advantage !== 0).map(({ group }) => group));
    expect(trained.size).toBe(3);
    expect(steps[0]['sampling/pass_rate']).toBeGreaterThanOrEqual(3 / (rounds * 3));
    expect(1 - steps[0]['sampling/pass_rate']!).toBeCloseTo(steps[0].frac_reward_zero_std!);
    // Every problem was drawn for its own number.
    expect(new Set(records.map(({ group, prompt }) => `${group} ${prompt}`)).size).toBe(rounds * 3);
  });

  test('gives up on a hopeless data set after its rounds', async () => {
    const hopeless = { rollout: { ...(grpoRecipe(1).stages[0] as GrpoStage).rollout, maxTokens: 2 } };
    const { steps, records } = await run(1, { ...hopeless, promptsPerStep: 1, resampleRounds: 3 });
    expect(steps[0]).toMatchObject({ 'sampling/rounds': 4, 'sampling/pass_rate': 0, grad_norm: 0, loss: 0 });
    expect(records).toHaveLength(4 * 6);
  });
});
