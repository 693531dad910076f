/** Recipes that the page offers, and the one it makes for a dropped file. */

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
    evaluation: { sets: [], rollout: { mode: 'sequential', paths: 2, maxTokens: 256 } },
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
