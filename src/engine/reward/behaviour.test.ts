import { describe, expect, test } from 'vitest';
import { Rng } from '../../base/rng.ts';
import { signedChain } from '../data/tasks/signed-chain.ts';
import { treeOf } from '../rollout/tree.ts';
import { TEST_IDS } from '../tokenizer/test-ids.ts';
import { behaviourOf } from './behaviour.ts';

const ids = { ...TEST_IDS, beforeSummary: [] };
const TAG: Record<string, number> = { P: 3, '/P': 4, '<': 5, '>': 6, S: 7, '/S': 8, e: 2 };

/** Behaviour of a response in which each word is a token: tags as in `TAG`, any other word its own text. */
function of(text: string, gold = '7', final: string | null = null) {
  const words = text.split(' ');
  const response = words.map((word, i) => TAG[word] ?? 100 + i);
  const decode = (list: number[]) => list.map((id) => (id >= 100 ? words[id - 100] : '')).join('');
  return behaviourOf(response, treeOf(response, 0, ids, decode), ids, signedChain, gold, final);
}

test('a response without a block has a length and nothing else', () => {
  expect(of('+3=3 +4=7 e')).toEqual({
    length: 3,
    blocks: 0,
    relativePosition: null,
    firstRelativePosition: null,
    late: null,
    pathAgreement: null,
    answerDisagreement: null,
    pathAccuracy: null,
    verification: null,
    finalBefore: null,
    rightBefore: null,
    rederived: null,
    selfBleu: null,
    perBlock: [],
  });
});

test('an early fork that explores; one path of two is right', () => {
  // 12 tokens, <Parallel> at 0
  const { perBlock, ...rest } = of('P < +3=3 > < +3=7 > /P S v /S e');
  // "+ 3 = 3" against "+ 3 = 7": 3/4, 2/3, 1/2 of the n-grams, and none of the one 4-gram (smoothed: 1/2)
  const alike = (3 / 4) * (2 / 3) * (1 / 2) * (1 / 2);
  expect(rest).toEqual({
    length: 12,
    blocks: 1,
    relativePosition: 0,
    firstRelativePosition: 0,
    late: false,
    pathAgreement: 0,
    answerDisagreement: 1,
    pathAccuracy: 0.5,
    verification: 0,
    finalBefore: 0,
    rightBefore: 0,
    rederived: null,
    selfBleu: alike ** (1 / 4),
  });
  expect(perBlock).toEqual([
    {
      position: 0,
      verifies: false,
      before: null,
      finalBefore: false,
      rightBefore: false,
      answers: ['3', '7'],
      agrees: false,
      disagrees: true,
      rederived: null,
      selfBleu: alike ** (1 / 4),
    },
  ]);
});

test('a late fork that verifies; both paths agree and are right', () => {
  // 14 tokens, <Parallel> at 2
  const { firstRelativePosition, late, ...rest } = of('+3=3 +4=7 P < +3=7 > < +3=7 > /P S v /S e');
  expect(firstRelativePosition).toBeCloseTo(2 / 14, 12);
  expect(late).toBe(false); // 0.143 ≤ 0.15
  expect(rest).toMatchObject({ length: 14, pathAgreement: 1, pathAccuracy: 1, verification: 1 });
  // One token more before it: 3 / 15 = 0.2
  expect(of('+3=3 +4=6 +1=7 P < +3=7 > < +3=7 > /P S v /S e').late).toBe(true);
});

test('two blocks: means over blocks and paths, the second one verifies the first', () => {
  // 11 + 14 + 1 tokens, <Parallel> at 0 and 11
  const two = of('P < =7 > < =7 > /P S v /S P < =7 > < =5 > < =3 > /P S v /S e');
  expect(two).toMatchObject({ blocks: 2, firstRelativePosition: 0, pathAgreement: 0.5, verification: 0.5 });
  expect(two.length).toBe(26);
  expect(two.relativePosition).toBeCloseTo(11 / 26 / 2, 12);
  expect(two.pathAccuracy).toBeCloseTo(3 / 5, 12);
});

describe('what stood before the fork', () => {
  const lastBlock = (text: string, gold: string, final: string | null) =>
    of(text, gold, final).perBlock.at(-1);

  test('a block that changes a wrong answer: paths that find another one', () => {
    expect(lastBlock('+3=3 +4=5 P < =7 > < =7 > /P S 5,7,7>7 /S e', '7', '7')).toMatchObject({
      verifies: true,
      before: '5',
      finalBefore: false,
      rightBefore: false,
      rederived: 0,
      disagrees: false,
    });
  });

  test('a block that confirms: one path of two re-derives the answer', () => {
    const one = of('+3=3 +4=7 P < =7 > < =5 > /P S 7,7,5>7 /S e', '7', '7');
    expect(one).toMatchObject({ finalBefore: 1, rightBefore: 1, rederived: 0.5, answerDisagreement: 1 });
  });

  test('a response that leaves its right answer for a wrong one', () => {
    expect(lastBlock('+3=3 +4=7 P < =5 > < =5 > /P S 7,5,5>5 /S e', '7', '5')).toMatchObject({
      before: '7',
      finalBefore: false,
      rightBefore: true,
      rederived: 0,
    });
  });

  test('a response without a final answer did not have it before', () => {
    expect(lastBlock('+3=3 +4=7 P < =7 > < =7 > /P S v /S', '7', null)).toMatchObject({
      finalBefore: false,
      rightBefore: true,
    });
  });

  test.each([
    ['the candidate that it ends in', 'P < =4 > < =14 > /P S 4,14>14 /S', '14'],
    ['not the end of a longer number', 'P < =4 > < =3 > /P S 4,3>14 /S', null],
    ['not a decimal part', 'P < =4 > < =3 > /P S 4,3>1.4 /S', null],
    ['nothing that no path said', 'P < =4 > < =3 > /P S 4,3>9 /S', null],
    ['a word is no candidate', 'P < a > < b > /P S a /S', null],
  ])('a summary concludes %s', (_, block, conclusion) => {
    expect(lastBlock(`${block} P < =14 > < =3 > /P S v /S e`, '14', conclusion)).toMatchObject({
      verifies: true,
      before: conclusion,
      finalBefore: conclusion !== null,
      rightBefore: conclusion === '14',
      rederived: conclusion === null ? null : 0.5,
    });
  });
});

test('identical paths have self-BLEU 1, a single path has none', () => {
  expect(of('P < =7 > < =7 > /P S v /S').selfBleu).toBe(1);
  expect(of('P < =7 > /P S v /S').selfBleu).toBeNull();
});

test('every block of any string of tags has its own place', () => {
  const rng = new Rng(5, 11);
  const words = ['P', '/P', '<', '>', 'S', '/S', 'e', '=7', 'a'];
  let blocks = 0;
  for (let n = 0; n < 2000; n++) {
    const text = Array.from({ length: 1 + rng.int(24) }, () => rng.pick(words));
    const { perBlock, firstRelativePosition } = of(text.join(' '));
    const places = perBlock.map(({ position }) => Math.round(position * text.length));
    for (const at of places) expect(text[at]).toBe('P');
    expect(places).toEqual([...new Set(places)].sort((a, b) => a - b));
    if (places.length > 0) expect(Math.round(firstRelativePosition! * text.length)).toBe(places[0]);
    blocks += places.length;
  }
  expect(blocks).toBeGreaterThan(1000);
});

describe('agreement', () => {
  test.each([
    ['no answer agrees with nothing', 'P < a > < b > /P S v /S', 0],
    ['an answer and none', 'P < =7 > < b > /P S v /S', 0],
    ['a single path', 'P < =7 > /P S v /S', 0],
    ['wrong together', 'P < =5 > < =5 > /P S v /S', 1],
    ['two of three', 'P < =5 > < =5 > < =7 > /P S v /S', 0],
  ])('%s', (_, text, agreement) => {
    expect(of(text).pathAgreement).toBe(agreement);
  });
});

test('a trunk that stops in the middle of a step has not arrived: its fork explores', () => {
  expect(of('+3=3 +4 P < =7 > < =7 > /P S v /S').verification).toBe(0);
});

test('a block that opens no path has no path accuracy', () => {
  const { perBlock, ...rest } = of('+3=3 P');
  expect(rest).toMatchObject({ blocks: 1, pathAgreement: 0, pathAccuracy: null, verification: 1 });
  expect(perBlock).toMatchObject([{ position: 1 / 2, answers: [], rederived: null, selfBleu: null }]);
});
