import { expect, test } from 'vitest';
import { hrefOf, parseRoute, SCREENS } from './route.ts';

test.each(SCREENS)('%s has a URL that leads to it', (screen) => {
  expect(parseRoute(hrefOf(screen)).screen).toBe(screen);
});

test('parameters survive the way into a URL and back', () => {
  const { screen, params } = parseRoute(hrefOf('trajectories', { step: 40, prompt: '+20-3=?&#' }));
  expect(screen).toBe('trajectories');
  expect(Object.fromEntries(params)).toEqual({ step: '40', prompt: '+20-3=?&#' });
});

test.each(['', '#', '#/', '#/nowhere', '#recipe/x'])('%j leads home', (hash) => {
  expect(parseRoute(hash).screen).toBe('live');
});
