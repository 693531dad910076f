import { cpSync, createReadStream, existsSync, statSync } from 'node:fs';
import { join, normalize, resolve } from 'node:path';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/** Serves the shipped models and recipes under models/, in development and in the built page. */
function models(): Plugin {
  let target = '';
  let building = false;
  return {
    name: 'polypath-models',
    configResolved(config) {
      target = resolve(config.root, config.build.outDir);
      building = config.command === 'build' && !config.isWorker;
    },
    configureServer(server) {
      server.middlewares.use('/models', (request, response, next) => {
        const path = join('models', normalize(decodeURIComponent((request.url ?? '/').split('?')[0])));
        if (!existsSync(path) || !statSync(path).isFile()) return next();
        response.setHeader(
          'Content-Type',
          path.endsWith('.json') ? 'application/json' : 'application/octet-stream',
        );
        createReadStream(path).pipe(response);
      });
    },
    closeBundle() {
      if (building) cpSync('models', join(target, 'models'), { recursive: true });
    },
  };
}

export default defineConfig({
  // Relative: the page works from any folder of any static host.
  base: './',
  plugins: [react(), models()],
  worker: { format: 'es' },
  // Found before the page is served: packages that are met only when the worker starts would reload the page in dev,
  // just when a newcomer has pressed Start.
  optimizeDeps: { entries: ['index.html', 'src/worker/engine.worker.ts', 'src/engine/tensor/*.ts'] },
  build: { target: 'es2023', chunkSizeWarningLimit: 1200 },
});
