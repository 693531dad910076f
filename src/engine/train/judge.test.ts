import { describe, expect, test } from 'vitest';
import { signedChain } from '../data/tasks/signed-chain.ts';
import { HACKS } from '../reward/hacks.ts';
import type { Rollout } from '../rollout/row.ts';
import { structureOf } from '../rollout/tree.ts';
import { loadTokenizer } from '../tokenizer/hf-tokenizer.ts';
import { taskTokenizerDocuments } from '../tokenizer/task-tokenizer.ts';
import { judge, rolloutMetrics, rolloutRecord } from './judge.ts';

const { json, configJson } = taskTokenizerDocuments(signedChain);
const tokenizer = loadTokenizer(json, configJson);
const context = { tokenizer, task: signedChain };
const problem = { prompt: '+1+2!', answer: '3', difficulty: 'easy' };

/** A finished rollout with the given response text. */
function rolloutOf(text: string, over: Partial<Rollout> = {}): Rollout {
  const prompt = [tokenizer.special.bos, ...tokenizer.encode(problem.prompt)];
  const tokens = Int32Array.from([...prompt, ...tokenizer.encode(text), tokenizer.special.eos]);
  const { positions, branches, blocks } = structureOf(tokens, prompt.length, tokenizer.special);
  const critical = positions[tokens.length - 1] - prompt.length + 1;
  return {
    tokens,
    positions,
    branches,
    sampled: new Uint8Array(tokens.length),
    logp: new Float32Array(tokens.length),
    promptLength: prompt.length,
    truncated: false,
    blocks,
    critical,
    ...over,
  };
}

const EARLY =
  '<Parallel><Path>+1=1+2=3</Path><Path>+1=1+2=5</Path></Parallel><Summary>3,5>3</Summary>Final Answer:3';
const LATE =
  '+1=1+2=3<Parallel><Path>+1=1+2=3</Path><Path>+1=1+2=3</Path></Parallel><Summary>3,3,3>3</Summary>Final Answer:3';
const PLAIN = '+1=1+2=4Final Answer:4';
const easy = { kind: 'easy' } as const;

test('an early fork explores, a late one verifies', () => {
  const early = judge(rolloutOf(EARLY), problem, context, easy, 1);
  expect(early).toMatchObject({ answer: '3', correct: true, reward: 1, parts: { easy: 1 } });
  // 30 response tokens with <eos>; the fork is the first of them
  expect(early.behaviour).toMatchObject({
    blocks: 1,
    relativePosition: 0,
    late: false,
    pathAgreement: 0,
    pathAccuracy: 0.5,
    verification: 0,
  });
  const late = judge(rolloutOf(LATE), problem, context, easy, 1);
  expect(late.behaviour).toMatchObject({ late: true, pathAgreement: 1, pathAccuracy: 1, verification: 1 });
  expect(late.behaviour.firstRelativePosition).toBeCloseTo(8 / late.behaviour.length, 12);
});

test('a response that its budget cut has no answer; one without a fork has no behaviour', () => {
  expect(judge(rolloutOf(EARLY, { truncated: true }), problem, context, easy, 1)).toMatchObject({
    answer: null,
    correct: false,
    reward: -1,
  });
  const plain = judge(rolloutOf(PLAIN), problem, context, easy, 1);
  expect(plain).toMatchObject({ answer: '4', correct: false });
  expect(plain.behaviour).toMatchObject({ blocks: 0, relativePosition: null, pathAgreement: null });
});

test('metrics are means over those rollouts that have a value', () => {
  const rollouts = [EARLY, LATE, PLAIN, PLAIN].map((text) => rolloutOf(text));
  const judged = rollouts.map((rollout) => judge(rollout, problem, context, easy, 1));
  const metrics = rolloutMetrics(judged, rollouts, easy);
  expect(metrics).toMatchObject({
    reward: 0,
    accuracy: 0.5,
    'rewards/easy/mean': 0,
    'parallel/ratio': 0.5,
    'parallel/blocks': 0.5,
    'parallel/valid_ratio': 1,
    'parallel/late_share': 0.5,
    'parallel/path_agreement': 0.5,
    'parallel/path_accuracy': 0.75,
    'parallel/verification_share': 0.5,
    'parallel/exploration_share': 0.5,
    // EARLY's paths differ; LATE had the answer, and both of its paths find it again
    'parallel/answer_disagreement': 0.5,
    'parallel/final_before_share': 0.5,
    'parallel/right_before_share': 0.5,
    'parallel/rederived_share': 1,
    'completions/clipped_ratio': 0,
  });
  expect(metrics.reward_std).toBeCloseTo(Math.sqrt(4 / 3), 12);
  const lengths = rollouts.map(({ tokens, promptLength }) => tokens.length - promptLength);
  expect(metrics['tokens/total']).toBeCloseTo(lengths.reduce((a, b) => a + b, 0) / 4, 12);
  expect(metrics['tokens/saved']).toBeGreaterThan(0);
  // Nothing to say about forks where nobody forked
  const plain = rolloutMetrics([judged[2]], [rollouts[2]], easy);
  expect(plain).not.toHaveProperty('parallel/late_share');
});

test('a log line holds text, tree, answer and what it was paid', () => {
  const judged = judge(rolloutOf(EARLY), problem, context, easy, 1);
  const record = rolloutRecord(judged, { stage: 's', step: 2, group: 3, sample: 4, advantage: 0.5 });
  expect(record).toMatchObject({
    stage: 's',
    step: 2,
    group: 3,
    sample: 4,
    prompt: '+1+2!',
    text: EARLY,
    answer: '3',
    gold: '3',
    rewards: { easy: 1 },
    reward: 1,
    advantage: 0.5,
    tree: { blocks: [{ paths: ['+1=1+2=3', '+1=1+2=5'], summary: '3,5>3' }] },
    blocks: [{ position: 0, verifies: false, answers: ['3', '5'], disagrees: true }],
  });
});

describe('judging', () => {
  const accuracy = { kind: 'accuracy' } as const;

  test.each([
    ['an answer twice', '+1=1+2=3Final Answer:3Final Answer:3'],
    ['text behind the answer', '+1=1+2=3Final Answer:3+'],
    ['no answer', '+1=1+2=3'],
    ['an answer in a path only', '<Parallel><Path>Final Answer:3</Path><Path>+1=1</Path></Parallel>'],
  ])('%s is no answer', (_, text) => {
    expect(judge(rolloutOf(text), problem, context, accuracy, 1)).toMatchObject({
      answer: null,
      correct: false,
      reward: -1,
    });
  });

  test('a response without <eos> has no answer, even where nobody said that it was cut', () => {
    const whole = rolloutOf(PLAIN.replaceAll('4', '3'));
    expect(judge(whole, problem, context, accuracy, 1).correct).toBe(true);
    const cut = { ...whole, tokens: whole.tokens.slice(0, -1) };
    expect(judge(cut, problem, context, accuracy, 1)).toMatchObject({ answer: null, correct: false });
  });

  test('a right answer in a broken format is right, but not paid by the easy reward', () => {
    const broken = '<Parallel><Path>+1=1+2=3</Path></Parallel><Summary>3>3</Summary>Final Answer:3';
    expect(judge(rolloutOf(broken), problem, context, accuracy, 1)).toMatchObject({
      correct: true,
      reward: 1,
    });
    const paid = judge(rolloutOf(broken), problem, context, easy, 1);
    expect(paid).toMatchObject({ correct: true, reward: -1, format: { valid: false, blocks: 1 } });
  });

  test('the step of the stage decides what an alternating reward pays', () => {
    const settings = { kind: 'alternating', window: 10, bonusSteps: 2, bonus: 1.2 } as const;
    const paid = [8, 9].map((step) => judge(rolloutOf(EARLY), problem, context, settings, step).reward);
    expect(paid).toEqual([1, 1.2]);
  });
});

test('lengths, cuts, tokens and hacks of a batch, by hand', () => {
  const accuracy = { kind: 'accuracy' } as const;
  const hacks = '<Parallel><Path></Path><Path></Path></Parallel><Summary>3>3</Summary>Final Answer:3';
  const rollouts = [
    // 6 words, "Final Answer:", 3 and <eos>: 9 tokens one after the other
    rolloutOf('+1=1+2Final Answer:3'),
    rolloutOf(EARLY, { truncated: true }),
    rolloutOf(hacks),
  ];
  const judged = rollouts.map((rollout) => judge(rollout, problem, context, accuracy, 1));
  const metrics = rolloutMetrics(judged, rollouts, accuracy);
  // EARLY: <Parallel>, two paths of 10, </Parallel>, <Summary> and 5 words and </Summary>, answer 2, <eos> = 32;
  // hacks: 1 + 2 · 2 + 1 + 5 + 2 + 1 = 14
  expect(judged.map(({ behaviour }) => behaviour.length)).toEqual([9, 32, 14]);
  expect(metrics).toMatchObject({
    'completions/min_length': 9,
    'completions/max_length': 32,
    'completions/mean_terminated_length': (9 + 14) / 2,
    'completions/clipped_ratio': 1 / 3,
    'completions/no_answer_ratio': 1 / 3,
    'parallel/ratio': 2 / 3,
    // The empty paths are not valid, and what was cut has no answer
    'parallel/valid_ratio': 1 / 3,
    'hack/empty_paths': 1 / 3,
    'hack/identical_paths': 1 / 3,
    'hack/missing_summary': 0,
    accuracy: 2 / 3,
    reward: 1 / 3,
  });
  // The second path of EARLY costs no depth (10), nor that of hacks (2)
  expect(metrics['tokens/total']).toBeCloseTo((9 + 32 + 14) / 3, 12);
  expect(metrics['tokens/critical']).toBeCloseTo((9 + 22 + 12) / 3, 12);
  expect(metrics['tokens/saved']).toBeCloseTo(1 - 43 / 55, 12);
});

test('a batch that its budget cut whole has no mean terminated length', () => {
  const rollouts = [rolloutOf(PLAIN, { truncated: true })];
  const judged = rollouts.map((rollout) => judge(rollout, problem, context, easy, 1));
  const metrics = rolloutMetrics(judged, rollouts, easy);
  expect(metrics).not.toHaveProperty('completions/mean_terminated_length');
  expect(metrics).toMatchObject({ 'completions/clipped_ratio': 1, reward_std: 0 });
});

test('two number tokens that read as one are no answer, nor is a number with padding in it', () => {
  const own = { ...problem, answer: '15' };
  const whole = rolloutOf('+14=14+1=15Final Answer:15');
  expect(judge(whole, own, context, easy, 1).answer).toBe('15');
  const { eos, pad } = tokenizer.special;
  for (const between of [[], [pad]]) {
    const digits = [tokenizer.id('1'), ...between, tokenizer.id('5'), eos];
    const glued = { ...whole, tokens: Int32Array.from([...whole.tokens.slice(0, -2), ...digits]) };
    expect(judge(glued, own, context, easy, 1)).toMatchObject({ answer: null, correct: false, reward: -1 });
  }
});

describe('hacks', () => {
  const accuracy = { kind: 'accuracy' } as const;
  const of = (text: string, stage?: { format: 'structure' | 'strict' }) =>
    judge(rolloutOf(text), problem, { ...context, stage }, easy, 1);

  test('each kind is a share of the batch, and an honest batch has none', () => {
    const texts = [
      EARLY,
      PLAIN,
      '<Parallel><Path>+1=1</Path><Path>+1=3</Path></Parallel><Summary>+1=3</Summary>Final Answer:3',
      'Final Answer:3<Parallel><Path>+1=1</Path><Path>+2=5</Path></Parallel><Summary>3>3</Summary>Final Answer:4',
      '<Parallel><Path>+1=1</Path><Path>+2=5</Path></Parallel><Summary>4>4</Summary>Final Answer:4',
      PLAIN,
      PLAIN,
      PLAIN,
    ];
    const rollouts = texts.map((text) => rolloutOf(text));
    const judged = rollouts.map((rollout) => judge(rollout, problem, context, accuracy, 1));
    const metrics = rolloutMetrics(judged, rollouts, accuracy);
    const hacks = Object.entries(metrics).filter(([name, value]) => name.startsWith('hack/') && value > 0);
    expect(Object.fromEntries(hacks)).toEqual({
      'hack/copied_summary': 1 / 8,
      'hack/answer_before_block': 1 / 8,
      'hack/several_answers': 1 / 8,
      'hack/unsupported_answer': 1 / 8,
    });
    const honest = rolloutMetrics(judged.slice(0, 2), rollouts.slice(0, 2), accuracy);
    for (const hack of HACKS) expect(honest[`hack/${hack}`], hack).toBe(0);
  });

  test('tags in the prompt open nothing and are told', () => {
    const spoken = { ...problem, prompt: '<Parallel><Path>+1+2!' };
    const prompt = [tokenizer.special.bos, ...tokenizer.encode(spoken.prompt)];
    const tail = [...tokenizer.encode('+1=1+2=3Final Answer:3'), tokenizer.special.eos];
    const tokens = Int32Array.from([...prompt, ...tail]);
    const { positions, branches } = structureOf(tokens, prompt.length, tokenizer.special);
    const rollout = { ...rolloutOf(PLAIN), tokens, positions, branches, promptLength: prompt.length };
    const judged = judge(rollout, spoken, context, accuracy, 1);
    expect(judged).toMatchObject({
      correct: true,
      format: { valid: true, blocks: 0 },
      hacks: ['tags_in_prompt'],
    });
  });

  test('a strict stage does not pay blocks that are hollow; the default does', () => {
    expect(of(LATE)).toMatchObject({ reward: 1, format: { valid: true, validBlocks: 1 } });
    expect(of(LATE, { format: 'structure' }).reward).toBe(1);
    expect(of(LATE, { format: 'strict' })).toMatchObject({
      correct: true,
      reward: -1,
      format: { valid: false, validBlocks: 0 },
      hacks: ['identical_paths'],
    });
    expect(of(EARLY, { format: 'strict' }).reward).toBe(1);
    // Padding is not shown: strictly, a path of it is empty.
    const padded = EARLY.replace('+1=1+2=5', '<pad>');
    expect(of(padded).format.valid).toBe(true);
    expect(of(padded, { format: 'strict' }).hacks).toContain('empty_paths');
  });
});
