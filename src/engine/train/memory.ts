/**
 * GPU memory of a run before it starts, from the very builders that allocate it: what is told is what will be taken,
 * but for tfjs's own small buffers.
 */
import type { ModelConfig } from '../model/config.ts';
import { DeviceModel } from '../model/device-model.ts';
import { LoraArenas, type LoraSettings } from '../model/lora.ts';
import { buildDecodeStep, type RolloutShape, rolloutBuffers } from '../rollout/captured-rollouts.ts';
import { DeviceBuffer, type DeviceLimits } from '../tensor/device-buffer.ts';
import { bucketOf } from './buckets.ts';
import { buildMicroStep, inputBytes, stepBuffers } from './captured-learner.ts';

export interface TrainingShape {
  /** Rows and slots of a micro-batch. */
  B: number;
  T: number;
  lora?: LoraSettings | null;
  checkpointing?: boolean;
  /** Frozen matrices in half precision. */
  half?: boolean;
}

/** Bytes by what they are for. */
export interface MemoryEstimate {
  weights: number;
  gradients: number;
  moments: number;
  /** Temporaries of the largest micro-batch: activations, their gradients, a chunk of logits. */
  activations: number;
  inputs: number;
  total: number;
}

const withTotal = (parts: Omit<MemoryEstimate, 'total'>): MemoryEstimate => ({
  ...parts,
  total: Object.values(parts).reduce((sum, bytes) => sum + bytes, 0),
});

/** Memory of training steps on micro-batches of up to this shape. */
export function trainingMemory(
  config: ModelConfig,
  { B: rows, T: slots, lora: settings, checkpointing = false, half }: TrainingShape,
  limits: DeviceLimits,
): MemoryEstimate {
  const { B, T } = bucketOf({ B: rows, T: slots });
  const model = new DeviceModel(config, limits, { half });
  const lora = settings ? new LoraArenas(config, settings, limits) : null;
  const gradients = lora ? null : model.weights.like('gradients');
  const trained = lora?.weights ?? model.weights;
  const buffers = stepBuffers();
  const inputs = inputBytes(B * T);
  const graph = { model, gradients, lora, checkpointing, temperature: 1 };
  const plan = buildMicroStep(graph, B, T, new DeviceBuffer(inputs, 'inputs'), buffers);
  return withTotal({
    weights: model.bytes + (lora?.weights.bytes ?? 0),
    gradients: trained.bytes,
    moments: 2 * trained.bytes,
    activations: plan.layout().bytes,
    inputs: inputs + Object.values(buffers).reduce((sum, { bytes }) => sum + bytes, 0),
  });
}

/** Memory of rollouts of this shape beside the weights: key/value cache, records, and temporaries of a decode step. */
export function rolloutMemory(config: ModelConfig, shape: RolloutShape, limits: DeviceLimits): number {
  const model = new DeviceModel(config, limits);
  const buffers = rolloutBuffers(model, shape);
  const sampling = { temperature: 1, topK: 0, topP: 1, minP: 0 };
  const kept = Object.values(buffers).reduce((sum, { bytes }) => sum + bytes, 0);
  return kept + buildDecodeStep(model, buffers, shape, sampling).layout().bytes;
}
