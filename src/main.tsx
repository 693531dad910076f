import { createRoot } from 'react-dom/client';
import { App } from './studio/app/app.tsx';
import { client, commands, useStudio } from './studio/store/studio-store.ts';

const polypath = { ...commands, client, store: useStudio };

declare global {
  interface Window {
    /** The page's public commands: what its buttons do, for headless runners. */
    polypath: typeof polypath;
  }
}

window.polypath = polypath;
createRoot(document.getElementById('root')!).render(<App />);
