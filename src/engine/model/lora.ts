/**
 * Low-rank adapters (LoRA, Hu et al. 2021, arXiv 2106.09685): W stays frozen and s·B·A is added, with A (r, I) drawn at
 * random, B (O, r) zero and s = α/r, as in Hugging Face's PEFT, whose names the tensors have.
 */
import { Rng } from '../../base/rng.ts';
import { Arena } from '../tensor/arena.ts';
import type { DeviceLimits } from '../tensor/device-buffer.ts';
import { type ModelConfig, tensorShapes } from './config.ts';

export interface LoraSettings {
  rank: number;
  alpha: number;
  /** Last parts of the names of the layers that get an adapter, e.g. `q_proj`. */
  targets: readonly string[];
}

/** Layers with an adapter and the shapes of their weights (O, I). */
function adaptedLayers(config: ModelConfig, { targets }: LoraSettings): Map<string, readonly number[]> {
  const layers = new Map<string, readonly number[]>();
  for (const [name, shape] of tensorShapes(config)) {
    const layer = name.replace(/\.weight$/, '');
    if (shape.length === 2 && targets.includes(layer.slice(layer.lastIndexOf('.') + 1)))
      layers.set(layer, shape);
  }
  return layers;
}

export class LoraArenas {
  readonly weights: Arena;
  readonly gradients: Arena;
  readonly scale: number;
  private readonly layers: Map<string, readonly number[]>;

  constructor(
    config: ModelConfig,
    private readonly settings: LoraSettings,
    limits: DeviceLimits,
  ) {
    this.layers = adaptedLayers(config, settings);
    this.scale = settings.alpha / settings.rank;
    const { rank } = settings;
    this.weights = new Arena(
      [...this.layers].flatMap(([layer, [O, I]]) => [
        { name: this.nameOf(layer, 'A'), shape: [rank, I] },
        { name: this.nameOf(layer, 'B'), shape: [O, rank] },
      ]),
      limits,
      'adapters',
    );
    this.gradients = this.weights.like('gradients of the adapters');
  }

  has(layer: string): boolean {
    return this.layers.has(layer);
  }

  nameOf(layer: string, part: 'A' | 'B'): string {
    return `${layer}.lora_${part}.weight`;
  }

  /** A uniform in ± 1/√I (PEFT's Kaiming initialisation with a = √5), B zero: the adapted model starts as the model. */
  initialise(device: GPUDevice, seed: number): void {
    [...this.layers].forEach(([layer, [, I]], index) => {
      const rng = new Rng(seed, index);
      const bound = 1 / Math.sqrt(I);
      const A = Float32Array.from({ length: this.settings.rank * I }, () => bound * (2 * rng.next() - 1));
      this.weights.write(device, this.nameOf(layer, 'A'), A);
    });
  }
}
