/** Weights of a model that starts from nothing. */
import { Rng } from '../../base/rng.ts';
import { type ModelConfig, tensorShapes } from './config.ts';
import type { WeightArray } from './decoder.ts';

export interface InitSettings {
  /** Standard deviation of the embedding. */
  embeddingStd: number;
  /** Standard deviation of the head (untied models). */
  headStd: number;
}

/**
 * Linear weights N(0, 1/fan in); those that write into the residual stream (o and down) also times 1/√(2L), as in
 * GPT-2 (Radford et al. 2019, section 2.3); norms 1, biases 0.
 */
export function initialWeights(
  config: ModelConfig,
  settings: InitSettings,
  seed: number,
): Map<string, WeightArray> {
  const weights = new Map<string, WeightArray>();
  let index = 0;
  for (const [name, shape] of tensorShapes(config)) {
    const rng = new Rng(seed, 0x1217, index++);
    const data = new Float32Array(shape.reduce((a, b) => a * b, 1));
    if (name.endsWith('norm.weight')) data.fill(1);
    else if (!name.endsWith('.bias')) {
      let std = 1 / Math.sqrt(shape[1]);
      if (name.includes('embed_tokens')) std = settings.embeddingStd;
      else if (name === 'lm_head.weight') std = settings.headStd;
      else if (name.includes('o_proj') || name.includes('down_proj')) std /= Math.sqrt(2 * config.layers);
      for (let i = 0; i < data.length; i++) data[i] = std * rng.normal();
    }
    weights.set(name, { shape, data });
  }
  return weights;
}
