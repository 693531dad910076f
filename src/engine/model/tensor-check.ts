/** Whether a file's tensors are those that a configuration asks for, told from their descriptions, before any is read. */
import { UserError } from '../../base/assert.ts';
import { type ModelConfig, tensorShapes } from './config.ts';

/** How many names one message lists. */
const MAX_NAMES = 5;

export const listNames = (names: readonly string[]): string =>
  names
    .slice(0, MAX_NAMES)
    .map((name) => `"${name}"`)
    .join(', ') + (names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '');

/** Four bytes each: what a page can hold. */
const MAX_PARAMETERS = 4e9;

const COUNTS = ['vocabSize', 'hiddenSize', 'intermediateSize', 'layers', 'heads', 'kvHeads'] as const;

/**
 * @param from the file or header that the configuration was read from, for the messages
 * @throws UserError that names a missing tensor, one of a wrong shape, or one that the configuration does not describe
 */
export function checkTensors(
  config: ModelConfig,
  tensors: ReadonlyMap<string, { shape: readonly number[] }>,
  from: string,
): void {
  for (const key of COUNTS)
    if (!Number.isSafeInteger(config[key]) || config[key] < 1)
      throw new UserError(`${from} gives ${key} as ${config[key]}, which must be a whole number above 0.`);
  // Also keeps a mad number of layers from listing names for ever.
  if (config.layers > tensors.size)
    throw new UserError(
      `${from} asks for ${config.layers.toLocaleString('en')} layers, but the model file holds only ${tensors.size} tensors. A shard is missing, or the files do not belong together.`,
    );
  const shapes = tensorShapes(config);
  const missing: string[] = [];
  let parameters = 0;
  for (const [name, shape] of shapes) {
    const tensor = tensors.get(name);
    if (!tensor) {
      missing.push(name);
      continue;
    }
    if (tensor.shape.length !== shape.length || tensor.shape.some((size, i) => size !== shape[i]))
      throw new UserError(
        `Tensor "${name}" has the shape [${tensor.shape}], but ${from} asks for [${shape}]. The files do not belong together.`,
      );
    parameters += shape.reduce((a, b) => a * b, 1);
  }
  if (missing.length)
    throw new UserError(
      `The model file lacks ${listNames(missing)}, which ${from} asks for. The files do not belong together, or a shard is missing.`,
    );
  // An unknown tensor (a bias, say) would be left out in silence and change what the model computes.
  const extra = [...tensors.keys()].filter(
    (name) =>
      !shapes.has(name) &&
      !name.endsWith('.rotary_emb.inv_freq') &&
      !(config.tieWordEmbeddings && name === 'lm_head.weight'),
  );
  if (extra.length)
    throw new UserError(`The model file holds ${listNames(extra)}, which ${from} does not describe.`);
  if (parameters > MAX_PARAMETERS)
    throw new UserError(
      `The model has ${(parameters / 1e9).toFixed(1)} billion parameters; a page can hold ${MAX_PARAMETERS / 1e9} billion at most. Use a smaller one.`,
    );
}
