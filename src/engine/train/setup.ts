/** What a run starts with: model, vocabulary and rollout settings, from the recipe's words. */
import { assert, UserError } from '../../base/assert.ts';
import type { Document } from '../data/example.ts';
import { taskNamed } from '../data/tasks/index.ts';
import type { Task } from '../data/tasks/task.ts';
import type { ModelConfig } from '../model/config.ts';
import type { WeightArray } from '../model/decoder.ts';
import { initialWeights } from '../model/init.ts';
import type { GenerateSettings } from '../rollout/generate.ts';
import { documentTokenizer } from '../tokenizer/for-documents.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import type { ModelSource, Recipe, RolloutSettings, Stage } from './recipe.ts';

/** A model with its tokenizer, however it was made. */
export interface LoadedModel {
  config: ModelConfig;
  weights: ReadonlyMap<string, WeightArray>;
  tokenizer: Tokenizer;
}

/** Where a model may come from besides from nothing. */
export interface ModelSources {
  /** Fetches a model that is served with the page. */
  loadShipped(name: string): Promise<LoadedModel>;
  /** Fetches a model of the Hugging Face Hub, or opens it where it is kept. */
  loadHub?(name: string, revision?: string): Promise<LoadedModel>;
  /** The model that was dropped on the page. */
  droppedModel: LoadedModel | null;
  /** The rows that were dropped on the page, whose characters a new vocabulary may need. */
  documents: Iterable<Document>;
}

export async function initialModel(recipe: Recipe, sources: ModelSources): Promise<LoadedModel> {
  const source = recipe.model;
  if (source.source === 'shipped') return sources.loadShipped(source.name);
  if (source.source === 'hub') {
    if (!sources.loadHub)
      throw new UserError(
        `The recipe starts from ${source.name} of the Hugging Face Hub, which can't be reached from here. Download its folder and drop it, with "model": {"source": "dropped"}.`,
      );
    return sources.loadHub(source.name, source.revision);
  }
  if (source.source === 'dropped') {
    if (!sources.droppedModel)
      throw new UserError(
        'The recipe starts from a dropped model, but none is loaded. Drop its folder on the page first.',
      );
    return sources.droppedModel;
  }
  const tokenizer = documentTokenizer(source.vocabulary, recipeTask(recipe), sources.documents);
  const config = scratchConfig(source, tokenizer.vocabSize);
  return { config, tokenizer, weights: initialWeights(config, source, recipe.seed) };
}

/** The built-in task that a recipe trains on: that of its first stage with one, or null. */
export function recipeTask(recipe: Recipe): Task | null {
  for (const stage of recipe.stages) {
    if (stage.kind === 'grpo') return taskNamed(stage.data.task);
    if (stage.data.source === 'task') return taskNamed(stage.data.task);
  }
  return null;
}

export function scratchConfig(
  source: Extract<ModelSource, { source: 'scratch' }>,
  vocabSize: number,
): ModelConfig {
  return {
    architecture: source.architecture,
    vocabSize,
    hiddenSize: source.hiddenSize,
    intermediateSize: source.intermediateSize,
    layers: source.layers,
    heads: source.heads,
    kvHeads: source.kvHeads,
    headDim: source.headDim ?? source.hiddenSize / source.heads,
    ropeTheta: source.ropeTheta,
    rmsNormEps: source.rmsNormEps,
    tieWordEmbeddings: source.tieWordEmbeddings,
    qkvBias: source.architecture === 'qwen2',
    outputBias: false,
    mlpBias: false,
    qkNorm: source.architecture === 'qwen3',
    maxPositions: source.maxPositions,
  };
}

/** The recipe's rollout settings in token ids. */
export function generateSettings(
  rollout: RolloutSettings,
  task: Task,
  tokenizer: Tokenizer,
  { positions, pathStride }: Pick<Recipe['structure'], 'positions' | 'pathStride'>,
): GenerateSettings {
  const noise = rollout.stepNoise > 0 ? task.stepNoise(rollout.stepNoise) : null;
  const id = (token: string) => {
    const found = tokenizer.id(token);
    assert(found >= 0, `the vocabulary has no token ${token}`);
    return found;
  };
  return {
    paths: rollout.paths,
    pathStride: positions === 'disjoint' ? pathStride : 0,
    maxBlocks: rollout.maxBlocks,
    pathTokens: rollout.pathTokens,
    summaryTokens: rollout.summaryTokens,
    maxTokens: rollout.maxTokens,
    parallel: rollout.mode === 'parallel',
    temperature: rollout.temperature,
    topK: rollout.topK,
    topP: rollout.topP,
    minP: rollout.minP,
    noise: noise && {
      after: id(noise.after),
      replacements: noise.replacements.map(id),
      probability: noise.probability,
    },
  };
}

/** How a stage's model is asked: in parallel only once some stage has shown it how. */
export function evaluationRollout(recipe: Recipe, stage: Stage, stageIndex: number): RolloutSettings {
  const { rollout } = recipe.evaluation;
  if (stage.kind === 'grpo') return { ...rollout, mode: stage.rollout.mode };
  const shown = recipe.stages
    .slice(0, stageIndex + 1)
    .some(({ data }) => 'mix' in data && data.mix.some((part) => part.kind === 'parallel'));
  // A model from elsewhere has been through its own base stages; nobody knows what it was shown.
  return shown || recipe.model.source !== 'scratch' ? rollout : { ...rollout, mode: 'sequential' };
}
