import { cpSync } from 'node:fs';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  base: './',
  plugins: [
    react(),
    {
      name: 'models',
      apply: 'build',
      closeBundle() {
        cpSync('models', 'dist/models', { recursive: true });
      },
    },
  ],
  worker: { format: 'es' },
  build: { target: 'es2023' },
});
