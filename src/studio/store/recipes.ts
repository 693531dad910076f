/** Recipes that the page offers, and the one it makes for a dropped file and for a model. */
import type { ModelReport } from '../../worker/protocol.ts';

export interface OfferedRecipe {
  file: string;
  title: string;
  description: string;
}

/** The recipes that are served with the page. */
export async function offeredRecipes(): Promise<OfferedRecipe[]> {
  const response = await fetch('./models/index.json');
  if (!response.ok) throw new Error(`The list of recipes could not be loaded (status ${response.status}).`);
  return response.json();
}

/** The experiments that are served with the page. */
export async function offeredExperiments(): Promise<OfferedRecipe[]> {
  const response = await fetch('./models/experiments.json');
  if (!response.ok)
    throw new Error(`The list of experiments could not be loaded (status ${response.status}).`);
  return response.json();
}

export async function loadRecipe(file: string): Promise<unknown> {
  const response = await fetch(`./models/${file}`);
  if (!response.ok) throw new Error(`The recipe ${file} could not be loaded (status ${response.status}).`);
  return response.json();
}

/** Answers are learned, and nothing else is asked of the model. */
const NO_EVALUATION = { sets: [], rollout: { mode: 'sequential', paths: 2, maxTokens: 256 } };

/** Solutions of the built-in task, two in three of them with a parallel block. */
const BUILT_IN_TRAJECTORIES = {
  source: 'task',
  task: 'signed-chain',
  mix: [
    { kind: 'parallel', weight: 2, terms: [2, 3], bigShare: 0.25, templates: { E: 1, L: 1 }, paths: 2 },
    { kind: 'base', weight: 1, terms: [1, 2, 3] },
  ],
};

/**
 * A model that was loaded, made to continue the rows of a data set, or the trajectories of the built-in task where
 * there is none.
 */
export function modelRecipe(
  { name, source }: Pick<ModelReport, 'name' | 'source'>,
  dataset: string | null,
): unknown {
  const [hubName, revision] = name.split('@');
  return {
    version: 1,
    name: `Fine-tune ${name}`,
    seed: 0,
    model: source === 'hub' ? { source, name: hubName, ...(revision && { revision }) } : { source },
    stages: [
      {
        kind: 'sft',
        name: 'sft',
        data: dataset === null ? BUILT_IN_TRAJECTORIES : { source: 'dropped', name: dataset },
        steps: 100,
        batchSize: 4,
        learningRate: 5e-5,
        warmupSteps: 10,
        schedule: 'cosine',
        maxTokens: 512,
      },
    ],
    evaluation: NO_EVALUATION,
  };
}

/** A small model with a byte vocabulary that learns the answers of a dropped file. */
export function fileRecipe(name: string): unknown {
  return {
    version: 1,
    name: `Train on ${name}`,
    seed: 0,
    model: {
      source: 'scratch',
      vocabulary: 'bytes',
      architecture: 'llama',
      hiddenSize: 64,
      intermediateSize: 176,
      layers: 2,
      heads: 4,
      kvHeads: 4,
      ropeTheta: 10000,
      tieWordEmbeddings: true,
      maxPositions: 1024,
    },
    stages: [
      {
        kind: 'sft',
        name: 'sft',
        data: { source: 'dropped', name },
        steps: 200,
        batchSize: 4,
        learningRate: 1e-3,
        warmupSteps: 10,
        schedule: 'cosine',
        maxTokens: 384,
      },
    ],
    evaluation: NO_EVALUATION,
  };
}

/** The recipe in a file that a person chose; throws a sentence. */
export async function readRecipeFile(file: File): Promise<unknown> {
  try {
    return JSON.parse(await file.text());
  } catch (error) {
    throw new Error(`${file.name} is not a recipe: it is not JSON (${(error as Error).message}).`);
  }
}
