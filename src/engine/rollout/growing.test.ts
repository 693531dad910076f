import { beforeAll, expect, test } from 'vitest';
import { openBackend } from '../tensor/device.ts';
import { IDS, randomModel, SETTINGS } from './generate.golden.ts';
import { generateStepByStep } from './generate.ts';
import { costSoFar } from './growing.ts';
import type { Row } from './row.ts';

beforeAll(async () => {
  await openBackend('wasm');
});

test.each([1, 3])('the cost of a growing row ends at that of its rollout (%i paths)', async (paths) => {
  const model = randomModel(paths);
  const prompts = [
    [1, 10, 11],
    [1, 12],
    [1, 3, 13, 14, 15],
  ];
  const requests = Array.from({ length: 12 }, (_, i) => ({ prompt: prompts[i % 3], key: 7919 * i + paths }));
  const settings = { ...SETTINGS, paths, maxBlocks: 3, maxTokens: 100, temperature: 1.3 };
  const growing = generateStepByStep(model, requests, settings, IDS);
  let rows: readonly Row[] = [];
  let before = rows.map(costSoFar);
  for (;;) {
    const next = await growing.next();
    if (next.done) {
      const blocks = next.value.map((rollout) => rollout.blocks);
      expect(blocks.filter((n) => n > 0).length).toBeGreaterThan(1);
      next.value.forEach(({ tokens, promptLength, critical }, i) => {
        expect(costSoFar(rows[i])).toEqual({ total: tokens.length - promptLength, critical });
      });
      break;
    }
    rows = next.value;
    const now = rows.map(costSoFar);
    // It never shrinks, and waiting is at most everything.
    before.forEach(({ total, critical }, i) => {
      expect(now[i].total).toBeGreaterThanOrEqual(total);
      expect(now[i].critical).toBeGreaterThanOrEqual(critical);
      expect(now[i].critical).toBeLessThanOrEqual(now[i].total);
    });
    before = now;
  }
  model.dispose();
});

test('a row that waits for its turn costs nothing', () => {
  expect(costSoFar({ prompt: [1, 2, 3], tokens: [], branches: [], done: false })).toEqual({
    total: 0,
    critical: 0,
  });
});
