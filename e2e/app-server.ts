/** Builds the app into a folder of its own and serves it, so that a long run is not disturbed by another build. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, preview } from 'vite';

const root = fileURLToPath(new URL('..', import.meta.url));

export interface ServedApp {
  url: string;
  close(): Promise<void>;
}

export async function serveApp(): Promise<ServedApp> {
  const outDir = await mkdtemp(join(tmpdir(), 'polypath-app-'));
  await build({ root, logLevel: 'warn', build: { outDir, emptyOutDir: true } });
  const server = await preview({
    root,
    logLevel: 'warn',
    build: { outDir },
    preview: { port: 0, host: '127.0.0.1', open: false },
  });
  const address = server.httpServer.address();
  if (typeof address !== 'object' || address === null) throw new Error('The preview server has no address.');
  return {
    url: `http://127.0.0.1:${address.port}/`,
    async close() {
      await server.close();
      await rm(outDir, { recursive: true, force: true });
    },
  };
}
