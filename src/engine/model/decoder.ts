/**
 * One decoder for Llama, Qwen2 and Qwen3: which of biases, q/k norm and tied head it has is configuration. Names of
 * weights are Hugging Face's. Two ways through it, which give the same numbers: `hidden` for whole sequences
 * (training) and `decode` for single tokens against a key/value cache (rollouts).
 */
import { assert, UserError } from '../../base/assert.ts';
import { limitsOf } from '../tensor/device-buffer.ts';
import {
  cachedAttention,
  type LaneTensors,
  type LayerCache,
} from '../tensor/ops/cached-attention/cached-attention.ts';
import { embedding } from '../tensor/ops/embedding/embedding.ts';
import { linear } from '../tensor/ops/linear/linear.ts';
import { rmsNorm } from '../tensor/ops/rms-norm/rms-norm.ts';
import { ropeAttentionOp, ropeTables } from '../tensor/ops/rope-attention/rope-attention.ts';
import { swiglu } from '../tensor/ops/swiglu/swiglu.ts';
import { type Tensor, tf, type Variable } from '../tensor/tfjs.ts';
import type { PolypathBackend } from '../tensor/webgpu-backend.ts';
import { type ModelConfig, tensorShapes } from './config.ts';
import { DeviceModel } from './device-model.ts';

export interface WeightArray {
  shape: readonly number[];
  data: Float32Array;
}

/** A batch on the device; every tensor is int32 (N), N = B·T. */
export interface BatchTensors {
  B: number;
  T: number;
  tokens: Tensor;
  positions: Tensor;
  branches: Tensor;
}

/** Keys and values of `rows` trees of up to `slotsPerRow` tokens, one pair of tensors a layer. */
export interface DecodeCache {
  rows: number;
  slotsPerRow: number;
  layers: LayerCache[];
  branches: Tensor;
}

/** The WebGPU backend if that is what tfjs computes on, else null. */
export function webgpuBackend(): PolypathBackend | null {
  return tf.getBackend() === 'webgpu' ? (tf.backend() as unknown as PolypathBackend) : null;
}

type AttentionForm = (q: Tensor, k: Tensor, v: Tensor, layer: number) => Tensor;

export class Decoder {
  readonly config: ModelConfig;
  /** Every weight, by Hugging Face name, in file order. */
  readonly weights = new Map<string, Variable>();
  /** Where the weights lie on a GPU; the variables are then views of it. */
  readonly device: { backend: PolypathBackend; model: DeviceModel } | null;
  private readonly tables: { cos: Tensor; sin: Tensor };
  private readonly disposal: (() => void)[] = [];

  constructor(config: ModelConfig, weights: ReadonlyMap<string, WeightArray>) {
    this.config = config;
    for (const name of tensorShapes(config).keys())
      if (!weights.has(name))
        throw new UserError(`The model has no tensor "${name}", which its config.json asks for.`);
    const backend = webgpuBackend();
    this.device = backend && { backend, model: new DeviceModel(config, limitsOf(backend.device)) };
    this.device?.model.allocate(this.device.backend.device);
    for (const [name, shape] of tensorShapes(config)) {
      const tensor = this.place(name, shape, weights.get(name)!.data);
      if (!tensor) continue;
      this.weights.set(name, tf.variable(tensor, true));
      tensor.dispose();
    }
    this.tables = ropeTables(config.maxPositions, config.headDim, config.ropeTheta);
  }

  /** A tensor with these values: a view of the arena on a GPU (null where it is split there), else a copy. */
  private place(name: string, shape: readonly number[], data: Float32Array): Tensor | null {
    // AdamW writes in place, and the cpu backend would write into the caller's array.
    if (!this.device) return tf.tensor(data.slice(), [...shape], 'float32');
    const { backend, model } = this.device;
    model.write(backend.device, name, data);
    const slice = model.weights.whole(name);
    return slice && backend.view(slice);
  }

  private weight(name: string): Variable {
    const weight = this.weights.get(name);
    assert(weight, `no weight ${name}`);
    return weight;
  }

  /** The head (V, C): its own, or the embedding where they are tied. */
  get head(): Variable {
    return this.weight(this.config.tieWordEmbeddings ? 'model.embed_tokens.weight' : 'lm_head.weight');
  }

  /** x (N, C) through the layers and the final norm: (N, C). `attend` is told q, k and v before rotation. */
  private layers(x: Tensor, attend: AttentionForm, onHidden?: (name: string, x: Tensor) => void): Tensor {
    const { config } = this;
    const { headDim: D, heads: H, kvHeads: Hkv, rmsNormEps: eps } = config;
    const N = x.shape[0];
    onHidden?.('0', x);
    for (let layer = 0; layer < config.layers; layer++) {
      const w = (name: string) => this.weight(`model.layers.${layer}.${name}.weight`);
      const b = (name: string) => this.weights.get(`model.layers.${layer}.${name}.bias`) ?? null;
      const project = (input: Tensor, name: string) => linear(input, w(name), b(name));
      const h = rmsNorm(x, w('input_layernorm'), eps); // (N, C)
      let q = project(h, 'self_attn.q_proj'); // (N, H·D)
      let k = project(h, 'self_attn.k_proj'); // (N, Hkv·D)
      const v = project(h, 'self_attn.v_proj'); // (N, Hkv·D)
      if (config.qkNorm) {
        q = tf.reshape(rmsNorm(tf.reshape(q, [N * H, D]), w('self_attn.q_norm'), eps), [N, H * D]);
        k = tf.reshape(rmsNorm(tf.reshape(k, [N * Hkv, D]), w('self_attn.k_norm'), eps), [N, Hkv * D]);
      }
      x = tf.add(x, project(attend(q, k, v, layer), 'self_attn.o_proj')); // (N, C)
      const m = rmsNorm(x, w('post_attention_layernorm'), eps);
      const gated = swiglu(project(m, 'mlp.gate_proj'), project(m, 'mlp.up_proj')); // (N, F)
      x = tf.add(x, project(gated, 'mlp.down_proj')); // (N, C)
      onHidden?.(String(layer + 1), x);
    }
    const normed = rmsNorm(x, this.weight('model.norm.weight'), eps);
    onHidden?.('final_norm', normed);
    return normed;
  }

  /** Hidden states of whole sequences after the final norm: (N, C). `onHidden` sees each layer's residual stream. */
  hidden(batch: BatchTensors, onHidden?: (name: string, x: Tensor) => void): Tensor {
    const { heads: H, kvHeads: Hkv, headDim: D } = this.config;
    const { B, T, tokens, positions, branches } = batch;
    const { cos, sin } = this.tables;
    return this.layers(
      embedding(this.weight('model.embed_tokens.weight'), tokens),
      (q, k, v) => ropeAttentionOp([q, k, v, cos, sin, positions, branches], { B, T, H, Hkv, D })[0],
      onHidden,
    );
  }

  makeCache(rows: number, slotsPerRow: number): DecodeCache {
    const { kvHeads, headDim, layers } = this.config;
    const shape: [number, number] = [rows * slotsPerRow, kvHeads * headDim];
    return {
      rows,
      slotsPerRow,
      layers: Array.from({ length: layers }, () => ({ k: tf.zeros(shape), v: tf.zeros(shape) })),
      branches: tf.zeros([rows * slotsPerRow], 'int32'),
    };
  }

  disposeCache(cache: DecodeCache): void {
    for (const { k, v } of cache.layers) tf.dispose([k, v]);
    cache.branches.dispose();
  }

  /**
   * One token for each of N lanes, which join the cache.
   * @param tokens int32 (N)
   * @param wanted int32 (M): lanes whose next-token logits are asked for
   * @returns logits (M, V)
   */
  decode(cache: DecodeCache, tokens: Tensor, lanes: LaneTensors, wanted: Tensor): Tensor {
    const { heads: H, kvHeads: Hkv, headDim: D } = this.config;
    const { slotsPerRow } = cache;
    return tf.tidy(() => {
      const normed = this.layers(
        embedding(this.weight('model.embed_tokens.weight'), tokens),
        (q, k, v, layer) =>
          cachedAttention([q, k, v], cache.layers[layer], cache.branches, this.tables, lanes, {
            slotsPerRow,
            H,
            Hkv,
            D,
          }),
      );
      return linear(embedding(normed, wanted), this.head); // (M, V)
    });
  }

  /** Copies of all weights in host memory. */
  async snapshot(): Promise<Map<string, WeightArray>> {
    const copies = new Map<string, WeightArray>();
    for (const [name, shape] of tensorShapes(this.config)) {
      const weight = this.weights.get(name);
      const data = weight ? ((await weight.data()).slice() as Float32Array) : await this.readSplit(name);
      copies.set(name, { shape, data });
    }
    return copies;
  }

  private async readSplit(name: string): Promise<Float32Array> {
    assert(this.device, `no weight ${name}`);
    return this.device.backend.readSlices(this.device.model.weights.all(name));
  }

  /** What else goes with the model. */
  onDispose(listener: () => void): void {
    this.disposal.push(listener);
  }

  dispose(): void {
    for (const listener of this.disposal) listener();
    for (const weight of this.weights.values()) weight.dispose();
    tf.dispose([this.tables.cos, this.tables.sin]);
    this.device?.backend.flush();
    this.device?.model.destroy();
  }
}
