import { describe, expect, test } from 'vitest';
import { Rng } from '../../../base/rng.ts';
import { TASKS, taskNamed } from './index.ts';
import { MODULUS, signedChain } from './signed-chain.ts';
import type { DocumentKnobs } from './task.ts';

const KNOBS: DocumentKnobs = {
  difficulty: 'easy',
  terms: [3, 4, 5],
  bigShare: 0.25,
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
  Array.from({ length: n }, (_, i) => make(new Rng(11, i)));

/** Terms of a text such as +20-3: their sum modulo 31, computed apart from the generator. */
function total(terms: string): number {
  const sum = [...terms.matchAll(/([+-])(\d+)/g)].reduce(
    (s, [, sign, x]) => s + (sign === '+' ? 1 : -1) * Number(x),
    0,
  );
  return ((sum % MODULUS) + MODULUS) % MODULUS;
}

describe('problems', () => {
  test('have the right answer, the first sign +, and the knobs they were asked for', () => {
    const problems = many(400, (rng) =>
      signedChain.problem(rng, { difficulty: 'hard', terms: [4, 5], bigShare: 1 }, true),
    );
    const lengths = new Set<number>();
    for (const { prompt, answer } of problems) {
      expect(prompt).toMatch(/^\+\d+([+-]\d+)*!$/);
      expect(answer).toBe(String(total(prompt)));
      const operands = [...prompt.matchAll(/\d+/g)].map(([x]) => Number(x));
      lengths.add(operands.length);
      for (const x of operands) {
        expect(x).toBeGreaterThanOrEqual(10);
        expect(x).toBeLessThan(MODULUS);
      }
    }
    expect(lengths).toEqual(new Set([4, 5]));
    expect(
      signedChain.problem(new Rng(1), { difficulty: 'x', terms: [1], bigShare: null }, false).prompt,
    ).toMatch(/\?$/);
  });

  test('are a function of the seed', () => {
    const draw = (seed: number) => signedChain.problem(new Rng(seed), KNOBS, true);
    expect(draw(5)).toEqual(draw(5));
    expect(draw(5)).not.toEqual(draw(6));
  });
});

describe('documents', () => {
  test('of a teacher without noise are right in every step', () => {
    for (const { prompt, completion } of many(200, (rng) => signedChain.document(rng, 'sequential', KNOBS))) {
      const [, derivation, answer] = /^(.*)Final Answer:(\d+)$/.exec(completion)!;
      expect(Number(answer)).toBe(total(prompt));
      let sofar = '';
      for (const [, term, result] of derivation.matchAll(/([+-]\d+)=(\d+)/g)) {
        sofar += term;
        expect(Number(result)).toBe(total(sofar));
      }
      expect(sofar).toBe(prompt.slice(0, -1));
    }
  });

  test('have the templates’ shapes', () => {
    const shape = (template: 'S' | 'E' | 'L' | 'EL') =>
      signedChain
        .document(new Rng(2), 'parallel', { ...KNOBS, templates: { [template]: 1 } })
        .completion.replace(/([+-]\d+=\d+)+/g, 'D')
        .replace(/\d+/g, 'v');
    const block = '<Parallel><Path>D</Path><Path>D</Path></Parallel>';
    expect(shape('S')).toBe('DFinal Answer:v');
    expect(shape('E')).toBe(`${block}<Summary>v,v>v</Summary>Final Answer:v`);
    expect(shape('L')).toBe(`D${block}<Summary>v,v,v>v</Summary>Final Answer:v`);
    expect(shape('EL')).toBe(
      `${block}<Summary>v,v>v</Summary>${block}<Summary>v,v,v>v</Summary>Final Answer:v`,
    );
    const three = signedChain.document(new Rng(2), 'parallel', { ...KNOBS, paths: 3 }).completion;
    expect(three.match(/<Path>/g)).toHaveLength(3);
  });

  test('vote by plurality', () => {
    const noisy = { ...KNOBS, templates: { L: 1 } as const, teacherNoiseSmall: 0.4, teacherNoiseBig: 0.4 };
    let disagreements = 0;
    for (const { completion } of many(300, (rng) => signedChain.document(rng, 'parallel', noisy))) {
      const [, list, vote] = /<Summary>([\d,]+)>(\d+)<\/Summary>/.exec(completion)!;
      const values = list.split(',');
      const count = (v: string) => values.filter((x) => x === v).length;
      expect(count(vote)).toBe(Math.max(...values.map(count)));
      expect(completion).toMatch(new RegExp(`Final Answer:${vote}$`));
      if (new Set(values).size > 1) disagreements++;
    }
    expect(disagreements).toBeGreaterThan(50);
  });

  test('err at the teacher’s rates, by operand size', () => {
    const noisy = { ...KNOBS, terms: [1], teacherNoiseSmall: 0.1, teacherNoiseBig: 0.4 };
    for (const [bigShare, rate] of [
      [0, 0.1],
      [1, 0.4],
    ]) {
      const n = 4000;
      const wrong = many(n, (rng) => signedChain.document(rng, 'sequential', { ...noisy, bigShare })).filter(
        ({ prompt, completion }) => signedChain.extractAnswer(completion) !== String(total(prompt)),
      ).length;
      // A uniform number is right by chance once in 31; five standard deviations
      const p = rate * (1 - 1 / MODULUS);
      expect(Math.abs(wrong / n - p)).toBeLessThan(5 * Math.sqrt((p * (1 - p)) / n));
    }
  });

  test('redo and gap come at their rates', () => {
    const n = 2000;
    const documents = many(n, (rng) =>
      signedChain.document(rng, 'base', { ...KNOBS, redoShare: 0.4, gapProbability: 0.6, gapMax: 90 }),
    );
    const share = (test: (document: (typeof documents)[number]) => boolean) =>
      documents.filter(test).length / n;
    expect(share(({ completion }) => completion.includes(','))).toBeCloseTo(0.4, 1);
    expect(share(({ positionGap }) => (positionGap ?? 0) > 0)).toBeCloseTo(0.6 * (89 / 90), 1);
    expect(Math.max(...documents.map(({ positionGap }) => positionGap ?? 0))).toBeLessThan(90);
  });
});

/** Runs repeat from recipe and seed, and shipped models were trained on these draws. */
describe('draws that must not change', () => {
  const knobs = {
    ...KNOBS,
    teacherNoiseSmall: 0.3,
    teacherNoiseBig: 0.3,
    redoShare: 0.5,
    templates: { S: 0.35, E: 0.3, L: 0.3, EL: 0.05 },
    gapProbability: 0.6,
    gapMax: 90,
  };
  test.each([
    ['base', 1, '+7+4+4+29-3?', '+7=7+4=11+4=26+29=24-3=21Final Answer:21', 74],
    ['base', 2, '+2-9-3?', '+2=2-9=26-3=23,+2=2-9=24-3=0Final Answer:0', 53],
    [
      'parallel',
      3,
      '+8-23-5+3!',
      '+8=8-23=20-5=20+3=23<Parallel><Path>+8=8-23=16-5=11+3=14</Path><Path>+8=8-23=16-5=11+3=14</Path></Parallel><Summary>23,14,14>14</Summary>Final Answer:14',
      77,
    ],
  ] as const)('%s document %i', (kind, stream, prompt, completion, positionGap) => {
    expect(signedChain.document(new Rng(7, stream), kind, knobs)).toEqual({
      prompt,
      completion,
      positionGap,
    });
  });

  test('problems', () => {
    expect(signedChain.problem(new Rng(7, 9), { ...knobs, bigShare: null }, true)).toEqual({
      prompt: '+7-7-29!',
      answer: '2',
      difficulty: 'easy',
    });
    expect(signedChain.problem(new Rng(7, 10), { ...knobs, bigShare: 1 }, false).prompt).toBe(
      '+28-15-28-13?',
    );
  });
});

test('ties of a vote are broken at random, not by order', () => {
  const noisy = { ...KNOBS, teacherNoiseSmall: 1, teacherNoiseBig: 1 };
  const picks = many(400, (rng) => signedChain.document(rng, 'parallel', noisy).completion)
    .map((text) => /<Summary>(\d+),(\d+)>(\d+)</.exec(text)!)
    .filter(([, a, b]) => a !== b)
    .map(([, a, , vote]) => Number(vote === a));
  const n = picks.length;
  const first = picks.reduce((sum, x) => sum + x, 0);
  // Binomial with p = ½; five standard deviations
  expect(Math.abs(first - n / 2)).toBeLessThan(5 * Math.sqrt(n / 4));
});

test('the share of big terms is the one asked for', () => {
  const operands = many(1000, (rng) => signedChain.problem(rng, { ...KNOBS, terms: [4] }, true)).flatMap(
    ({ prompt }) => [...prompt.matchAll(/\d+/g)].map(([x]) => Number(x)),
  );
  const big = operands.filter((x) => x >= 10).length;
  expect(operands).toHaveLength(4000);
  expect(Math.abs(big / 4000 - 0.25)).toBeLessThan(5 * Math.sqrt((0.25 * 0.75) / 4000));
});

test('step noise replaces what follows = by any of the 31 numbers', () => {
  const noise = signedChain.stepNoise(0.07)!;
  expect(noise).toMatchObject({ after: '=', probability: 0.07 });
  expect(new Set(noise.replacements)).toEqual(new Set(Array.from({ length: 31 }, (_, n) => String(n))));
});

test.each([
  ['+1=1Final Answer:1', '1'],
  ['Final Answer:30', '30'],
  ['Final Answer:31', null],
  ['Final Answer:1+', null],
  ['Final Answer:1 ', null],
  ['Final Answer:1\n', null],
  ['+1=1\nFinal Answer:7', '7'],
  ['Final Answer:99999999999999999999', null],
  ['Final Answer:1Final Answer:2', null],
  ['Final Answer:1Final Answer:1', null],
  ['Final Answer:', null],
  ['1', null],
])('the answer of %j is %j', (text, answer) => {
  expect(signedChain.extractAnswer(text)).toBe(answer);
});

test('a path arrives at what stands behind its last =', () => {
  expect(signedChain.intermediateAnswer('+1=1+2=3')).toBe('3');
  expect(signedChain.intermediateAnswer('+1=1+2')).toBeNull();
});

test('an unknown task is named with those that there are', () => {
  expect(taskNamed('signed-chain')).toBe(TASKS['signed-chain']);
  expect(() => taskNamed('toString')).toThrow(/signed-chain/);
});
