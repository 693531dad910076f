/**
 * Where a model lies in GPU memory: all weights in one arena, matrices before norms and biases (so that weight decay is
 * a range), and the rotation tables. Nothing is allocated until `allocate`: the same object serves to plan memory.
 */

import { float32ToF16 } from '../../base/half.ts';
import { Arena } from '../tensor/arena.ts';
import type { DeviceLimits } from '../tensor/device-buffer.ts';
import { ropeTableValues } from '../tensor/ops/rope-attention/rope-tables.ts';
import { type ModelConfig, tensorShapes } from './config.ts';

/** Norm weights and biases, which weight decay usually leaves alone. */
export function isNormOrBias(name: string): boolean {
  return name.endsWith('norm.weight') || name.endsWith('.bias');
}

export interface DeviceModelOptions {
  /** Keeps the matrices of the layers as float16, two a word: half the memory for weights that stay frozen. */
  half?: boolean;
}

export class DeviceModel {
  readonly weights: Arena;
  /** `cos` and `sin`, each (P, D/2). */
  readonly tables: Arena;
  private readonly shapes: ReadonlyMap<string, readonly number[]>;

  constructor(
    readonly config: ModelConfig,
    readonly limits: DeviceLimits,
    private readonly options: DeviceModelOptions = {},
  ) {
    this.shapes = tensorShapes(config);
    const entries = [...this.shapes].map(([name, shape]) => ({
      name,
      shape: this.isHalf(name) ? [shape[0], shape[1] / 2] : shape,
    }));
    this.weights = new Arena(
      [
        ...entries.filter(({ name }) => !isNormOrBias(name)),
        ...entries.filter(({ name }) => isNormOrBias(name)),
      ],
      limits,
      'weights',
    );
    const shape = [config.maxPositions, config.headDim / 2];
    this.tables = new Arena(
      ['cos', 'sin'].map((name) => ({ name, shape })),
      limits,
      'rotation tables',
    );
  }

  /** Whether a weight lies there as float16, as int32 (O, I/2). */
  isHalf(name: string): boolean {
    const shape = this.shapes.get(name);
    return (
      this.options.half === true &&
      name.startsWith('model.layers.') &&
      shape?.length === 2 &&
      shape[1] % 2 === 0
    );
  }

  /** Puts a weight in its place. */
  write(device: GPUDevice, name: string, data: Float32Array): void {
    if (!this.isHalf(name)) this.weights.write(device, name, data);
    else this.weights.write(device, name, new Float32Array(float32ToF16(data).bits.slice().buffer));
  }

  /** How many numbers of each buffer of the arena of weights decay: those before its first norm or bias. */
  decayEnds(decayNorms: boolean): number[] {
    return this.weights.buffers.map((buffer) => {
      let end = buffer.bytes / 4;
      if (decayNorms) return end;
      for (const name of this.shapes.keys())
        if (isNormOrBias(name))
          for (const slice of this.weights.all(name))
            if (slice.buffer === buffer) end = Math.min(end, slice.offset / 4);
      return end;
    });
  }

  allocate(device: GPUDevice): void {
    this.weights.allocate(device);
    this.tables.allocate(device);
    const { maxPositions, headDim, ropeTheta } = this.config;
    const { cos, sin } = ropeTableValues(maxPositions, headDim, ropeTheta);
    this.tables.write(device, 'cos', cos);
    this.tables.write(device, 'sin', sin);
  }

  get bytes(): number {
    return this.weights.bytes + this.tables.bytes;
  }

  destroy(): void {
    this.weights.destroy();
    this.tables.destroy();
  }
}
