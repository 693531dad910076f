import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { signedChain } from '../data/tasks/signed-chain.ts';
import type { Task } from '../data/tasks/task.ts';
import { Decoder } from '../model/decoder.ts';
import { IDS, randomModel, SETTINGS } from '../rollout/generate.golden.ts';
import { openBackend } from '../tensor/device.ts';
import { memory } from '../tensor/tfjs.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import { type AskContext, type AskResult, type AskView, ask } from './ask.ts';
import type { AskMode } from './ask-mode.ts';
import type { LoadedModel } from './setup.ts';
import { loadShipped } from './trajectories/trajectory.ts';

let base: LoadedModel;
let baseModel: Decoder;
let random: Decoder;
beforeAll(async () => {
  await openBackend('wasm');
  base = await loadShipped('base');
  baseModel = new Decoder(base.config, base.weights);
  random = randomModel(2);
});
afterAll(() => {
  baseModel.dispose();
  random.dispose();
});

async function answer(context: AskContext): Promise<{ result: AskResult; views: AskView[] }> {
  const views: AskView[] = [];
  const asking = ask(context);
  for (;;) {
    const next = await asking.next();
    if (next.done) return { result: next.value, views };
    views.push(next.value);
  }
}

/** Asks the shipped model, which was trained on noisy sums: (8 + 23 − 5) mod 31 = 26. */
function askBase(mode: AskMode, over: Partial<AskContext> = {}) {
  return answer({
    model: baseModel,
    tokenizer: base.tokenizer,
    task: signedChain,
    prompts: { plain: '+8+23-5?', parallel: '+8+23-5!' },
    gold: '26',
    settings: SETTINGS,
    mode,
    key: 1,
    ...over,
  });
}

/** Every token of the random model is a letter, so that whatever a text ends in is its answer. */
const LETTERS = 'klmnopqrstabcdef';
const letters: Tokenizer = {
  vocabSize: 16,
  special: IDS,
  encode: (text) => Array.from(text, (letter) => LETTERS.indexOf(letter)),
  decode: (ids) => Array.from(ids, (id) => (id === IDS.eos ? '' : LETTERS[id])).join(''),
  token: (id) => LETTERS[id],
  id: (token) => LETTERS.indexOf(token),
  json: null,
  configJson: null,
};
const lastLetter = (text: string) => text.at(-1) ?? null;
const task: Task = {
  ...signedChain,
  answerMarker: '',
  extractAnswer: lastLetter,
  intermediateAnswer: lastLetter,
};

function askRandom(mode: AskMode, over: Partial<AskContext> = {}) {
  return answer({
    model: random,
    tokenizer: letters,
    task,
    prompts: { plain: 'ab', parallel: 'abc' },
    gold: null,
    settings: { ...SETTINGS, temperature: 0.6 },
    mode,
    key: 1,
    ...over,
  });
}

const KEYS = [1, 2, 3, 4, 5];
const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);

test('alone: one response, whose every token is waited for; the last view is the result', async () => {
  const { result, views } = await askBase({ kind: 'sequential' });
  const [response] = result.responses;
  expect(result).toMatchObject({ decidedBy: 'response', votes: [], agreement: null });
  expect(result.answer).not.toBeNull();
  expect(result.answer).toBe(signedChain.extractAnswer(response.tree.segments[0].text));
  expect(result.correct).toBe(result.answer === '26');
  const { total, critical, saved } = result.tokens;
  expect([critical, saved]).toEqual([total, 0]);
  expect(views.map(({ tokens }) => tokens.total)).toEqual(Array.from({ length: total }, (_, i) => i + 1));
  expect(views.at(-1)!.trees).toEqual([response.tree]);
  expect(response.confidence!.mean).toBeLessThanOrEqual(1);
  expect(response.confidence!.least).toBeLessThanOrEqual(response.confidence!.mean);
  expect(response.confidence!.least).toBeGreaterThan(0);
});

test('a vote of the shipped model is right, and free text is read as its task reads it: 26.0 is 26', async () => {
  const { result } = await askBase({ kind: 'vote', votes: 6 });
  expect(result).toMatchObject({ answer: '26', correct: true });
  const free = (await askBase({ kind: 'vote', votes: 6 }, { task: null, gold: '26.0' })).result;
  expect(free).toEqual(result);
});

test('a vote is the plurality of the responses that the same key draws alone, and costs their sum', async () => {
  let ties = 0;
  const settings = { ...SETTINGS, temperature: 1 };
  for (const key of KEYS) {
    const { result, views } = await askRandom({ kind: 'vote', votes: 6 }, { key, settings });
    const { responses, votes, tokens } = result;
    expect(responses).toHaveLength(6);
    const alone = (await askRandom({ kind: 'sequential' }, { key, settings })).result;
    expect(responses[0]).toEqual(alone.responses[0]);
    const totals = responses.map((one) => one.tokens.total);
    expect(tokens).toMatchObject({ total: sum(totals), critical: Math.max(...totals) });
    expect(tokens.saved).toBeCloseTo(1 - Math.max(...totals) / sum(totals), 12);
    expect(views.at(-1)!.votes).toEqual(votes);
    const count = (wanted: string | null) => responses.filter((one) => one.answer === wanted).length;
    for (const vote of votes) expect(vote.count).toBe(count(vote.answer));
    if (votes.length === 0) continue;
    expect(count(result.answer)).toBe(votes[0].count);
    expect(result.agreement).toBe(votes[0].count / 6);
    const tied = votes.filter((vote) => vote.count === votes[0].count);
    expect(result.decidedBy).toBe(tied.length > 1 ? 'confidence' : 'majority');
    if (tied.length === 1) continue;
    ties++;
    const sure = tied.map(({ by }) => sum(by.map((i) => responses[i].confidence!.mean)) / by.length);
    expect(result.answer).toBe(tied[sure.indexOf(Math.max(...sure))].answer);
  }
  expect(ties).toBeGreaterThan(0);
});

test.each([7, 2])('consensus, %i at once: the whole vote’s majority, for fewer tokens', async (width) => {
  let fewer = 0;
  for (const key of KEYS) {
    const whole = (await askRandom({ kind: 'vote', votes: 7 }, { key })).result;
    const early = await askRandom({ kind: 'consensus', votes: 7, width }, { key });
    const { decidedBy, tokens, responses } = early.result;
    if (decidedBy !== 'consensus') {
      expect(early.result).toMatchObject({ answer: whole.answer, votes: whole.votes, decidedBy });
      expect(tokens.total).toBe(whole.tokens.total);
      continue;
    }
    expect(early.result.answer).toBe(whole.votes[0].answer);
    expect(early.result.votes[0].count).toBeGreaterThanOrEqual(4);
    expect(tokens.total).toBe(sum(responses.map((one) => one.tokens.total)));
    expect(early.views.at(-1)!.tokens).toMatchObject({ total: tokens.total, critical: tokens.critical });
    expect(tokens.total).toBeLessThan(whole.tokens.total);
    fewer++;
    for (const one of responses)
      if (one.ended === 'stopped') expect([one.answer, one.confidence]).toEqual([null, null]);
    // Waves wait for each other: four voters take at least two.
    const longest = Math.max(...responses.map((one) => one.tokens.critical));
    if (width === 2) expect(tokens.critical).toBeGreaterThan(longest);
    else expect(tokens.critical).toBe(longest);
  }
  expect(fewer).toBeGreaterThan(0);
});

test('two equal answers are enough where the request says so, and the rest is cut', async () => {
  const results = await Promise.all(
    KEYS.slice(0, 4).map(
      async (key) => (await askRandom({ kind: 'consensus', votes: 8, width: 8, agree: 2 }, { key })).result,
    ),
  );
  for (const { decidedBy, votes } of results) {
    expect(decidedBy).toBe('consensus');
    expect(votes[0].count).toBeGreaterThanOrEqual(2);
  }
  expect(results.some(({ responses }) => responses.some(({ ended }) => ended === 'stopped'))).toBe(true);
});

test('fall-back forks only where the answer alone is not sure enough', async () => {
  let kept = 0;
  for (const key of KEYS) {
    const alone = (await askRandom({ kind: 'sequential' }, { key })).result;
    const sure = alone.responses[0].confidence!;
    for (const measure of ['mean', 'least'] as const) {
      const fallBack = (confidence: number) =>
        askRandom({ kind: 'fallback', confidence, measure }, { key }).then(({ result }) => result);
      if (alone.answer !== null) {
        kept++;
        expect(await fallBack(Math.max(0, sure[measure] - 1e-6))).toEqual(alone);
      }
      const forked = await fallBack(Math.min(1, sure[measure] + 1e-6));
      const [first, second] = forked.responses;
      expect([first.parallel, second.parallel]).toEqual([false, true]);
      expect(first).toEqual(alone.responses[0]);
      expect(forked.answer).toBe(second.answer ?? first.answer);
      expect(forked.decidedBy).toBe(second.answer === null ? 'response' : 'fallback');
      // One after the other: both are waited for.
      expect(forked.tokens.critical).toBe(first.tokens.critical + second.tokens.critical);
    }
  }
  expect(kept).toBeGreaterThan(0);
});

test.each([2, 5])('parallel, %i paths: derivations vote, and forks save waiting', async (paths) => {
  let forked = 0;
  for (const key of KEYS) {
    const own = (await askRandom({ kind: 'parallel', decide: 'model', paths }, { key })).result;
    const voted = (await askRandom({ kind: 'parallel', decide: 'paths', paths }, { key })).result;
    const [response] = own.responses;
    expect(voted.responses).toEqual(own.responses);
    expect(voted.votes).toEqual(own.votes);
    expect(own).toMatchObject({ decidedBy: 'response', answer: response.answer, tokens: response.tokens });
    const { blocks } = response.tree;
    if (blocks.length === 0) {
      expect(voted).toMatchObject({ answer: response.answer, votes: [], agreement: null });
      continue;
    }
    forked++;
    expect(blocks.every((block) => block.paths.length === paths)).toBe(true);
    expect(own.tokens.saved).toBeGreaterThan(0);
    for (const path of blocks.flatMap((block) => block.paths))
      if (path) expect(own.votes.map((vote) => vote.answer)).toContain(lastLetter(path));
    const tied = voted.votes.filter((vote) => vote.count === voted.votes[0].count);
    expect(tied.map((vote) => vote.answer)).toContain(voted.answer);
    if (tied.some((vote) => vote.answer === response.answer)) expect(voted.answer).toBe(response.answer);
  }
  expect(forked).toBeGreaterThan(2);
});

test('without a right answer nothing is right or wrong', async () => {
  expect((await askRandom({ kind: 'sequential' }, { gold: null })).result.correct).toBeNull();
});

test('nothing is left behind, also by a caller who stops in the middle', async () => {
  const before = memory().numTensors;
  const views = ask({
    model: random,
    tokenizer: letters,
    task,
    prompts: { plain: 'ab', parallel: 'abc' },
    gold: null,
    settings: SETTINGS,
    mode: { kind: 'vote', votes: 3 },
    key: 1,
  });
  await views.next();
  await views.return(undefined as never);
  expect(memory().numTensors).toBe(before);
  await askRandom({ kind: 'consensus', votes: 8, width: 8, agree: 2 });
  expect(memory().numTensors).toBe(before);
});

describe('what cannot be asked is refused with a sentence', () => {
  test.each<[string, AskMode, Partial<AskContext>, RegExp]>([
    [
      'no votes',
      { kind: 'vote', votes: 0 },
      {},
      /"votes" \(Votes\) must be a whole number between 1 and 128/,
    ],
    [
      'half a path',
      { kind: 'parallel', decide: 'model', paths: 2.5 },
      {},
      /"paths".*whole number between 1 and 8/,
    ],
    [
      'a confidence above 1',
      { kind: 'fallback', confidence: 1.1, measure: 'mean' },
      {},
      /"confidence".*between 0 and 1/,
    ],
    [
      'an agreement that cannot be',
      { kind: 'consensus', votes: 3, width: 3, agree: 4 },
      {},
      /"agree" \(4\) must not exceed "votes" \(3\)/,
    ],
    [
      'a greedy vote',
      { kind: 'vote', votes: 3 },
      { settings: { ...SETTINGS, temperature: 0 } },
      /differ.*Raise the temperature/s,
    ],
    [
      'words that the model does not know',
      { kind: 'sequential' },
      { prompts: { plain: '+8 and 77?', parallel: '+8!' } },
      /no tokens for a part of "\+8 and 77\?".*"\+8\?"/s,
    ],
    [
      'nothing',
      { kind: 'sequential' },
      { prompts: { plain: '', parallel: '' } },
      /no question to ask\. Write one/,
    ],
  ])('%s', async (_, mode, over, message) => {
    await expect(askBase(mode, over)).rejects.toThrow(message);
  });

  test('one greedy response is no vote, and the same for every key', async () => {
    const greedy = { settings: { ...SETTINGS, temperature: 0 } };
    const first = await askRandom({ kind: 'vote', votes: 1 }, { ...greedy, key: 1 });
    const second = await askRandom({ kind: 'vote', votes: 1 }, { ...greedy, key: 2 });
    expect(second.result).toEqual(first.result);
  });
});
