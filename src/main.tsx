import { createRoot } from 'react-dom/client';
import { App } from './studio/app/app.tsx';
import { commands } from './studio/store/studio-store.ts';

declare global {
  interface Window {
    /** The page's public commands: what its buttons do, for headless runners. */
    polypath: typeof commands;
  }
}

window.polypath = commands;
createRoot(document.getElementById('root')!).render(<App />);
