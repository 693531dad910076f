/** A run on disk: the model as a Hugging Face folder, and saves from which it goes on exactly. */
import { writeModelFolder } from '../model/checkpoint.ts';
import type { Decoder } from '../model/decoder.ts';
import { writeSafetensors } from '../model/safetensors.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import type { SavedFile, SavedRun } from './events.ts';
import type { AdamW } from './optimizer.ts';
import { referenceArrays } from './reference.ts';

/** config.json, model.safetensors, tokenizer.json and what else transformers looks for. */
export async function modelFolder(model: Decoder, tokenizer: Tokenizer): Promise<SavedFile[]> {
  const files = writeModelFolder({ config: model.config, weights: await model.snapshot(), tokenizer });
  return [...files].map(([path, bytes]) => ({ path, bytes: bytes.slice().buffer as ArrayBuffer }));
}

/**
 * @param optimizer null between two stages: each starts with fresh moments
 * @param reference the frozen policy of a stage with a KL term, which goes into the save
 */
export async function saveRun(
  model: Decoder,
  optimizer: AdamW | null,
  place: Omit<SavedRun, 'state' | 'optimizerSteps'>,
  reference: Decoder | null = null,
): Promise<SavedRun> {
  const arrays = new Map([
    ...(await model.snapshot()),
    ...((await optimizer?.snapshot()) ?? []),
    ...(reference ? await referenceArrays(reference) : []),
  ]);
  return {
    ...place,
    optimizerSteps: optimizer?.steps ?? 0,
    state: writeSafetensors(arrays).bytes.buffer,
  };
}
