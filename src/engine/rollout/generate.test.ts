import { beforeAll, describe, expect, test } from 'vitest';
import { openBackend } from '../tensor/device.ts';
import { checkRollouts, IDS, randomModel, rollOut, SETTINGS } from './generate.golden.ts';

const keys = (from: number, n: number) => Array.from({ length: n }, (_, i) => from + 7919 * i);

describe.each(['cpu', 'wasm'] as const)('rollouts on %s', (backend) => {
  beforeAll(async () => {
    await openBackend(backend);
  });

  test.each([1, 2, 3, 5, 8])('%i paths: sampled log-probs are those of the training pass', async (paths) => {
    const model = randomModel(paths);
    const settings = { ...SETTINGS, paths, maxBlocks: 3, maxTokens: 100, temperature: 1.3 };
    const { blocks, rollouts } = await checkRollouts(model, settings, keys(paths, 12));
    expect(blocks).toBeGreaterThan(0);
    for (const { tokens, promptLength } of rollouts) {
      // Every block that was opened by the machine has exactly `paths` injected <Path> tags of its own.
      const codes = new Set(Array.from(tokens.slice(promptLength)).filter((token) => token === IDS.path));
      expect(codes.size).toBeLessThanOrEqual(1);
    }
    model.dispose();
  });
});

describe('rollouts', () => {
  beforeAll(async () => {
    await openBackend('wasm');
  });

  test('the same keys draw the same rollouts, alone or among others', async () => {
    const model = randomModel(4);
    const all = await rollOut(model, SETTINGS, keys(1, 9));
    const again = await rollOut(model, SETTINGS, keys(1, 9));
    expect(again).toEqual(all);
    const first = await rollOut(model, SETTINGS, keys(1, 3));
    expect(first.map((r) => Array.from(r.tokens))).toEqual(all.slice(0, 3).map((r) => Array.from(r.tokens)));
    const other = await rollOut(model, SETTINGS, keys(2, 9));
    expect(other.map((r) => Array.from(r.tokens))).not.toEqual(all.map((r) => Array.from(r.tokens)));
    model.dispose();
  });

  test('sequential mode never opens a block, and the limit of blocks holds', async () => {
    const model = randomModel(5);
    const sequential = await checkRollouts(model, { ...SETTINGS, parallel: false }, keys(3, 12));
    expect(sequential.blocks).toBe(0);
    for (const { tokens, promptLength } of sequential.rollouts)
      expect(Array.from(tokens.slice(promptLength))).not.toContain(IDS.parallel);
    const one = await rollOut(model, { ...SETTINGS, maxBlocks: 1 }, keys(3, 12));
    expect(Math.max(...one.map((r) => r.blocks))).toBe(1);
    model.dispose();
  });

  test('budgets close paths and summaries; nothing is cut open', async () => {
    const model = randomModel(6);
    const settings = { ...SETTINGS, paths: 3, pathTokens: 4, summaryTokens: 3, maxTokens: 40 };
    const { rollouts, blocks } = await checkRollouts(model, settings, keys(5, 24));
    expect(blocks).toBeGreaterThan(0);
    expect(rollouts.some((r) => r.truncated)).toBe(true);
    for (const { branches, tokens, sampled, logp } of rollouts) {
      const codes = Array.from(branches);
      for (const code of new Set(codes.filter((c) => c !== 0))) {
        const last = codes.lastIndexOf(code);
        expect(tokens[codes.indexOf(code)]).toBe(IDS.path);
        expect(tokens[last]).toBe(IDS.pathEnd);
        expect(last - codes.indexOf(code)).toBeLessThanOrEqual(settings.pathTokens + 1);
      }
      sampled.forEach((own, i) => {
        if (!own) expect(logp[i]).toBe(0);
      });
    }
    model.dispose();
  });

  test('step noise replaces at its rate, and what it replaced is not trained', async () => {
    const model = randomModel(7);
    const noise = { after: 10, replacements: [15], probability: 1 };
    const rollouts = await rollOut(model, { ...SETTINGS, parallel: false, noise }, keys(9, 12));
    let hits = 0;
    for (const { tokens, sampled, promptLength } of rollouts)
      for (let t = promptLength + 1; t < tokens.length; t++)
        if (tokens[t - 1] === 10) {
          hits++;
          expect([tokens[t], sampled[t]]).toEqual([15, 0]);
        }
    expect(hits).toBeGreaterThan(5);
    model.dispose();
  });

  test('a response that cannot fit into the positions is refused with a sentence', async () => {
    const model = randomModel(8);
    await expect(rollOut(model, { ...SETTINGS, maxTokens: 1000 }, [1])).rejects.toThrow(
      /positions.*maxTokens/s,
    );
    // Disjoint paths reach further than their slots.
    await expect(rollOut(model, { ...SETTINGS, pathStride: 100 }, [1])).rejects.toThrow(
      /positions.*structure\.pathStride/s,
    );
    model.dispose();
  });
});
