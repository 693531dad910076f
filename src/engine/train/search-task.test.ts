/** The second task through the whole chain: tokens, judge, and the stages of its recipe on a very small model. */
import { beforeAll, expect, test } from 'vitest';
import searchRecipe from '../../../models/search-recipe.json' with { type: 'json' };
import tinyRecipe from '../../../models/tiny-recipe.json' with { type: 'json' };
import { Rng } from '../../base/rng.ts';
import { signSearch } from '../data/tasks/sign-search.ts';
import { signedChain } from '../data/tasks/signed-chain.ts';
import type { Rollout } from '../rollout/row.ts';
import { openBackend } from '../tensor/device.ts';
import { loadTokenizer } from '../tokenizer/hf-tokenizer.ts';
import { taskTokenizerDocuments } from '../tokenizer/task-tokenizer.ts';
import type { TrainEvent } from './events.ts';
import { judge } from './judge.ts';
import { parseRecipe, type Recipe } from './recipe.ts';
import { runRecipe } from './run.ts';

const { json, configJson } = taskTokenizerDocuments(signedChain);
const tokenizer = loadTokenizer(json, configJson);
const recipe = parseRecipe(searchRecipe);

beforeAll(async () => {
  await openBackend('wasm');
});

function judged(prompt: string, gold: string, response: string) {
  const promptTokens = tokenizer.encode(prompt);
  const tokens = Int32Array.from([...promptTokens, ...tokenizer.encode(response), tokenizer.special.eos]);
  const rollout = { tokens, promptLength: promptTokens.length, truncated: false } as Rollout;
  const problem = { prompt, answer: gold, difficulty: 'easy' };
  return judge(rollout, problem, { tokenizer, task: signSearch }, { kind: 'accuracy' }, 1);
}

test('a model with the vocabulary of signed-chain reads and writes it token by token', () => {
  const knobs = {
    difficulty: 'easy',
    terms: [4],
    bigShare: null,
    teacherNoiseSmall: 0.1,
    teacherNoiseBig: 0.1,
    redoShare: 0,
    templates: { L: 1 },
    paths: 2,
    attempts: 3,
    blocks: 1,
    gapProbability: 0,
    gapMax: 1,
  };
  for (let i = 0; i < 20; i++) {
    const { prompt, completion } = signSearch.document(new Rng(3, i), 'parallel', knobs);
    for (const text of [prompt, completion]) expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
  }
  // 4 numbers with their signs, =, target, mark
  expect(tokenizer.encode('+20+11+3+5=12!')).toHaveLength(11);
});

test('any signs that solve the problem are right, in the answer and in a path', () => {
  // +5+5-5 and +5-5+5 both make 5.
  const block = '<Parallel><Path>+5=5+5=10+5=15?</Path><Path>+5=5-5=0+5=5!</Path></Parallel>';
  const good = judged('+5+5+5=5!', '+5+5-5', `${block}<Summary>+5-5+5</Summary>Final Answer:+5-5+5`);
  expect(good).toMatchObject({ answer: '+5-5+5', correct: true, reward: 1 });
  expect(good.behaviour).toMatchObject({ blocks: 1, pathAccuracy: 0.5, pathAgreement: 0, verification: 0 });
  const wrong = judged('+5+5+5=5!', '+5+5-5', `${block}<Summary>+5+5+5</Summary>Final Answer:+5+5+5`);
  expect(wrong).toMatchObject({ answer: '+5+5+5', correct: false, reward: -1 });
  // A fork after a miss explores, after a hit it verifies.
  const late = (verdict: string) =>
    judged(
      '5,5,5=5!',
      '+5+5-5',
      `+5=5+5=10-5=5${verdict}${block}<Summary>+5-5+5</Summary>Final Answer:+5-5+5`,
    );
  expect(late('?').behaviour).toMatchObject({ late: true, verification: 0 });
  expect(late('!').behaviour).toMatchObject({ late: true, verification: 1 });
});

test('every stage of the recipe runs', async () => {
  const { model } = parseRecipe(tinyRecipe);
  const stages = recipe.stages.map((stage) => ({
    ...stage,
    steps: 2,
    warmupSteps: 0,
    promotion: { kind: 'steps' },
    ...(stage.kind === 'sft'
      ? { batchSize: 8 }
      : { promptsPerStep: 2, groupSize: 2, rollout: { ...stage.rollout, maxTokens: 40, pathTokens: 12 } }),
  })) as Recipe['stages'];
  const sets = recipe.evaluation.sets.map((set) => ({ ...set, problems: 2, samples: 2, ks: [1, 2] }));
  const small: Recipe = {
    ...recipe,
    model,
    stages,
    evaluation: { sets, rollout: { ...recipe.evaluation.rollout, maxTokens: 30 } },
  };
  const all: TrainEvent[] = [];
  for await (const event of runRecipe({
    recipe: small,
    scale: 1,
    resume: null,
    dropped: new Map(),
    droppedModel: null,
    loadShipped: () => Promise.reject(new Error('not asked for')),
  }).events)
    if (event.type !== 'tick' && event.type !== 'rollout-progress') all.push(event);
  expect(all.filter(({ type }) => type === 'step')).toHaveLength(6);
  expect(all.filter(({ type }) => type === 'checkpoint')).toHaveLength(3);
  const records = all.flatMap((event) => (event.type === 'rollouts' ? event.records : []));
  expect(records).toHaveLength(2 * 2 * 2 * 2);
  for (const { prompt, gold } of records) expect(signSearch.solves?.({ prompt }, gold)).toBe(true);
});
