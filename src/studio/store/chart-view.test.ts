import { expect, test } from 'vitest';
import { readKept } from './chart-view.ts';

const usual = { smoothing: 0.9, axis: 'step', log: false };

test('what was chosen comes back', () => {
  const kept = { smoothing: 0, axis: 'tokens', log: true };
  expect(readKept(JSON.stringify(kept))).toEqual(kept);
});

test.each([null, '', '{', '[]', '{"smoothing":7,"axis":"weeks","log":"yes"}', '{"smoothing":"x"}'])(
  '%j leaves what is usual',
  (text) => {
    expect(readKept(text)).toEqual(usual);
  },
);
