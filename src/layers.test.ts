/** The law of imports (ARCHITECTURE, section 2): a folder imports itself and what stands before it, never after. */
import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const LAYERS = [
  'base',
  'engine/tensor',
  'engine/data',
  'engine/tokenizer',
  'engine/model',
  'engine/rollout',
  'engine/reward',
  'engine/train',
  'worker',
  'studio/store',
  'studio/charts',
  'studio/ui',
  'studio/features',
  'studio/app',
];
/** The only doors from the page to the engine. */
const DOORS = ['worker/protocol', 'worker/engine-client'];
/** The only files that touch tfjs packages: tfjs.ts, and the parts of it that are loaded when a backend asks. */
const TFJS = /^engine\/tensor\/tfjs(-[\w-]+)?\.ts$/;

const layerOf = (path: string) => LAYERS.findIndex((layer) => path === layer || path.startsWith(`${layer}/`));
const featureOf = (path: string) => /^studio\/features\/([^/]+)\//.exec(path)?.[1];

/** What is wrong with the imports of a file (path below src/). */
function offences(file: string, source: string): string[] {
  const found: string[] = [];
  const own = layerOf(file);
  if (own < 0 && file.includes('/')) found.push(`${file} stands in no layer`);
  for (const [, target] of source.matchAll(/\b(?:from|import)\s*\(?\s*['"]([^'"\n]+)['"]/g)) {
    const say = (why: string) => found.push(`${file} imports ${target}: ${why}`);
    if (target.startsWith('@tensorflow/') && !TFJS.test(file)) say('only engine/tensor/tfjs*.ts may');
    if (!target.startsWith('.')) continue;
    const path = posix.join(posix.dirname(file), target.replace(/\?.*$/, '')).replace(/\.(ts|tsx|js)$/, '');
    // Files directly in src/ (main.tsx) stand after every layer; files outside of src/ are data.
    if (own < 0 || path.startsWith('..')) continue;
    if (layerOf(path) > own) say(`${LAYERS[own]} stands before ${LAYERS[layerOf(path)]}`);
    if (layerOf(path) < 0) say('it stands in no layer');
    if (file.startsWith('studio/') && /^(engine|worker)\//.test(path) && !DOORS.includes(path))
      say(`the studio reaches the engine only through ${DOORS.join(' and ')}`);
    if (featureOf(file) && featureOf(path) && featureOf(file) !== featureOf(path))
      say('features do not import each other');
  }
  return found;
}

test('every file keeps the law', () => {
  const root = fileURLToPath(new URL('.', import.meta.url));
  const files = (readdirSync(root, { recursive: true }) as string[])
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => /\.tsx?$/.test(path) && path !== 'layers.test.ts');
  expect(files.length).toBeGreaterThan(20);
  expect(files.flatMap((file) => offences(file, readFileSync(root + file, 'utf8')))).toEqual([]);
});

describe('the checker finds', () => {
  test.each([
    [
      'engine/model/x.ts',
      "import { sft } from '../train/sft.ts';",
      /engine\/model stands before engine\/train/,
    ],
    ['base/x.ts', "export * from '../engine/tensor/op.ts';", /base stands before engine\/tensor/],
    ['engine/train/x.ts', "import type {\n  A,\n} from '../../worker/protocol.ts';", /stands before worker/],
    [
      'studio/ui/x.tsx',
      "const x = await import('../features/live/live.tsx');",
      /studio\/ui stands before studio\/features/,
    ],
    [
      'studio/store/x.ts',
      "import { Recipe } from '../../engine/train/recipe.ts';",
      /only through worker\/protocol/,
    ],
    ['studio/app/x.ts', "import '../../worker/engine.worker.ts?worker';", /only through worker\/protocol/],
    [
      'studio/features/live/x.tsx',
      "import { Row } from '../data/row.tsx';",
      /features do not import each other/,
    ],
    [
      'engine/tensor/op.ts',
      'import * as tf from "@tensorflow/tfjs-core";',
      /only engine\/tensor\/tfjs\*\.ts may/,
    ],
    ['utils/x.ts', '', /stands in no layer/],
    ['base/x.ts', "import '../utils/x.ts';", /it stands in no layer/],
  ])('%s: %s', (file, source, offence) => {
    expect(offences(file, source)).toHaveLength(1);
    expect(offences(file, source)[0]).toMatch(offence);
  });

  test.each([
    ['main.tsx', "import { App } from './studio/app/app.tsx';"],
    [
      'studio/features/live/x.tsx',
      "import { y } from './y.ts'; import { Button } from '../../ui/button.tsx';",
    ],
    ['studio/store/x.ts', "import type { Recipe } from '../../worker/protocol.ts';"],
    ['engine/train/recipe.ts', "import recipe from '../../../models/default-recipe.json';"],
    ['engine/tensor/tfjs.ts', "import '@tensorflow/tfjs-core';"],
  ])('nothing in %s: %s', (file, source) => {
    expect(offences(file, source)).toEqual([]);
  });
});
