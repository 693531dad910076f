/** Composed and custom rewards on real responses: from a recipe's words to reward, log line and metrics. */
import { describe, expect, test } from 'vitest';
import tinyRecipe from '../../../models/tiny-recipe.json';
import { Rng } from '../../base/rng.ts';
import { TASKS, taskNamed } from '../data/tasks/index.ts';
import { signedChain } from '../data/tasks/signed-chain.ts';
import {
  CUSTOM_ARGUMENTS,
  CustomRewardError,
  type CustomRewardRunner,
  type CustomRow,
} from '../reward/custom.ts';
import type { Rollout } from '../rollout/row.ts';
import { structureOf } from '../rollout/tree.ts';
import { openBackend } from '../tensor/device.ts';
import { loadTokenizer } from '../tokenizer/hf-tokenizer.ts';
import { taskTokenizerDocuments } from '../tokenizer/task-tokenizer.ts';
import type { TrainEvent } from './events.ts';
import { judge, payCustom, rolloutMetrics, rolloutRecord } from './judge.ts';
import { METRICS } from './metrics.ts';
import { helpFor, parseRecipe, type RewardSettings, scaleRecipe } from './recipe.ts';
import { CHECKED_ROWS, checkCustomReward, sampleRollouts } from './reward-check.ts';
import { runRecipe } from './run.ts';

const tokenizerOf = (name: string) => {
  const { json, configJson } = taskTokenizerDocuments(taskNamed(name));
  return loadTokenizer(json, configJson);
};
const tokenizer = tokenizerOf('signed-chain');
const context = { tokenizer, task: signedChain, settings: { maxTokens: 40 } };
const problem = { prompt: '+1+2!', answer: '3', difficulty: 'easy' };

function rolloutOf(text: string): Rollout {
  const prompt = [tokenizer.special.bos, ...tokenizer.encode(problem.prompt)];
  const tokens = Int32Array.from([...prompt, ...tokenizer.encode(text), tokenizer.special.eos]);
  const { positions, branches, blocks } = structureOf(tokens, prompt.length, tokenizer.special);
  return {
    tokens,
    positions,
    branches,
    sampled: new Uint8Array(tokens.length),
    logp: new Float32Array(tokens.length),
    promptLength: prompt.length,
    truncated: false,
    blocks,
    critical: positions[tokens.length - 1] - prompt.length + 1,
  };
}

/** The first stage of the tiny recipe that does RL, with another reward. */
function recipeWith(reward: unknown, steps = 1) {
  const stage = tinyRecipe.stages.find(({ kind }) => kind === 'grpo');
  return parseRecipe({
    ...tinyRecipe,
    stages: [{ ...stage, steps, warmupSteps: 0, reward }],
    evaluation: { ...tinyRecipe.evaluation, sets: [] },
  });
}
function stageWith(reward: unknown) {
  const stage = recipeWith(reward).stages[0];
  if (stage.kind !== 'grpo') throw new Error('the stage does no RL');
  return stage;
}
const rewardOf = (reward: unknown): RewardSettings => stageWith(reward).reward;

/** Runs the code in this process: what the sandbox does, without its walls. */
const inline: CustomRewardRunner = {
  async run(code, rows) {
    const body = new Function(...CUSTOM_ARGUMENTS, code);
    return rows.map((row, i) => {
      try {
        return body(...CUSTOM_ARGUMENTS.map((name) => row[name]));
      } catch (error) {
        throw new CustomRewardError(i, String(error));
      }
    });
  },
};

// Two paths of 8 words; 5 of 8 words alike at the front
const EARLY =
  '<Parallel><Path>+1=1+2=3</Path><Path>+1=1+2=5</Path></Parallel><Summary>3,5>3</Summary>Final Answer:3';
const LATE =
  '+1=1+2=3<Parallel><Path>+1=1+2=3</Path><Path>+1=1+2=3</Path></Parallel><Summary>3,3,3>3</Summary>Final Answer:3';
const PLAIN = '+1=1+2=3Final Answer:3';
const WRONG = '+1=1+2=4Final Answer:4';

describe('recipes', () => {
  test('what earlier recipes said still means the same', () => {
    expect(rewardOf({ kind: 'accuracy' })).toEqual({ kind: 'accuracy' });
    expect(rewardOf({ kind: 'easy' })).toEqual({ kind: 'easy' });
    expect(rewardOf({ kind: 'alternating' })).toEqual({
      kind: 'alternating',
      window: 10,
      bonusSteps: 2,
      bonus: 1.2,
    });
  });

  const kinds =
    'accuracy easy parallel alternating scaffold block diversity efficiency verification clarity overlong repetition custom'.split(
      ' ',
    );
  const part = (kind: string) => ({ kind, ...(kind === 'custom' && { code: 'return 1' }) });

  test('every part has defaults, help for each of its settings, and metrics', () => {
    const reward = rewardOf({ kind: 'sum', parts: kinds.map(part) });
    if (reward.kind !== 'sum') throw new Error('not a sum');
    expect(reward.parts.map(({ kind }) => kind)).toEqual(kinds);
    for (const one of reward.parts) {
      expect(METRICS).toHaveProperty([`rewards/${one.kind}/mean`]);
      expect(METRICS).toHaveProperty([`rewards/${one.kind}/std`]);
      for (const key of Object.keys(one).filter((name) => name !== 'kind')) {
        const knob = helpFor(`stages.grpo.reward.sum.parts.${one.kind}.${key}`);
        expect(knob?.help, `${one.kind}.${key}`).toMatch(/^[A-Z].+\.$/);
      }
    }
    // What decides right and wrong is main, the rest auxiliary.
    expect(reward.parts.filter(({ auxiliary }) => !auxiliary).map(({ kind }) => kind)).toEqual(
      'accuracy easy parallel alternating scaffold custom'.split(' '),
    );
  });

  test.each<[unknown, RegExp]>([
    [{ kind: 'divers' }, /"stages\[0\].reward.kind" must be one of/],
    [{ kind: 'sum', parts: [] }, /"stages\[0\].reward.parts" is empty/],
    [{ kind: 'sum', parts: [{ kind: 'diversty' }] }, /Did you mean "diversity"/],
    [{ kind: 'sum', parts: [{ kind: 'accuracy', wieght: 1 }] }, /Did you mean "weight"/],
    [{ kind: 'sum', parts: [{ kind: 'diversity' }] }, /has only auxiliary parts/],
    [
      { kind: 'sum', parts: [{ kind: 'custom', code: 'return (' }] },
      /"stages\[0\].reward.parts\[0\].code" is not the body/,
    ],
    [{ kind: 'accuracy', weight: 2 }, /"stages\[0\].reward.weight" is not a known setting/],
  ])('%j is refused', (reward, sentence) => {
    expect(() => rewardOf(reward)).toThrow(sentence);
  });

  test('a run at half scale switches its scaffold at half the steps', () => {
    const scaled = scaleRecipe(recipeWith({ kind: 'scaffold', until: 10 }, 20), 0.5);
    expect(scaled.stages[0]).toMatchObject({ steps: 10, reward: { until: 5 } });
  });
});

describe('a composed reward on responses', () => {
  const settings = rewardOf({
    kind: 'sum',
    parts: [
      { kind: 'accuracy' },
      { kind: 'diversity' },
      { kind: 'efficiency' },
      { kind: 'verification' },
      { kind: 'overlong', margin: 10 },
    ],
  });
  const rollouts = [EARLY, LATE, PLAIN, WRONG].map(rolloutOf);
  const judged = rollouts.map((rollout) => judge(rollout, problem, context, settings, 1));

  test('each part is what its rule says', () => {
    const [early, late, plain, wrong] = judged.map(({ parts }) => parts);
    // +1=1+2= is shared: 7 of 8 words, 6 of 7 pairs, 5 of 6 triples, 4 of 5 fours
    const alike = ((7 / 8) * (6 / 7) * (5 / 6) * (4 / 5)) ** (1 / 4);
    expect(early.diversity).toBeCloseTo(1 - alike, 12);
    expect(late.diversity).toBeCloseTo(0, 12);
    expect(plain).not.toHaveProperty('diversity');
    // 32 tokens, 22 of them on the longest chain
    expect(early.efficiency).toBeCloseTo(1 - 22 / 32, 12);
    expect(plain.efficiency).toBe(0);
    expect([early, late, plain].map(({ verification }) => verification)).toEqual([0, 1, 0]);
    // A limit of 40 with a margin of 10: 32 tokens are 2 over
    expect(early.overlong).toBeCloseTo(-0.2, 12);
    expect(late.overlong).toBe(-1);
    expect(wrong).toEqual({ accuracy: -1, efficiency: 0, verification: 0, overlong: 0 });
  });

  test('main is the answer alone, and reward is the sum', () => {
    expect(judged.map(({ main }) => main)).toEqual([1, 1, 1, -1]);
    for (const one of judged) expect(one.reward).toBeCloseTo(one.main + one.auxiliary, 12);
    const [early] = judged;
    const { diversity, efficiency, overlong } = early.parts;
    expect(early.auxiliary).toBeCloseTo(0.2 * diversity + 0.4 * efficiency + overlong, 12);
  });

  test('metrics are over the responses to which a part applies', () => {
    const metrics = rolloutMetrics(judged, rollouts, settings);
    const { diversity } = judged[0].parts;
    expect(metrics['rewards/diversity/mean']).toBeCloseTo((diversity + 0) / 2, 12);
    expect(metrics['rewards/diversity/std']).toBeCloseTo(diversity / Math.SQRT2, 12);
    expect(metrics['rewards/accuracy/mean']).toBe(0.5);
    expect(metrics.reward_main).toBe(0.5);
    expect(metrics.reward).toBeCloseTo(metrics.reward_main! + metrics.reward_auxiliary!, 12);
    const plain = rolloutMetrics([judged[2]], [rollouts[2]], settings);
    expect(plain).not.toHaveProperty(['rewards/diversity/mean']);
    expect(plain).not.toHaveProperty(['rewards/diversity/std']);
  });

  test('the log line keeps the parts', () => {
    const place = { stage: 's', step: 1, group: 0, sample: 0, advantage: 0 };
    expect(rolloutRecord(judged[3], place).rewards).toEqual(judged[3].parts);
  });
});

describe('custom rewards', () => {
  const custom = (code: string, more: object = {}) =>
    rewardOf({ kind: 'sum', parts: [{ kind: 'accuracy' }, { kind: 'custom', code, ...more }] });
  const judgedBy = (settings: RewardSettings) =>
    [EARLY, WRONG].map((text) => judge(rolloutOf(text), problem, context, settings, 4));

  test('its value is added with its weight; the code is given the row', async () => {
    const seen: CustomRow[] = [];
    const spy: CustomRewardRunner = {
      run: (code, rows, limit) => {
        seen.push(...rows);
        return inline.run(code, rows, limit);
      },
    };
    const settings = custom('return answer === gold ? tree.blocks.length / step : null', {
      weight: 2,
      auxiliary: true,
    });
    const paid = await payCustom(judgedBy(settings), settings, 4, spy);
    expect(paid.map(({ parts }) => parts)).toEqual([{ accuracy: 1, custom: 0.25 }, { accuracy: -1 }]);
    expect(paid.map(({ main, auxiliary, reward }) => [main, auxiliary, reward])).toEqual([
      [1, 0.5, 1.5],
      [-1, 0, -1],
    ]);
    expect(seen[0]).toMatchObject({
      prompt: '+1+2!',
      response: EARLY,
      answer: '3',
      gold: '3',
      step: 4,
      correct: true,
    });
    expect(Object.keys(seen[0]).sort()).toEqual([...CUSTOM_ARGUMENTS].sort());
  });

  test('without a custom part nothing is asked', async () => {
    const judged = judgedBy({ kind: 'accuracy' });
    expect(await payCustom(judged, { kind: 'accuracy' }, 4, undefined)).toBe(judged);
  });

  test('code that fails ends the run with its row; so does a place that cannot run it', async () => {
    const settings = custom('if (!correct) throw new Error("no way"); return 1');
    const judged = judgedBy(settings);
    await expect(payCustom(judged, settings, 4, inline)).rejects.toThrow(
      /custom reward failed in step 4: .*no way.* The row: prompt "\+1\+2!", response "\+1=1\+2=4Final Answer:4", answer "4", gold "3", step 4, correct false\. Mend its code/,
    );
    await expect(payCustom(judged, settings, 4, undefined)).rejects.toThrow(/nothing here can run its code/);
    const broken: CustomRewardRunner = { run: () => Promise.reject(new TypeError('ours')) };
    await expect(payCustom(judged, settings, 4, broken)).rejects.toThrow(TypeError);
  });
});

describe('the check on five rows', () => {
  test.each(Object.keys(TASKS))(
    'task %s: right, right with a block, another’s answer, cut off, empty',
    (name) => {
      const task = taskNamed(name);
      const problems = Array.from({ length: CHECKED_ROWS }, (_, i) =>
        task.problem(new Rng(i), { difficulty: 'easy', terms: [4], bigShare: null }, true),
      );
      const own = { tokenizer: tokenizerOf(name), task };
      const rows = sampleRollouts(problems, own).map((rollout, i) =>
        judge(rollout, problems[i], own, { kind: 'accuracy' }, 1),
      );
      expect(rows).toHaveLength(CHECKED_ROWS);
      expect(rows.slice(0, 2).map(({ correct }) => correct)).toEqual([true, true]);
      expect(rows[1].format).toMatchObject({ blocks: 1, validBlocks: 1 });
      expect(rows[2].answer).toBe(rows[0].answer);
      expect(rows.slice(3).map(({ answer }) => answer)).toEqual([null, null]);
      expect(rows[4].text.replace('<eos>', '')).toBe('');
    },
  );

  const problems = Array.from({ length: CHECKED_ROWS }, (_, i) => ({ ...problem, answer: String(i + 3) }));
  const check = (code: string) =>
    checkCustomReward(
      stageWith({ kind: 'sum', parts: [{ kind: 'custom', code }] }),
      problems,
      context,
      inline,
    );

  test('says what it paid', async () => {
    const said = await check('return correct ? 1 : null');
    expect(said).toMatch(
      /tried on 5 made-up responses, pays 1 for prompt "\+1\+2!", response "Final Answer:3/,
    );
    expect(said?.match(/null for/g)).toHaveLength(3);
    expect(await checkCustomReward(stageWith({ kind: 'accuracy' }), problems, context, inline)).toBeNull();
  });

  test('code that trips over an answer that is missing is found out, and so is one that never pays', async () => {
    await expect(check('return answer.length')).rejects.toThrow(
      /failed when it was tried on made-up responses before stage .+TypeError.+answer null/,
    );
    await expect(check('return null')).rejects.toThrow(/null \(not applicable\) for each of 5/);
  });
});

describe('in a run', () => {
  const events = async (reward: unknown, steps: number, customReward?: CustomRewardRunner) => {
    await openBackend('wasm');
    const all: TrainEvent[] = [];
    const handle = runRecipe({
      recipe: recipeWith(reward, steps),
      scale: 1,
      resume: null,
      dropped: new Map(),
      droppedModel: null,
      loadShipped: () => Promise.reject(new Error('not asked for')),
      customReward,
    });
    const failed = await (async () => {
      for await (const event of handle.events) all.push(event);
    })().catch((error) => error);
    return { all, failed };
  };
  const own = (code: string) => ({ kind: 'sum', parts: [{ kind: 'accuracy' }, { kind: 'custom', code }] });

  test('it is tried, trained on and logged', async () => {
    const { all, failed } = await events(own('return response.length % 2'), 2, inline);
    expect(failed).toBeUndefined();
    const said = all.flatMap((event) => (event.type === 'notice' ? [event.message] : []));
    expect(said.filter((message) => /tried on 5 made-up responses/.test(message))).toHaveLength(1);
    const steps = all.filter((event) => event.type === 'step');
    expect(steps).toHaveLength(2);
    const records = all.flatMap((event) => (event.type === 'rollouts' ? event.records : []));
    for (const { text, rewards, reward } of records) {
      expect(rewards.custom).toBe(text.length % 2);
      expect(reward).toBe(rewards.accuracy + rewards.custom);
    }
    const first = records.filter(({ step }) => step === 1);
    expect(steps[0].metrics['rewards/custom/mean']).toBeCloseTo(
      first.reduce((sum, { rewards }) => sum + rewards.custom, 0) / first.length,
      12,
    );
  });

  test('code that fails, or that nothing can run, ends it before the first step', async () => {
    for (const runner of [inline, undefined]) {
      const { all, failed } = await events(own('return tree.blocks[0].paths.length'), 1, runner);
      expect(failed.message).toMatch(
        runner ? /TypeError.+ The row: prompt/ : /nothing here can run its code/,
      );
      expect(all.some((event) => event.type === 'step' || event.type === 'stage-started')).toBe(false);
    }
  });
});
