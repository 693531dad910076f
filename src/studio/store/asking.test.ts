import { expect, test } from 'vitest';
import type { AskResult, AskView } from '../../worker/protocol.ts';
import { type Asking, initialAsking, modesOf, reduceAsking } from './asking.ts';

test('ways are asked in the order in which equal tokens can be counted', () => {
  expect(modesOf({ ways: ['vote', 'parallel', 'sequential'], votes: 3, paths: 4 })).toEqual([
    { kind: 'sequential' },
    { kind: 'parallel', decide: 'model', paths: 4 },
    { kind: 'vote', votes: 3 },
  ]);
  expect(modesOf({ ways: ['consensus', 'parallel'], votes: 2, paths: null })).toEqual([
    { kind: 'parallel', decide: 'model' },
    { kind: 'consensus', votes: 2, width: 2 },
  ]);
});

const asked: Asking = {
  ...initialAsking(),
  id: 'mine',
  going: true,
  columns: [
    { mode: { kind: 'sequential' }, view: null, result: null },
    { mode: { kind: 'vote', votes: 8 }, view: null, result: null },
  ],
};
const view = { trees: [], tokens: { total: 3, critical: 3 }, votes: [] } as AskView;
const result = { answer: '7' } as AskResult;

test('what is written comes into its column, and a vote at equal tokens says how many it had', () => {
  expect(reduceAsking(asked, { type: 'ask-view', id: 'mine', column: 1, view }).columns).toEqual([
    asked.columns[0],
    { ...asked.columns[1], view },
  ]);
  const mode = { kind: 'vote', votes: 2 } as const;
  const { columns } = reduceAsking(asked, { type: 'ask-result', id: 'mine', column: 1, mode, result });
  expect(columns![1]).toEqual({ mode, view: null, result });
  expect(reduceAsking(asked, { type: 'ask-done', id: 'mine', stopped: true, failure: null })).toEqual({
    going: false,
  });
});

test('a question that was asked before does not write into the one of now', () => {
  expect(reduceAsking(asked, { type: 'ask-view', id: 'old', column: 0, view })).toEqual({});
  expect(reduceAsking(asked, { type: 'ask-done', id: 'old', stopped: true, failure: null })).toEqual({});
  expect(reduceAsking(asked, { type: 'state', state: 'running' })).toEqual({});
});
