import { afterAll, beforeAll, expect, test } from 'vitest';
import tinyRecipe from '../../../models/tiny-recipe.json' with { type: 'json' };
import { foldKey } from '../../base/rng.ts';
import type { Problem } from '../data/example.ts';
import { signedChain } from '../data/tasks/signed-chain.ts';
import { Decoder } from '../model/decoder.ts';
import { SETTINGS } from '../rollout/generate.golden.ts';
import { type GenerateSettings, generate } from '../rollout/generate.ts';
import { openBackend } from '../tensor/device.ts';
import { memory } from '../tensor/tfjs.ts';
import { type EvaluateContext, type Evaluation, evaluate } from './evaluate.ts';
import { majorityAnswer, passAtK } from './evaluation-metrics.ts';
import { taskAnswer } from './judge.ts';
import { parseRecipe, type Recipe } from './recipe.ts';
import { runRecipe } from './run.ts';
import type { LoadedModel } from './setup.ts';
import { loadShipped } from './trajectories/trajectory.ts';

let base: LoadedModel;
let model: Decoder;
beforeAll(async () => {
  await openBackend('wasm');
  base = await loadShipped('base');
  model = new Decoder(base.config, base.weights);
});
afterAll(() => model.dispose());

// The shipped model does not fork. So that its "parallel" responses are longer, they are asked for longer sums.
const SHORT = ['+8+23?', '+30-5?', '+9+9?', '+17-2?'];
const LONG = ['+8+23-5+14-9-20?', '+9+9+9-2+25-30?', '+1+2+3+28-6+11?', '+17-2-3+29+4-8?'];
const goldOf = (prompt: string) =>
  String((31 * 10 + [...prompt.matchAll(/[+-]\d+/g)].reduce((sum, [term]) => sum + Number(term), 0)) % 31);
const problemsOf = (prompts: string[]): Problem[] =>
  prompts.map((prompt, i) => ({ prompt, answer: goldOf(prompt), difficulty: i < 1 ? 'first' : 'other' }));
const settings: GenerateSettings = { ...SETTINGS, parallel: false, maxTokens: 64 };
const KEY = 11;

async function evaluations(set: Partial<EvaluateContext['set']>): Promise<Evaluation[]> {
  const all: Evaluation[] = [];
  for await (const one of evaluate({
    model,
    tokenizer: base.tokenizer,
    task: signedChain,
    set: { name: 'hard', samples: 3, ks: [], decode: ['stage'], greedy: false, equalTokens: false, ...set },
    stageMode: 'sequential',
    problems: { sequential: problemsOf(SHORT), parallel: problemsOf(LONG) },
    settings: { sequential: settings, parallel: settings },
    key: KEY,
  }))
    if (one) all.push(one);
  return all;
}

/** Answers of the shipped model, sample after sample, by what is evaluated: the slow way. */
async function answersTo(prompts: string[], samples: number): Promise<(string | null)[][]> {
  const { tokenizer } = base;
  const requests = prompts.flatMap((prompt, i) =>
    Array.from({ length: samples }, (_, sample) => ({
      prompt: [tokenizer.special.bos, ...tokenizer.encode(prompt)],
      key: foldKey(KEY, i, sample),
    })),
  );
  const rows = generate(model, requests, settings, tokenizer.special);
  for (;;) {
    const next = await rows.next();
    if (!next.done) continue;
    const answers = next.value.map(({ tokens, promptLength }) =>
      taskAnswer(tokens.subarray(promptLength), tokenizer, signedChain),
    );
    return prompts.map((_, i) => answers.slice(i * samples, (i + 1) * samples));
  }
}

const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;

test('a set as it was before: one decoding, as the stage was trained', async () => {
  const before = memory().numTensors;
  const [one, ...none] = await evaluations({});
  expect(none).toEqual([]);
  expect(memory().numTensors).toBe(before);
  const answers = await answersTo(SHORT, 3);
  const right = answers.map((own, i) => own.filter((answer) => answer === goldOf(SHORT[i])).length);
  expect(one.set).toBe('hard');
  expect(one.metrics['eval/mean@k']).toBeCloseTo(mean(right) / 3, 12);
  expect(one.metrics.accuracy).toBeCloseTo(mean(right) / 3, 12);
  expect(one.metrics['eval/pass@k']).toBe(mean(right.map((c) => Number(c > 0))));
  const { mean: own, pass, maj } = one.report.scores;
  expect([own.value, own.low, own.high]).toEqual(
    ['', '_low', '_high'].map((end) => one.metrics[`eval/mean@k${end}` as 'eval/mean@k']),
  );
  for (const { value, low, high } of [own, ...pass, ...maj]) {
    expect(low).toBeLessThanOrEqual(value);
    expect(high).toBeGreaterThanOrEqual(value);
  }
});

test('several k: pass@1 and maj@1 are mean@k, pass rises, and difficulties add up', async () => {
  const [, one] = await evaluations({ ks: [2, 1, 2], decode: ['stage', 'parallel'] });
  const { mean: all, pass, maj, problems } = one.report.scores;
  expect([pass, maj].map((curve) => curve.map(({ k }) => k))).toEqual([
    [1, 2, 3],
    [1, 2, 3],
  ]);
  expect(pass[0].value).toBeCloseTo(all.value, 12);
  expect(maj[0].value).toBeCloseTo(all.value, 12);
  expect(pass[1].value).toBeGreaterThanOrEqual(pass[0].value);
  expect(pass[2].value).toBeGreaterThanOrEqual(pass[1].value);
  const answers = await answersTo(LONG, 3);
  const right = answers.map((own, i) => own.filter((answer) => answer === goldOf(LONG[i])).length);
  expect(pass[1].value).toBeCloseTo(mean(right.map((c) => passAtK(3, c, 2)!)), 12);
  const { first, other } = one.report.byDifficulty;
  expect([first.problems, other.problems]).toEqual([1, problems - 1]);
  expect((first.mean.value + 3 * other.mean.value) / 4).toBeCloseTo(all.value, 12);
});

test('every decoding has its name, greedy ones one answer that repeats', async () => {
  const all = await evaluations({ decode: ['stage', 'sequential', 'parallel'], greedy: true, samples: 2 });
  expect(all.map(({ set, report }) => [set, report.mode, report.greedy, report.samples])).toEqual([
    ['hard', 'sequential', false, 2],
    ['hard, greedy', 'sequential', true, 1],
    ['hard, sequential', 'sequential', false, 2],
    ['hard, sequential, greedy', 'sequential', true, 1],
    ['hard, parallel', 'parallel', false, 2],
    ['hard, parallel, greedy', 'parallel', true, 1],
  ]);
  // The stage was trained sequentially: the same samples.
  for (const i of [0, 1]) {
    expect(all[i + 2].metrics).toEqual(all[i].metrics);
    expect(all[i + 2].report).toEqual(all[i].report);
  }
  expect(all[1].report.scores.mean.method).toBe('wilson');
});

test('self-consistency votes with as many samples as a parallel response’s tokens buy', async () => {
  const before = memory().numTensors;
  const [parallel, vote] = await evaluations({ decode: ['parallel'], equalTokens: true, samples: 2 });
  expect(memory().numTensors).toBe(before);
  const [alone] = await evaluations({ samples: 2 });
  const n = vote.metrics['eval/votes']!;
  const tokens = (one: Evaluation) => one.metrics['tokens/total']!;
  expect(n).toBeGreaterThan(1);
  expect(n * tokens(alone)).toBeLessThanOrEqual(tokens(parallel));
  expect((n + 1) * tokens(alone)).toBeGreaterThan(tokens(parallel));
  expect(vote.set).toBe('hard, self-consistency');
  expect(vote.report).toMatchObject({ mode: 'sequential', votes: n, samples: 2 });
  const answers = await answersTo(SHORT, 2 * n);
  const won = answers.map((own, i) =>
    mean([0, 1].map((g) => Number(majorityAnswer(own.slice(g * n, (g + 1) * n)) === goldOf(SHORT[i])))),
  );
  expect(vote.metrics['eval/mean@k']).toBeCloseTo(mean(won), 12);
  // Paired: the difference of the means, inside its interval
  const gain = parallel.metrics['eval/mean@k']! - mean(won);
  expect(vote.metrics['eval/parallel_gain']).toBeCloseTo(gain, 12);
  expect(vote.metrics['eval/parallel_gain_low']).toBeLessThanOrEqual(gain + 1e-12);
  expect(vote.metrics['eval/parallel_gain_high']).toBeGreaterThanOrEqual(gain - 1e-12);
  // Votes run at once: the longest is waited for.
  expect(vote.metrics['tokens/critical']).toBeLessThan(tokens(vote));
  expect(vote.metrics['tokens/critical']).toBeGreaterThanOrEqual(tokens(vote) / n);
});

test('a run tells every decoding of every set after its stage', async () => {
  const tiny = parseRecipe(tinyRecipe);
  const [stage] = tiny.stages;
  const [set] = tiny.evaluation.sets;
  const recipe: Recipe = {
    ...tiny,
    stages: [{ ...stage, steps: 1, warmupSteps: 0 }],
    evaluation: {
      ...tiny.evaluation,
      sets: [{ ...set, problems: 2, decode: ['stage', 'parallel'], equalTokens: true, byTerms: true }],
    },
  };
  const told: string[] = [];
  const context = { recipe, scale: 1, resume: null, dropped: new Map(), droppedModel: null };
  for await (const event of runRecipe({ ...context, loadShipped }).events) {
    if (event.type !== 'evaluation') continue;
    told.push(event.set);
    expect(event).toMatchObject({ stage: stage.name, stageIndex: 0, step: 1, difficulty: 'easy' });
    expect(Object.keys(event.report.byDifficulty)).toEqual(['easy, 2 terms', 'easy, 3 terms']);
  }
  expect(told).toEqual(['easy', 'easy, parallel', 'easy, self-consistency']);
});
