import { describe, expect, test } from 'vitest';
import { signedChain } from '../data/tasks/signed-chain.ts';
import { treeOf } from '../rollout/tree.ts';
import { TEST_IDS } from '../tokenizer/test-ids.ts';
import { behaviourOf } from './behaviour.ts';

const ids = { ...TEST_IDS, beforeSummary: [] };
const TAG: Record<string, number> = { P: 3, '/P': 4, '<': 5, '>': 6, S: 7, '/S': 8, e: 2 };

/** Behaviour of a response in which each word is a token: tags as in `TAG`, any other word its own text. */
function of(text: string, gold = '7') {
  const words = text.split(' ');
  const response = words.map((word, i) => TAG[word] ?? 100 + i);
  const decode = (list: number[]) => list.map((id) => (id >= 100 ? words[id - 100] : '')).join('');
  return behaviourOf(response, treeOf(response, 0, ids, decode), ids, signedChain, gold);
}

test('a response without a block has a length and nothing else', () => {
  expect(of('+3=3 +4=7 e')).toEqual({
    length: 3,
    blocks: 0,
    relativePosition: null,
    firstRelativePosition: null,
    late: null,
    pathAgreement: null,
    pathAccuracy: null,
    verification: null,
  });
});

test('an early fork that explores; one path of two is right', () => {
  // 12 tokens, <Parallel> at 0
  expect(of('P < +3=3 > < +3=7 > /P S v /S e')).toEqual({
    length: 12,
    blocks: 1,
    relativePosition: 0,
    firstRelativePosition: 0,
    late: false,
    pathAgreement: 0,
    pathAccuracy: 0.5,
    verification: 0,
  });
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
  expect(of('+3=3 P')).toMatchObject({ blocks: 1, pathAgreement: 0, pathAccuracy: null, verification: 1 });
});
