/** One test body for every backend: going back to a copy in memory. */
import { expect } from 'vitest';
import tinyRecipe from '../../../models/tiny-recipe.json' with { type: 'json' };
import { signedChain } from '../data/tasks/signed-chain.ts';
import { Decoder } from '../model/decoder.ts';
import { initialWeights } from '../model/init.ts';
import { readFloatTensors } from '../model/safetensors.ts';
import { memory } from '../tensor/tfjs.ts';
import { loadTokenizer } from '../tokenizer/hf-tokenizer.ts';
import { taskTokenizerDocuments } from '../tokenizer/task-tokenizer.ts';
import { Rails } from './guards-rails.ts';
import { AdamW } from './optimizer.ts';
import { parseRecipe, type Recipe, type SftStage } from './recipe.ts';
import { saveRun } from './save.ts';
import { scratchConfig } from './setup.ts';
import { sft } from './sft.ts';
import { exampleSource } from './stage-data.ts';

const tiny = parseRecipe(tinyRecipe);
const supervised = tiny.stages.find(({ name }) => name === 'sft-1') as SftStage;

/**
 * Trains three steps, copies, trains on to see where it leads, wrecks the weights, goes back: everything is as it was,
 * and leads to the same losses.
 * @param tolerance of those losses: a GPU may add up in another order
 */
export async function goingBackIsExact(tolerance: number): Promise<void> {
  const { json, configJson } = taskTokenizerDocuments(signedChain);
  const tokenizer = loadTokenizer(json, configJson);
  const source = tiny.model as Extract<Recipe['model'], { source: 'scratch' }>;
  const config = scratchConfig(source, tokenizer.vocabSize);
  const before = memory().numTensors;
  const model = new Decoder(config, initialWeights(config, source, 1));
  const stage: SftStage = {
    ...supervised,
    steps: 5,
    batchSize: 4,
    warmupSteps: 0,
    schedule: 'constant',
    guards: { ...supervised.guards, nan: 'rollback' },
  };
  const optimizer = new AdamW(model, stage);
  const examples = exampleSource(tiny, 4, stage, tokenizer, new Map(), new Set());
  const rails = new Rails(stage);
  const train = async (firstStep: number, steps: number, learningRate = stage.learningRate) => {
    const losses: number[] = [];
    const run = sft({ model, optimizer, stage: { ...stage, steps, learningRate }, firstStep, examples });
    for await (const step of run) if (step) losses.push(step.metrics.loss!);
    return losses;
  };
  await train(0, 3);
  const place = { recipe: tiny, scale: 1, stage: 4, elapsedSeconds: 0, tokens: 0 };
  const copy = await saveRun(model, optimizer, { ...place, step: 3, rails: rails.state });
  expect(copy.optimizerSteps).toBe(3);
  rails.keep(copy);
  const onwards = await train(3, 5);
  const saved = readFloatTensors(copy.state, 'the copy');

  // One step at this rate leaves nothing of the weights, and NaN in those after it.
  await train(5, 7, 1e30);
  for (const [name, { data }] of await model.snapshot())
    expect(data, name).not.toEqual(saved.get(name)!.data);
  expect(rails.see(6, { loss: Number.NaN }).next).toBe('roll-back');
  expect(rails.goBack(model, optimizer)).toBe(3);
  expect(optimizer.steps).toBe(3);
  const restored = new Map([...(await model.snapshot()), ...(await optimizer.snapshot())]);
  expect([...restored.keys()].sort()).toEqual([...saved.keys()].sort());
  for (const [name, { data }] of restored) expect(data, name).toEqual(saved.get(name)!.data);
  const moments = [...restored].filter(([name]) => name.startsWith('adamw.'));
  expect(moments.some(([, { data }]) => data.some((x) => x !== 0))).toBe(true);

  // With the learning rate that it had, the same losses; the rails say half of it.
  const again = await train(3, 5);
  expect(again).toHaveLength(2);
  for (const [i, loss] of again.entries())
    expect(Math.abs(loss - onwards[i]), `loss of step ${4 + i}`).toBeLessThanOrEqual(tolerance);
  expect(rails.stage.learningRate).toBe(stage.learningRate / 2);
  optimizer.dispose();
  model.dispose();
  expect(memory().numTensors).toBe(before);
}
