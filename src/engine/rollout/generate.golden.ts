/** Checks of the sampler and the state machine on a small random model; one body for every backend. */
import { expect } from 'vitest';
import type { ModelConfig } from '../model/config.ts';
import { Decoder } from '../model/decoder.ts';
import { initialWeights } from '../model/init.ts';
import { tokenLoss } from '../tensor/ops/token-loss/token-loss.ts';
import { memory, tf } from '../tensor/tfjs.ts';
import { TEST_IDS } from '../tokenizer/test-ids.ts';
import { type GenerateSettings, generate } from './generate.ts';
import type { Rollout } from './row.ts';
import { structureOf, visible } from './tree.ts';

export const IDS = TEST_IDS;

const CONFIG: ModelConfig = {
  architecture: 'qwen3',
  vocabSize: 16,
  hiddenSize: 16,
  intermediateSize: 24,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headDim: 6,
  ropeTheta: 100,
  rmsNormEps: 1e-6,
  tieWordEmbeddings: false,
  qkvBias: false,
  outputBias: false,
  mlpBias: false,
  qkNorm: true,
  maxPositions: 256,
};

/** A model whose tags are likely enough that forks happen: its head is random, not small. */
export function randomModel(seed: number): Decoder {
  return new Decoder(CONFIG, initialWeights(CONFIG, { embeddingStd: 1, headStd: 0.3 }, seed));
}

export const SETTINGS: GenerateSettings = {
  paths: 2,
  maxBlocks: 2,
  pathTokens: 10,
  summaryTokens: 6,
  maxTokens: 60,
  parallel: true,
  noise: null,
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
};

export async function rollOut(
  model: Decoder,
  settings: GenerateSettings,
  keys: readonly number[],
): Promise<Rollout[]> {
  // Prompts of different lengths, one with a literal tag in it that must not open a block.
  const prompts = [
    [1, 10, 11],
    [1, 12],
    [1, 3, 13, 14, 15],
  ];
  const rows = generate(
    model,
    keys.map((key, i) => ({ key, prompt: prompts[i % prompts.length] })),
    settings,
    IDS,
  );
  for (;;) {
    const next = await rows.next();
    if (next.done) return next.value;
  }
}

/**
 * The log-prob of every sampled token in the rollout equals that of the training pass on the finished sequence, and
 * positions and branch codes are those that the flat text has.
 * @returns blocks seen, so that a caller can see that the check met some
 */
export async function checkRollouts(model: Decoder, settings: GenerateSettings, keys: readonly number[]) {
  const before = memory().numTensors;
  const rollouts = await rollOut(model, settings, keys);
  const int = (values: ArrayLike<number>) => tf.tensor1d(Int32Array.from(values), 'int32');
  let worst = 0;
  let blocks = 0;
  for (const rollout of rollouts) {
    const { tokens, positions, branches, sampled, logp, promptLength } = rollout;
    const T = tokens.length;
    blocks += rollout.blocks;
    expect(T - promptLength).toBeLessThanOrEqual(settings.maxTokens);
    const inputs = [int(tokens), int(positions), int(branches)];
    const targets = int(Array.from(tokens, (_, i) => (sampled[i + 1] ? tokens[i + 1] : -1)));
    const trained = tf.tidy(() => {
      const batch = { B: 1, T, tokens: inputs[0], positions: inputs[1], branches: inputs[2] };
      return tokenLoss(model.hidden(batch), model.head, targets, settings.temperature || 1).logp;
    });
    const values = await trained.data();
    for (let t = 0; t + 1 < T; t++)
      if (sampled[t + 1]) worst = Math.max(worst, Math.abs(values[t] - logp[t + 1]));
    tf.dispose([...inputs, targets, trained]);
    checkStructure(rollout);
  }
  // Float32 on both sides; 1e-4 is what the project promises
  expect(worst).toBeLessThan(1e-4);
  expect(memory().numTensors).toBe(before);
  return { rollouts, blocks, worst };
}

function checkStructure({ tokens, positions, branches, promptLength, blocks }: Rollout): void {
  const response = Array.from(tokens.slice(promptLength));
  // A random model also writes tags where they mean nothing; the flat text is then read differently.
  const stray = strayTags(response);
  if (stray) return;
  const flat = structureOf(tokens, promptLength, IDS);
  expect(Array.from(flat.positions)).toEqual(Array.from(positions));
  expect(flat.blocks).toBe(blocks);
  for (let i = 0; i < tokens.length; i++)
    for (let j = 0; j <= i; j++) expect(visible(flat.branches, i, j)).toBe(visible(branches, i, j));
}

/** Does a tag stand where the grammar has no place for it? */
function strayTags(response: readonly number[]): boolean {
  let state = 'trunk';
  for (const token of response) {
    const next: Record<string, Record<number, string>> = {
      trunk: { [IDS.parallel]: 'block' },
      block: { [IDS.path]: 'path', [IDS.parallelEnd]: 'joined' },
      path: { [IDS.pathEnd]: 'block' },
      joined: { [IDS.summary]: 'summary' },
      summary: { [IDS.summaryEnd]: 'trunk' },
    };
    if (next[state][token]) state = next[state][token];
    else if (token >= IDS.parallel && token <= IDS.summaryEnd) return true;
  }
  return false;
}
