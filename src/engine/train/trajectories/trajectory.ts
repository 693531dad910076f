/** Short training runs whose losses and gradient norms are committed: a change of the training shows up here. */
import { expect } from 'vitest';
import tinyRecipe from '../../../../models/tiny-recipe.json' with { type: 'json' };
import { readModelFolder } from '../../model/checkpoint.ts';
import { fixtureBytes } from '../../tensor/fixture.ts';
import { loadTokenizer } from '../../tokenizer/hf-tokenizer.ts';
import { parseRecipe, type Recipe, type Stage } from '../recipe.ts';
import { runRecipe } from '../run.ts';
import type { LoadedModel } from '../setup.ts';

export interface TrajectoryPoint {
  loss: number;
  grad_norm: number;
  reward?: number;
  entropy?: number;
}

const tiny = parseRecipe(tinyRecipe);

/** Sequential and parallel documents on a scratch model of 24,000 parameters. */
export function sftRecipe(steps: number, over: Partial<Stage> = {}): Recipe {
  const stage = tiny.stages.find(({ name }) => name === 'sft-1')!;
  const changed = { ...stage, steps, warmupSteps: 3, batchSize: 8, learningRate: 3e-3, ...over } as Stage;
  return { ...tiny, evaluation: { ...tiny.evaluation, sets: [] }, stages: [changed] };
}

/** GRPO from the shipped base model, which is right often enough to have something to learn. */
export function grpoRecipe(steps: number): Recipe {
  const stage = tiny.stages.find(({ kind }) => kind === 'grpo')!;
  const changed = {
    ...stage,
    steps,
    promptsPerStep: 4,
    groupSize: 8,
    miniBatches: 2,
    learningRate: 2e-4,
    data: { task: 'signed-chain', difficulty: 'hard', terms: [3, 4], bigShare: 1 },
    reward: { kind: 'accuracy' },
    rollout: {
      ...('rollout' in stage ? stage.rollout : null),
      mode: 'sequential',
      maxTokens: 40,
      stepNoise: 0.07,
    },
  } as Stage;
  return {
    ...tiny,
    model: { source: 'shipped', name: 'base' },
    evaluation: { ...tiny.evaluation, sets: [] },
    stages: [changed],
  };
}

const urls = import.meta.glob<string>('../../../../models/base/*.{json,safetensors}', {
  query: '?url',
  import: 'default',
  eager: true,
});

export async function loadShipped(name: string): Promise<LoadedModel> {
  const files = new Map<string, ArrayBuffer>();
  for (const [path, url] of Object.entries(urls)) files.set(path.split('/').pop()!, await fixtureBytes(url));
  expect(name).toBe('base');
  const folder = readModelFolder(files);
  return { ...folder, tokenizer: loadTokenizer(folder.tokenizerJson, folder.tokenizerConfigJson) };
}

/** @param most steps after which the run is left */
export async function trajectory(
  recipe: Recipe,
  most = Number.POSITIVE_INFINITY,
): Promise<TrajectoryPoint[]> {
  const points: TrajectoryPoint[] = [];
  const { events } = runRecipe({
    recipe,
    scale: 1,
    resume: null,
    dropped: new Map(),
    droppedModel: null,
    loadShipped,
  });
  for await (const event of events) {
    if (event.type !== 'step') continue;
    const { loss, grad_norm, reward, entropy } = event.metrics;
    points.push({ loss: loss!, grad_norm: grad_norm!, reward, entropy });
    if (points.length >= most) break;
  }
  return points;
}

/** Point by point, relative to the size of the value (gradient norms wander more than losses). */
export function expectTrajectory(
  actual: readonly TrajectoryPoint[],
  committed: readonly TrajectoryPoint[],
  tolerance: number,
): void {
  expect(actual).toHaveLength(committed.length);
  committed.forEach((point, i) => {
    const label = (name: string) => `${name} of step ${i + 1}`;
    expect(Math.abs(actual[i].loss - point.loss), label('loss')).toBeLessThan(
      tolerance * Math.max(1, Math.abs(point.loss)),
    );
    expect(Math.abs(actual[i].grad_norm - point.grad_norm), label('norm')).toBeLessThan(
      10 * tolerance * point.grad_norm,
    );
    if (point.reward !== undefined) expect(actual[i].reward, label('reward')).toBe(point.reward);
  });
}
