import { expect, test } from 'vitest';
import { equivalent } from '../reward/answer-value.ts';
import type { RolloutTree } from '../rollout/tree.ts';
import { derivedAnswers, elect, leading } from './vote.ts';

const same = (a: string, b: string) => a === b;

test('votes are counted per answer; the first seen leads among equals; null does not vote', () => {
  expect(leading(['3', null, '5', '5', '3', '7'], same)).toEqual([
    { answer: '3', count: 2, by: [0, 4] },
    { answer: '5', count: 2, by: [2, 3] },
    { answer: '7', count: 1, by: [5] },
  ]);
  expect(leading([null, null], same)).toEqual([]);
});

test('answers that mean the same vote together, however they are written', () => {
  expect(leading(['1/2', '7', '0.5', '\\frac{1}{2}'], equivalent)).toMatchObject([
    { answer: '1/2', count: 3 },
    { answer: '7', count: 1 },
  ]);
});

test('preference decides a tie and nothing else', () => {
  const likes = (wanted: string) => (vote: { answer: string }) => Number(vote.answer === wanted);
  expect(elect(['3', '5', '5'], same, likes('3'))).toEqual({ answer: '5', tied: false });
  expect(elect(['3', '5', '5', '3', '7'], same, likes('5'))).toEqual({ answer: '5', tied: true });
  expect(elect(['3', '5', '5', '3', '7'], same, likes('7'))).toEqual({ answer: '3', tied: true });
  expect(elect([null], same, likes('3'))).toEqual({ answer: null, tied: false });
});

test('derivations: the trunk before the last block where it arrives, and every path', () => {
  const segment = (kind: 'trunk' | 'path' | 'summary', text: string) => ({
    kind,
    text,
    block: 0,
    path: 0,
    tokens: 1,
    open: false,
  });
  const arrivesAt = (text: string) => /=(\d+)$/.exec(text)?.[1] ?? null;
  const tree = (...segments: ReturnType<typeof segment>[]): RolloutTree => ({ segments, blocks: [] });
  const late = tree(
    segment('trunk', '+1=1'),
    segment('path', '+1=2'),
    segment('path', '+1'),
    segment('summary', '=9'),
    segment('trunk', 'so'),
    segment('path', '+1=4'),
    segment('trunk', '=8'),
  );
  // The trunk's "so" arrives at nothing and is no derivation; a path that arrives at nothing is one.
  expect(derivedAnswers(late, arrivesAt)).toEqual(['1', '2', null, '4']);
  expect(derivedAnswers(tree(segment('trunk', '+1=1')), arrivesAt)).toEqual([]);
});
