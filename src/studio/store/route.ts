/**
 * Where the person is: every state worth coming back to has a URL (`#/trajectories?step=40`). The hash, because a static
 * host knows one page only.
 */
import { useSyncExternalStore } from 'react';

export const SCREENS = ['recipe', 'live', 'trajectories', 'data', 'models', 'ask', 'runs'] as const;
export type Screen = (typeof SCREENS)[number];

export interface Route {
  screen: Screen;
  params: URLSearchParams;
}

const HOME: Screen = 'live';

/** Unknown screens lead home: an old link must not end in an empty page. */
export function parseRoute(hash: string): Route {
  const [path, query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const screen = SCREENS.find((one) => one === path) ?? HOME;
  return { screen, params: new URLSearchParams(query) };
}

export function hrefOf(screen: Screen, params: Readonly<Record<string, string | number>> = {}): string {
  const query = new URLSearchParams(Object.entries(params).map(([key, value]) => [key, String(value)]));
  return query.size > 0 ? `#/${screen}?${query}` : `#/${screen}`;
}

/** Goes to a screen; the browser's Back comes back. */
export function go(screen: Screen, params?: Readonly<Record<string, string | number>>): void {
  window.location.hash = hrefOf(screen, params);
}

/** Changes the parameters of the screen without a step in the history: a slider must not fill it. */
export function replaceParams(params: Readonly<Record<string, string | number>>): void {
  window.history.replaceState(null, '', hrefOf(current().screen, params));
  for (const listener of listeners) listener();
}

const listeners = new Set<() => void>();
let seen = { hash: '', route: parseRoute('') };

function current(): Route {
  const { hash } = window.location;
  // The same object for the same hash, or React would render for ever.
  if (seen.hash !== hash) seen = { hash, route: parseRoute(hash) };
  return seen.route;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener('hashchange', listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener('hashchange', listener);
  };
}

export const useRoute = (): Route => useSyncExternalStore(subscribe, current);
