import { describe, expect, test } from 'vitest';
import { Rng } from '../../../base/rng.ts';
import { TASKS, taskNamed } from './index.ts';
import { signSearch } from './sign-search.ts';
import { MODULUS, signedChain } from './signed-chain.ts';
import { type DocumentKnobs, isRight } from './task.ts';

const KNOBS: DocumentKnobs = {
  difficulty: 'easy',
  terms: [4],
  bigShare: null,
  teacherNoiseSmall: 0,
  teacherNoiseBig: 0,
  redoShare: 0,
  templates: { E: 1 },
  paths: 2,
  attempts: 3,
  blocks: 1,
  gapProbability: 0,
  gapMax: 0,
};

const many = <T>(n: number, make: (rng: Rng) => T): T[] =>
  Array.from({ length: n }, (_, i) => make(new Rng(17, i)));

/** Numbers and target of a prompt, read apart from the generator. */
function asked(prompt: string): { numbers: number[]; target: number } {
  const [, list, target] = /^((?:\+\d+)+)=(\d+)[?!]$/.exec(prompt)!;
  return { numbers: list.slice(1).split('+').map(Number), target: Number(target) };
}

/** Does some choice of signs give the target? By brute force over all of them, the first one +. */
const solutionsOf = (prompt: string): string[] => {
  const { numbers, target } = asked(prompt);
  return Array.from({ length: 2 ** (numbers.length - 1) }, (_, bits) =>
    numbers.map((value, i) => (i > 0 && (bits >> (i - 1)) & 1 ? -value : value)),
  )
    .filter((terms) => ((terms.reduce((a, b) => a + b, 0) % MODULUS) + MODULUS) % MODULUS === target)
    .map((terms) => terms.map((x) => (Object.is(x, -0) || x < 0 ? `-${-x}` : `+${x}`)).join(''));
};

const answerOf = (completion: string) => signSearch.extractAnswer(completion);
const share = <T>(items: readonly T[], is: (item: T) => boolean) => items.filter(is).length / items.length;

describe('problems', () => {
  test('are solvable, by their own gold, and have the knobs that they were asked for', () => {
    const problems = many(300, (rng) =>
      signSearch.problem(rng, { difficulty: 'hard', terms: [4, 5], bigShare: 1 }, true),
    );
    const lengths = new Set<number>();
    for (const problem of problems) {
      const { numbers } = asked(problem.prompt);
      lengths.add(numbers.length);
      for (const x of numbers) expect(x).toBeGreaterThanOrEqual(10);
      expect(problem.prompt).toMatch(/!$/);
      expect(solutionsOf(problem.prompt)).toContain(problem.answer);
    }
    expect(lengths).toEqual(new Set([4, 5]));
    expect(signSearch.problem(new Rng(1), KNOBS, false).prompt).toMatch(/\?$/);
  });

  test('have often more than one right answer, and `solves` takes exactly those', () => {
    let several = 0;
    for (const problem of many(100, (rng) => signSearch.problem(rng, { ...KNOBS, terms: [5] }, true))) {
      const right = new Set(solutionsOf(problem.prompt));
      if (right.size > 1) several++;
      const { numbers } = asked(problem.prompt);
      for (let bits = 0; bits < 2 ** numbers.length; bits++) {
        const answer = numbers.map((x, i) => `${(bits >> i) & 1 ? '-' : '+'}${x}`).join('');
        expect(isRight(signSearch, problem, answer), `${problem.prompt} ${answer}`).toBe(right.has(answer));
      }
    }
    expect(several).toBeGreaterThan(20);
  });

  test.each(['+20+11', '+20-11+3+0', '+11-20+3', '+20-11-3', '20-11+3', '+20-11+3=12', '-20+11-3', ''])(
    '%j does not solve +20+11+3=12',
    (answer) => {
      expect(signSearch.solves?.({ prompt: '+20+11+3=12!' }, answer)).toBe(false);
      expect(signSearch.solves?.({ prompt: '+20+11+3=12!' }, '+20-11+3')).toBe(true);
    },
  );

  test('no answer is never right', () => {
    const problem = signSearch.problem(new Rng(4), KNOBS, true);
    expect(isRight(signSearch, problem, null)).toBe(false);
    expect(isRight(signedChain, { ...problem, answer: '7' }, '7')).toBe(true);
  });
});

describe('documents', () => {
  test('of a teacher without noise add up, and every verdict is true', () => {
    const documents = many(200, (rng) =>
      signSearch.document(rng, 'parallel', { ...KNOBS, templates: { S: 1, E: 1, L: 1, EL: 1 } }),
    );
    let hits = 0;
    for (const { prompt, completion } of documents) {
      const { numbers, target } = asked(prompt);
      const attempts = [...completion.matchAll(/((?:[+-]\d+=\d+)+)([?!])/g)];
      expect(attempts.length).toBeGreaterThan(0);
      for (const [, text, verdict] of attempts) {
        let total = 0;
        for (const [, term, result] of text.matchAll(/([+-]\d+)=(\d+)/g)) {
          total = (((total + Number(term)) % MODULUS) + MODULUS) % MODULUS;
          expect(Number(result)).toBe(total);
        }
        expect([...text.matchAll(/[+-](\d+)=/g)].map(([, x]) => Number(x))).toEqual(numbers);
        expect(verdict).toBe(total === target ? '!' : '?');
        if (verdict === '!') hits++;
      }
      const problem = { prompt, answer: '', difficulty: '' };
      expect(isRight(signSearch, problem, answerOf(completion))).toBe(completion.includes('!'));
    }
    expect(hits).toBeGreaterThan(50);
  });

  test('have the templates’ shapes', () => {
    const shape = (template: 'S' | 'E' | 'L' | 'EL') =>
      signSearch
        .document(new Rng(2), 'parallel', { ...KNOBS, templates: { [template]: 1 } })
        .completion.replace(/([+-]\d+=\d+)+[?!]/g, 'A')
        .replace(/([+-]\d+)+/g, 's');
    const block = '<Parallel><Path>A</Path><Path>A</Path></Parallel><Summary>s</Summary>';
    expect(shape('S')).toBe('AFinal Answer:s');
    expect(shape('E')).toBe(`${block}Final Answer:s`);
    expect(shape('L')).toBe(`A${block}Final Answer:s`);
    expect(shape('EL')).toBe(`${block}${block}Final Answer:s`);
    const three = signSearch.document(new Rng(2), 'parallel', { ...KNOBS, paths: 3 }).completion;
    expect(three.match(/<Path>/g)).toHaveLength(3);
  });

  test('try again until a hit, never the same signs, and only where they are asked to', () => {
    const redo = { ...KNOBS, redoShare: 1 };
    const counts = many(300, (rng) => signSearch.document(rng, 'base', redo).completion).map((text) => {
      const attempts = text.split('Final Answer:')[0].split(',');
      expect(attempts.slice(0, -1).every((one) => one.endsWith('?'))).toBe(true);
      expect(new Set(attempts).size).toBe(attempts.length);
      if (attempts.length < 3) expect(attempts.at(-1)).toMatch(/!$/);
      return attempts.length;
    });
    expect(new Set(counts)).toEqual(new Set([1, 2, 3]));
    for (const { completion } of many(50, (rng) => signSearch.document(rng, 'sequential', redo)))
      expect(completion).not.toContain(',');
  });

  test('err in a step at the teacher’s rates, by operand size', () => {
    for (const [bigShare, rate] of [
      [0, 0.1],
      [1, 0.4],
    ]) {
      const n = 4000;
      const noisy = { ...KNOBS, terms: [1], bigShare, teacherNoiseSmall: 0.1, teacherNoiseBig: 0.4 };
      const wrong = share(
        many(n, (rng) => signSearch.document(rng, 'sequential', noisy)),
        ({ completion }) => {
          const [, term, result] = /^\+(\d+)=(\d+)/.exec(completion)!;
          return term !== result;
        },
      );
      // A uniform number is right by chance once in 31; five standard deviations
      const p = rate * (1 - 1 / MODULUS);
      expect(Math.abs(wrong - p)).toBeLessThan(5 * Math.sqrt((p * (1 - p)) / n));
    }
  });
});

test('parallel attempts win at equal critical depth: two side by side hit as 1 − (1 − p)² says', () => {
  const n = 3000;
  const rate = (kind: 'sequential' | 'parallel', over: Partial<DocumentKnobs> = {}) =>
    share(
      many(n, (rng) => signSearch.document(rng, kind, { ...KNOBS, ...over })),
      ({ prompt, completion }) =>
        isRight(signSearch, { prompt, answer: '', difficulty: '' }, answerOf(completion)),
    );
  // For each problem its own chance: right sign combinations of the eight that there are.
  const chances = many(
    n,
    (rng) => solutionsOf(signSearch.document(rng, 'sequential', KNOBS).prompt).length / 8,
  );
  const expected = (attempts: number) =>
    chances.reduce((sum, p) => sum + 1 - (1 - p) ** attempts, 0) / chances.length;
  const tolerance = 5 * Math.sqrt(0.25 / n);
  expect(Math.abs(rate('sequential') - expected(1))).toBeLessThan(tolerance);
  const early = rate('parallel');
  expect(Math.abs(early - expected(2))).toBeLessThan(tolerance);
  expect(early - rate('sequential')).toBeGreaterThan(0.08);
  // Late: the own attempt is seen, so the two paths draw from the seven others.
  expect(rate('parallel', { templates: { L: 1 } })).toBeGreaterThan(early + 0.04);
});

test.each([
  ['+1=1+2=3!Final Answer:+1+2', '+1+2'],
  ['Final Answer:+1', '+1'],
  ['Final Answer:-1+2', '-1+2'],
  ['Final Answer:1+2', null],
  ['Final Answer:+1+', null],
  ['Final Answer:+1 ', null],
  ['Final Answer:+1+2=3', null],
  ['Final Answer:+1Final Answer:+1', null],
  ['Final Answer:', null],
  ['+1+2', null],
])('the answer of %j is %j', (text, answer) => {
  expect(signSearch.extractAnswer(text)).toBe(answer);
});

test('only a hit arrives at an answer: what follows a miss still explores', () => {
  expect(signSearch.intermediateAnswer('+20=20-11=9+3=12!')).toBe('+20-11+3');
  expect(signSearch.intermediateAnswer('+20=20+11=0?,+20=20-11=9!')).toBe('+20-11');
  expect(signSearch.intermediateAnswer('+20=20+11=0+3=3?')).toBeNull();
  expect(signSearch.intermediateAnswer('+20=20-11=9')).toBeNull();
});

test('the vocabulary is that of signed-chain, so one model serves both', () => {
  expect(signSearch.vocabulary).toEqual(signedChain.vocabulary);
  expect(signSearch.splitPattern).toBe(signedChain.splitPattern);
  expect(signSearch.stepNoise(0.1)).toEqual(signedChain.stepNoise(0.1));
  expect(taskNamed('sign-search')).toBe(TASKS['sign-search']);
});

/** Runs repeat from recipe and seed. */
test('draws that must not change', () => {
  const knobs = {
    ...KNOBS,
    terms: [3, 4],
    bigShare: 0.5,
    teacherNoiseSmall: 0.2,
    teacherNoiseBig: 0.2,
    redoShare: 0.5,
    templates: { S: 0.25, E: 0.25, L: 0.25, EL: 0.25 },
    gapProbability: 0.6,
    gapMax: 90,
  };
  expect(signSearch.problem(new Rng(7, 9), knobs, true)).toMatchInlineSnapshot(`
    {
      "answer": "+21+28+1",
      "difficulty": "easy",
      "prompt": "+21+28+1=19!",
    }
  `);
  expect(
    [1, 2].map((stream) => signSearch.document(new Rng(7, stream), 'base', knobs)),
  ).toMatchInlineSnapshot(`
    [
      {
        "completion": "+7=7+29=5+19=26-4=22?Final Answer:+7+29+19-4",
        "positionGap": 80,
        "prompt": "+7+29+19+4=20?",
      },
      {
        "completion": "+2=2-3=30+8=7!Final Answer:+2-3+8",
        "positionGap": 53,
        "prompt": "+2+3+8=7?",
      },
    ]
  `);
  expect(signSearch.document(new Rng(7, 3), 'parallel', knobs)).toMatchInlineSnapshot(`
    {
      "completion": "<Parallel><Path>+8=20-1=19+7=26-5=21?</Path><Path>+8=8+1=9-7=2+5=7!</Path></Parallel><Summary>+8+1-7+5</Summary><Parallel><Path>+8=23+1=24+7=0+5=24?</Path><Path>+8=8+1=11+7=18+5=23?</Path></Parallel><Summary>+8+1-7+5</Summary>Final Answer:+8+1-7+5",
      "positionGap": 77,
      "prompt": "+8+1+7+5=7!",
    }
  `);
});

describe('blocks that follow each other', () => {
  const documents = many(400, (rng) =>
    signSearch.document(rng, 'parallel', { ...KNOBS, paths: 3, blocks: 2 }),
  );
  const blocksOf = (completion: string) =>
    [...completion.matchAll(/<Parallel>(.*?)<\/Parallel><Summary>(.*?)<\/Summary>/g)].map(
      ([, paths, summary]) => ({
        paths: [...paths.matchAll(/<Path>(.*?)<\/Path>/g)].map(([, path]) => path),
        summary,
      }),
    );

  test('come while none has hit, and the summary says which', () => {
    const counts = new Set<number>();
    for (const { prompt, completion } of documents) {
      const blocks = blocksOf(completion);
      counts.add(blocks.length);
      blocks.forEach(({ paths, summary }, i) => {
        expect(paths).toHaveLength(3);
        const hit = paths.find((path) => path.endsWith('!'));
        if (hit) expect(summary).toBe(`${hit.replace(/=\d+|!/g, '')}!`);
        else expect(summary).toBe('?');
        // Only a last block may hit.
        if (i < blocks.length - 1) expect(hit).toBeUndefined();
      });
      const right = solutionsOf(prompt).includes(answerOf(completion)!);
      expect(right).toBe(blocks.some(({ summary }) => summary.endsWith('!')));
    }
    expect(counts).toEqual(new Set([1, 2]));
  });

  test('avoid what the block before tried', () => {
    for (const { completion } of documents) {
      const [first, second] = blocksOf(completion).map(({ paths }) =>
        paths.map((path) => path.replace(/=\d+|[!?]/g, '')),
      );
      // 4 terms have 8 combinations: enough to avoid three of them.
      if (second) for (const path of second) expect(first).not.toContain(path);
    }
  });
});

test('a thread tries again as often as it is asked to', () => {
  const attempts = (most: number) =>
    many(300, (rng) => signSearch.document(rng, 'base', { ...KNOBS, redoShare: 1, attempts: most })).map(
      ({ completion }) => completion.match(/[?!]/g)!.length,
    );
  expect(Math.max(...attempts(2))).toBe(2);
  expect(Math.max(...attempts(6))).toBe(6);
});
