import { createRoot } from 'react-dom/client';
import { App } from './studio/app/app.tsx';
import { installCommands } from './studio/app/polypath.ts';

installCommands();
createRoot(document.getElementById('root')!).render(<App />);
