import { expect, test } from 'vitest';
import { nextTurn } from './use-turn.ts';

test('one view draws a tick, in turns; those with nothing new are passed over', () => {
  const drawn: string[] = [];
  const fresh = { a: true, b: false, c: true };
  const line = (['a', 'b', 'c'] as const).map((name) => () => {
    if (fresh[name]) drawn.push(name);
    return fresh[name];
  });
  for (let tick = 0; tick < 3; tick++) nextTurn(line);
  expect(drawn).toEqual(['a', 'c', 'a']);
  fresh.b = true;
  for (let tick = 0; tick < 3; tick++) nextTurn(line);
  expect(drawn.slice(3).sort()).toEqual(['a', 'b', 'c']);
  nextTurn([]);
});
