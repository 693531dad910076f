import { describe, expect, test } from 'vitest';
import tinyRecipe from '../../../models/tiny-recipe.json' with { type: 'json' };
import { type DataRow, RowList } from '../data/rows.ts';
import { signedChain } from '../data/tasks/signed-chain.ts';
import { byteTokenizerDocuments } from '../tokenizer/byte-tokenizer.ts';
import { loadTokenizer } from '../tokenizer/hf-tokenizer.ts';
import { taskTokenizerDocuments } from '../tokenizer/task-tokenizer.ts';
import { type GrpoStage, parseRecipe, type SftStage } from './recipe.ts';
import { exampleSource, heldOutProblems, heldOutQuestions, problemSource, questionOf } from './stage-data.ts';

const recipe = parseRecipe(tinyRecipe);
const sft = recipe.stages.find((stage) => stage.kind === 'sft') as SftStage;
const grpo = recipe.stages.find((stage) => stage.kind === 'grpo') as GrpoStage;
const tokenizers = [taskTokenizerDocuments(signedChain), byteTokenizerDocuments()].map(
  ({ json, configJson }) => loadTokenizer(json, configJson),
);

const dataOf = (rows: Partial<DataRow>[]) => new Map([['x.jsonl', new RowList('x.jsonl', rows)]]);

test('the same step has the same examples, whenever it is asked for; another step has others', () => {
  const source = () => exampleSource(recipe, 0, sft, tokenizers[0], new Map(), new Set());
  const a = source();
  const third = a(3);
  expect(source()(3)).toEqual(third);
  expect(a(4)).not.toEqual(third);
});

test('held-out problems are distinct, and asked plainly or in parallel are the same questions', () => {
  const [parallel, plain] = [true, false].map((mode) => heldOutProblems(recipe, mode));
  expect(plain.flat().map(({ prompt }) => prompt.replace('?', '!'))).toEqual(
    parallel.flat().map(({ prompt }) => prompt),
  );
  for (const set of parallel) expect(new Set(set.map(({ prompt }) => prompt)).size).toBe(set.length);
});

test('training draws around held-out questions, however few there are', () => {
  // Two terms below ten: 200 questions, of which half are held out.
  const narrow = { ...grpo, data: { ...grpo.data, terms: [2], bigShare: 0 } };
  const all = problemSource(recipe, 6, narrow, new Set());
  const questions = [...new Set(Array.from({ length: 4000 }, (_, i) => all(1, i).prompt))];
  expect(questions).toHaveLength(200);
  const half = questions.slice(0, 100);
  const heldOut = heldOutQuestions([half.map((prompt) => ({ prompt, answer: '', difficulty: '' }))]);
  const source = problemSource(recipe, 6, narrow, heldOut);
  for (let i = 0; i < 1000; i++) expect(half).not.toContain(source(1, i).prompt);
});

test('each epoch of a dropped file is a permutation of its rows', () => {
  const rows = Array.from({ length: 10 }, (_, i) => ({ prompt: `question ${i} `, completion: `${i}` }));
  const stage = {
    ...sft,
    data: { source: 'dropped' as const, name: 'x.jsonl' },
    batchSize: 5,
    maxTokens: 64,
  };
  const source = exampleSource(recipe, 0, stage, tokenizers[1], dataOf(rows), new Set());
  const epoch = (n: number) =>
    [1, 2].flatMap((step) => source(2 * n + step)).map(({ tokens }) => tokenizers[1].decode(tokens));
  for (const n of [0, 1]) expect(new Set(epoch(n)).size).toBe(10);
  expect(epoch(0)).not.toEqual(epoch(1));
  // Out of order, as after a resume
  expect(epoch(0)).toEqual(epoch(0));
});

test('a stage whose file is not loaded says so', () => {
  const stage = { ...sft, data: { source: 'dropped' as const, name: 'y.jsonl' } };
  expect(() => exampleSource(recipe, 0, stage, tokenizers[1], new Map(), new Set())).toThrow(
    /y\.jsonl.*Drop it/s,
  );
});

test('documents, too, are drawn around held-out questions, asked either way', () => {
  const narrow = {
    ...sft,
    batchSize: 100,
    data: {
      source: 'task' as const,
      task: 'signed-chain',
      mix: (['base', 'parallel'] as const).map((kind) => ({
        ...(sft.data.source === 'task' ? sft.data.mix[0] : null)!,
        kind,
        templates: { E: 1 },
        weight: 1,
        terms: [2],
        bigShare: 0,
      })),
    },
  };
  const [tokenizer] = tokenizers;
  const promptOf = ({ tokens, promptLength }: { tokens: Int32Array; promptLength: number }) =>
    tokenizer.decode(tokens.slice(0, promptLength));
  const all = exampleSource(recipe, 0, narrow, tokenizer, new Map(), new Set());
  const prompts = [1, 2, 3].flatMap((step) => all(step).map(promptOf));
  expect(new Set(prompts.map((prompt) => prompt.at(-1)))).toEqual(new Set(['?', '!']));
  // Held out as parallel questions; a plain document must not have them either.
  const half = [...new Set(prompts.map((prompt) => prompt.slice(0, -1)))].slice(0, 80);
  const heldOut = heldOutQuestions([
    half.map((question) => ({ prompt: `${question}!`, answer: '', difficulty: '' })),
  ]);
  const source = exampleSource(recipe, 0, narrow, tokenizer, new Map(), heldOut);
  for (const step of [1, 2, 3])
    for (const example of source(step)) expect(half).not.toContain(promptOf(example).slice(0, -1));
});

test('held-out problems differ between seeds and sets, and there are as many as asked for', () => {
  const sets = heldOutProblems(recipe, true);
  expect(sets.map((set) => set.length)).toEqual(recipe.evaluation.sets.map(({ problems }) => problems));
  expect(heldOutProblems({ ...recipe, seed: recipe.seed + 1 }, true)).not.toEqual(sets);
  expect(heldOutProblems(recipe, true)).toEqual(sets);
});

test('problems depend on seed, stage, step and index only', () => {
  const of = (seed: number, stage: number) => problemSource({ ...recipe, seed }, stage, grpo, new Set());
  const ask = (source: ReturnType<typeof of>, step: number) => [0, 1, 2, 3].map((i) => source(step, i));
  const first = of(1, 6);
  const third = ask(first, 3);
  ask(first, 1);
  expect(ask(first, 3)).toEqual(third);
  expect(ask(of(1, 6), 3)).toEqual(third);
  for (const other of [ask(first, 4), ask(of(2, 6), 3), ask(of(1, 7), 3)]) expect(other).not.toEqual(third);
  const plain = { ...grpo, rollout: { ...grpo.rollout, mode: 'sequential' as const } };
  expect(problemSource({ ...recipe, seed: 1 }, 6, plain, new Set())(3, 0).prompt).toMatch(/\?$/);
});

test('epochs that end in the middle of a batch are permutations as well', () => {
  const rows = Array.from({ length: 10 }, (_, i) => ({ prompt: `${i}:`, completion: `${i}` }));
  const data = { source: 'dropped' as const, name: 'x.jsonl' };
  const stage = { ...sft, data, batchSize: 4, maxTokens: 64 };
  const dropped = dataOf(rows);
  const read = (source: ReturnType<typeof exampleSource>, step: number) =>
    source(step).map(({ tokens }) => tokenizers[1].decode(tokens));
  const source = exampleSource(recipe, 0, stage, tokenizers[1], dropped, new Set());
  const texts = [1, 2, 3, 4, 5].flatMap((step) => read(source, step));
  expect(new Set(texts.slice(0, 10)).size).toBe(10);
  expect(new Set(texts.slice(10)).size).toBe(10);
  // Step 3 holds the end of one epoch and the start of the next; a fresh source, as after a resume, has the same.
  const fresh = exampleSource(recipe, 0, stage, tokenizers[1], dropped, new Set());
  expect(read(fresh, 3)).toEqual(texts.slice(8, 12));
});

test('a dropped file without rows is as good as none', () => {
  const stage = { ...sft, data: { source: 'dropped' as const, name: 'empty.jsonl' } };
  const dropped = new Map([['empty.jsonl', new RowList('empty.jsonl', [])]]);
  expect(() => exampleSource(recipe, 0, stage, tokenizers[1], dropped, new Set())).toThrow(/empty\.jsonl/);
});

test('rows without anything to write are passed over; a file of nothing else says so', () => {
  const data = { source: 'dropped' as const, name: 'x.jsonl' };
  const stage = { ...sft, data, batchSize: 3, maxTokens: 64 };
  const notes: string[] = [];
  const source = (rows: Partial<DataRow>[]) =>
    exampleSource(recipe, 0, stage, tokenizers[1], dataOf(rows), new Set(), (note) => notes.push(note));
  // Of 64 tokens the first is <bos>: a prompt of 62 bytes leaves one to learn, a longer one none.
  const mixed = source([
    { prompt: 'a ', completion: '1' },
    { prompt: 'b ', completion: ' ', answer: '2' },
    { prompt: 'd'.repeat(62), completion: '4' },
    { prompt: 'é'.repeat(32), completion: '5' },
    { prompt: 'f'.repeat(63), completion: '6' },
    { prompt: 'c ', completion: '3' },
  ]);
  expect(notes).toEqual([
    expect.stringMatching(/learns from 3 of the 6 rows.*1 have nothing to write.*Of 2 the prompt.*64 tokens/),
  ]);
  for (const { targets } of [1, 2].flatMap((step) => mixed(step))) expect(targets).toContain(1);
  const texts = [1, 2].flatMap((step) => mixed(step).map(({ tokens }) => tokenizers[1].decode(tokens)));
  expect(new Set(texts)).toEqual(new Set(['a 1', 'c 3', `${'d'.repeat(62)}4`]));
  expect(() => source([{ prompt: 'b', answer: '2' }])).toThrow(
    /Stage "base-a" has nothing to learn from "x\.jsonl": its 1 rows.*reinforcement/s,
  );
  expect(() => source([{ prompt: 'f'.repeat(99), completion: '6' }])).toThrow(
    /nothing to learn.*the prompts of 1 of its 1 rows alone fill.*Raise/s,
  );
});

describe('held-out questions never get into training', () => {
  const [set] = recipe.evaluation.sets;
  const withSet = (over: Partial<typeof set>) => ({
    ...recipe,
    evaluation: { ...recipe.evaluation, sets: [{ ...set, ...over }] },
  });

  test('a dropped file that holds one stops the run, and says which row', () => {
    const heldOut = heldOutQuestions(heldOutProblems(recipe, true));
    const [problem] = heldOutProblems(recipe, false)[0];
    const rows = [1, 2, 3].map((i) => ({ prompt: `question ${i}`, completion: '1' }));
    const stage = { ...sft, data: { source: 'dropped' as const, name: 'x.jsonl' } };
    const source = (prompts: string[]) => {
      const dropped = dataOf([...rows, ...prompts.map((prompt) => ({ prompt, completion: '' }))]);
      return exampleSource(recipe, 0, stage, tokenizers[1], dropped, heldOut);
    };
    expect(() => source([])).not.toThrow();
    for (const written of [problem.prompt, problem.prompt.replaceAll('+', ' ＋ ').slice(0, -1)])
      expect(() => source([written, 'question 9', written])).toThrow(
        /Stage "base-a".*2 of the 6 rows of "x\.jsonl".*first row 4 .*Remove these rows/s,
      );
  });

  test('a stage with nothing else to draw stops, and says what to change', () => {
    // One term below ten: ten questions, all held out.
    const all = Array.from({ length: 10 }, (_, n) => ({ prompt: `+${n}?`, answer: '', difficulty: '' }));
    const narrow = { ...grpo, data: { ...grpo.data, terms: [1], bigShare: 0 } };
    const source = (count: number) =>
      problemSource(recipe, 6, narrow, heldOutQuestions([all.slice(0, count)]));
    expect(source(9)(1, 0).prompt).toBe('+9!');
    expect(() => source(10)(1, 0)).toThrow(/Stage "rl-easy" finds nothing.*"problems".*"terms"/s);
  });

  test('a set that asks for more questions than there are says so', () => {
    const few = { terms: [1], bigShare: 0 };
    expect(heldOutProblems(withSet({ ...few, problems: 10 }), true)[0]).toHaveLength(10);
    expect(() => heldOutProblems(withSet({ ...few, problems: 11 }), true)).toThrow(
      /"easy" asks for 11 different problems, but after 10 of them.*Lower/s,
    );
  });

  test('by number of terms: as many problems of each, labelled', () => {
    const [problems] = heldOutProblems(withSet({ terms: [2, 4], problems: 6, byTerms: true }), true);
    const lengths = problems.map(({ prompt }) => prompt.match(/[+-]/g)!.length);
    expect(lengths).toEqual([2, 4, 2, 4, 2, 4]);
    expect(problems.map(({ difficulty }) => difficulty)).toEqual(lengths.map((n) => `easy, ${n} terms`));
  });

  test.each([
    ['+8-23!', '+8-23?'],
    ['What is 5 + 3?', 'what is\n5+3'],
    ['5 \u2212 3', '5-3 ?'],
    ['ＡＢＣ １', 'abc 1.'],
  ])('%j asks what %j asks', (a, b) => {
    expect(questionOf(a)).toBe(questionOf(b));
  });

  test.each([
    ['+8-23?', '+8+23?'],
    ['12 3', '123'],
    ['1.5', '15'],
  ])('%j does not ask what %j asks', (a, b) => {
    expect(questionOf(a)).not.toBe(questionOf(b));
  });
});
