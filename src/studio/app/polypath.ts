/** `window.polypath`: what the page's buttons do, for headless runners, and what the page knows. */
import type { StudioState } from '../store/studio-state.ts';
import { client, commands, useStudio } from '../store/studio-store.ts';

const polypath = {
  ...commands,
  /** The page's state as it is drawn: device, run, stages, log of metrics, evaluations, last rollouts, data sets. */
  state: (): StudioState => useStudio.getState(),
  client,
  store: useStudio,
};

declare global {
  interface Window {
    polypath: typeof polypath;
  }
}

export function installCommands(): void {
  window.polypath = polypath;
}
