/**
 * The decoder as part of a captured step: forward and backward, written out for the plan builder. It computes what
 * `decoder.ts` computes through tfjs's tape (its slow truth), with fewer dispatches: q, k and v in one product, gate and up
 * in one, residuals added by the product that makes them, gradients added to where they belong.
 *
 * Every forward function returns its result and a `back` that takes the gradient of the result and returns that of the
 * input; weights' gradients grow in place on the way. Without gradients (`gradients` null) weights are frozen.
 */
import { assert } from '../../base/assert.ts';
import type { Arena, Slice } from '../tensor/arena.ts';
import { cachedAttentionPackedOp } from '../tensor/ops/cached-attention/cached-attention-packed.ts';
import { embeddingGradAddOp, embeddingOp, embeddingRowsOp } from '../tensor/ops/embedding/embedding.ts';
import { linearInputGradOp, linearOp, linearWeightGradAddOp } from '../tensor/ops/linear/linear.ts';
import { packColumnsOp } from '../tensor/ops/pack-columns/pack-columns.ts';
import { normGradAddOp } from '../tensor/ops/rms-norm/add-norm.ts';
import { rmsNormOp } from '../tensor/ops/rms-norm/rms-norm.ts';
import {
  attendGradOp,
  attendOp,
  rotatePackedGradOp,
  rotatePackedOp,
} from '../tensor/ops/rope-attention/packed-attention.ts';
import { ropeAttentionGradOp, ropeAttentionOp } from '../tensor/ops/rope-attention/rope-attention.ts';
import { swigluGradOp, swigluOp } from '../tensor/ops/swiglu/swiglu.ts';
import { swigluPackedGradOp, swigluPackedOp } from '../tensor/ops/swiglu/swiglu-packed.ts';
import { logitChunkGradOp, logitChunkOp, logitFinishOp } from '../tensor/ops/token-loss/logit-chunk.ts';
import { logitLossOp } from '../tensor/ops/token-loss/token-loss.ts';
import type { PlanBuilder, Value } from '../tensor/plan.ts';
import type { DeviceModel } from './device-model.ts';
import type { LoraArenas } from './lora.ts';

/** Most logits that exist at once: 4 M floats, 16 MB. */
export const CHUNK_LOGITS = 1 << 22;

export interface GraphOptions {
  /** Where gradients of the weights grow, in the layout of the weights; null freezes them. */
  gradients: Arena | null;
  lora: LoraArenas | null;
  /** Keep only what goes into each layer and compute the layer again on the way back (arXiv 1604.06174). */
  checkpointing: boolean;
  /** Most logits that exist at once; tests make it small. */
  chunkLogits?: number;
}

/** A batch of B rows of T slots, N = B·T; all int32 (N). */
export interface GraphBatch {
  B: number;
  T: number;
  tokens: Value;
  positions: Value;
  branches: Value;
}

/** A result and the way back through it: gradient of the result (and one to be added) to gradient of the input. */
interface Step {
  y: Value;
  back: (dy: Value, plus?: Value) => Value;
}

/** Keys and values of rows · slotsPerRow tokens: (S, Hkv·D) a layer, branch codes int32 (S). */
export interface GraphCache {
  slotsPerRow: number;
  layers: { k: Value; v: Value }[];
  branches: Value;
}

/** Attention of layer `layer` on its normed input; `at` is the prefix of its weights' names. */
type AttentionForm = (x: Value, at: string, layer: number) => Step;

export interface GraphLoss {
  logp: Value;
  entropy: Value;
  /** From the gradients of log-prob and entropy (N) to that of the hidden states (N, C). */
  back: (dlogp: Value, dentropy: Value) => Value;
}

export class DecoderGraph {
  constructor(
    private readonly b: PlanBuilder,
    private readonly model: DeviceModel,
    private readonly options: GraphOptions,
  ) {}

  private weight(name: string): Value {
    const slice = this.model.weights.whole(name);
    assert(slice, `weight ${name} is split over several buffers`);
    return this.value(slice, this.model.isHalf(name));
  }

  private value(slice: Slice, half = false): Value {
    const { buffer, offset, shape } = slice;
    return this.b.bind(buffer, shape, half ? 'int32' : 'float32', offset);
  }

  private gradient(name: string): Value | null {
    const slice = this.options.gradients?.whole(name);
    return slice ? this.b.slice(slice) : null;
  }

  /** Hidden states of whole sequences after the final norm (N, C), and the way back to the embedding. */
  hidden(batch: GraphBatch): { y: Value; back: (dy: Value) => void } {
    return this.run(batch.tokens, (x, at) => this.attention(x, at, batch));
  }

  /**
   * One token for each of N lanes, which join the cache; the way back is not for use.
   * @param lanes int32 (3, stride): positions, branch codes and slots; a lane whose slot is negative is idle
   * @returns logits (N, V)
   */
  decode(tokens: Value, lanes: Value, cache: GraphCache): Value {
    const { y } = this.run(tokens, (x, at, layer) => {
      const { heads: H, kvHeads: Hkv, headDim: D } = this.model.config;
      const { k, v } = cache.layers[layer];
      const { cos, sin } = this.rotation();
      const qkv = this.packed(x, at);
      const [out] = this.b.call(cachedAttentionPackedOp, [qkv, k, v, cache.branches, cos, sin, lanes], {
        slotsPerRow: cache.slotsPerRow,
        H,
        Hkv,
        D,
      });
      return { y: out, back: () => out };
    });
    return this.b.call(linearOp, [y, this.weight(this.headName)], {})[0];
  }

  private run(tokens: Value, attend: AttentionForm): { y: Value; back: (dy: Value) => void } {
    const { config } = this.model;
    const embedded = this.embed(tokens);
    let x = embedded.y;
    const layers: { input: Value; step: Step | null }[] = [];
    for (let layer = 0; layer < config.layers; layer++) {
      const step = this.layer(layer, x, attend);
      layers.push({ input: x, step: this.options.checkpointing ? null : step });
      x = step.y;
    }
    const normed = this.norm(x, 'model.norm');
    return {
      y: normed.y,
      back: (dy) => {
        let dx = normed.back(dy);
        for (let layer = config.layers - 1; layer >= 0; layer--) {
          const { input, step } = layers[layer];
          dx = (step ?? this.layer(layer, input, attend)).back(dx);
        }
        embedded.back(dx);
      },
    };
  }

  private embed(tokens: Value): { y: Value; back: (dy: Value) => void } {
    const name = 'model.embed_tokens.weight';
    const pieces = this.model.weights.all(name);
    let y: Value;
    if (pieces.length === 1) [y] = this.b.call(embeddingOp, [this.b.slice(pieces[0]), tokens], {});
    else {
      y = this.b.temporary([tokens.shape[0], this.model.config.hiddenSize]);
      for (const piece of pieces)
        this.b.call(embeddingRowsOp, [this.b.slice(piece), tokens, y], { firstRow: piece.firstRow });
    }
    return {
      y,
      back: (dy) => {
        for (const piece of this.options.gradients?.all(name) ?? [])
          this.b.call(embeddingGradAddOp, [tokens, dy, this.b.slice(piece)], { firstRow: piece.firstRow });
      },
    };
  }

  /** RMSNorm; `back` may add the gradient that comes past it. */
  private norm(x: Value, name: string): Step {
    const { b } = this;
    const w = this.weight(`${name}.weight`);
    const [y, inv] = b.call(rmsNormOp, [x, w], { eps: this.model.config.rmsNormEps });
    return {
      y,
      back: (dy, plus) => {
        // A frozen norm's gradient goes nowhere.
        const dw = this.gradient(`${name}.weight`) ?? b.temporary(w.shape);
        const inputs = [dy, x, w, inv, dw, ...(plus ? [plus] : [])];
        return b.call(normGradAddOp, inputs, { residual: plus !== undefined })[0];
      },
    };
  }

  /** x·Wᵀ (+ bias) (+ residual, whose gradient is that of the result). */
  private product(
    x: Value,
    w: Value,
    dw: Value | null,
    bias: Value | null,
    dbias: Value | null,
    residual?: Value,
  ): Step {
    const { b } = this;
    const half = w.dtype === 'int32';
    assert(!half || !dw, 'a weight in half precision cannot be trained');
    const inputs = [x, w, ...(bias ? [bias] : []), ...(residual ? [residual] : [])];
    const [y] = b.call(linearOp, inputs, { bias: bias !== null, residual: residual !== undefined, half });
    return {
      y,
      back: (dy, plus) => {
        if (dw)
          b.call(linearWeightGradAddOp, [dy, x, dw, ...(dbias ? [dbias] : [])], { bias: dbias !== null });
        return b.call(linearInputGradOp, [dy, w, ...(plus ? [plus] : [])], {
          residual: plus !== undefined,
          half,
        })[0];
      },
    };
  }

  /** One linear layer by its Hugging Face name, with its adapter if it has one. */
  private linear(x: Value, name: string, residual?: Value): Step {
    const { weights } = this.model;
    const biasName = `${name}.bias`;
    const has = weights.has(biasName);
    const base = this.product(
      x,
      this.weight(`${name}.weight`),
      this.gradient(`${name}.weight`),
      has ? this.weight(biasName) : null,
      has ? this.gradient(biasName) : null,
      residual,
    );
    return this.options.lora?.has(name) ? this.adapted(x, name, base, this.options.lora) : base;
  }

  /** y + s·(x·Aᵀ)·Bᵀ (LoRA, arXiv 2106.09685, equation 3). */
  private adapted(x: Value, name: string, base: Step, lora: LoraArenas): Step {
    const { b } = this;
    const piece = (arena: Arena, part: 'A' | 'B') => b.slice(arena.whole(lora.nameOf(name, part))!);
    const [A, B] = [piece(lora.weights, 'A'), piece(lora.weights, 'B')];
    const [dA, dB] = [piece(lora.gradients, 'A'), piece(lora.gradients, 'B')];
    const alpha = lora.scale;
    const [h] = b.call(linearOp, [x, A], { alpha }); // (N, r)
    const [y] = b.call(linearOp, [h, B, base.y], { bias: false, residual: true });
    return {
      y,
      back: (dy, plus) => {
        const [dh] = b.call(linearInputGradOp, [dy, B], {});
        b.call(linearWeightGradAddOp, [dy, h, dB], {});
        b.call(linearWeightGradAddOp, [dh, x, dA], { alpha });
        return b.call(linearInputGradOp, [dh, A, base.back(dy, plus)], { residual: true, alpha })[0];
      },
    };
  }

  /** Several linear layers of the same input as one product, where their weights lie stacked; else null. */
  private stacked(x: Value, names: readonly string[]): Step | null {
    const { weights } = this.model;
    const { gradients, lora } = this.options;
    if (names.some((name) => lora?.has(name))) return null;
    const stack = (arena: Arena, suffix: string) => arena.stacked(names.map((name) => `${name}.${suffix}`));
    const has = weights.has(`${names[0]}.bias`);
    const w = stack(weights, 'weight');
    const bias = has ? stack(weights, 'bias') : null;
    if (!w || (has && !bias)) return null;
    const dw = gradients && stack(gradients, 'weight');
    const dbias = gradients && has ? stack(gradients, 'bias') : null;
    const value = (slice: Slice | null) => slice && this.b.slice(slice);
    const half = this.model.isHalf(`${names[0]}.weight`);
    return this.product(x, this.value(w, half), value(dw), value(bias), value(dbias));
  }

  private layer(layer: number, x: Value, attend: AttentionForm): Step {
    const at = `model.layers.${layer}`;
    const norm1 = this.norm(x, `${at}.input_layernorm`);
    const attention = attend(norm1.y, `${at}.self_attn`, layer);
    const out = this.linear(attention.y, `${at}.self_attn.o_proj`, x);
    const norm2 = this.norm(out.y, `${at}.post_attention_layernorm`);
    const gated = this.gated(norm2.y, `${at}.mlp`);
    const down = this.linear(gated.y, `${at}.mlp.down_proj`, out.y);
    return {
      y: down.y,
      back: (dy) => {
        const dOut = norm2.back(gated.back(down.back(dy)), dy);
        return norm1.back(attention.back(out.back(dOut)), dOut);
      },
    };
  }

  private gated(x: Value, at: string): Step {
    const { b } = this;
    const both = this.stacked(x, [`${at}.gate_proj`, `${at}.up_proj`]);
    if (both) {
      const [y] = b.call(swigluPackedOp, [both.y], {});
      return { y, back: (dy) => both.back(b.call(swigluPackedGradOp, [dy, both.y], {})[0]) };
    }
    const gate = this.linear(x, `${at}.gate_proj`);
    const up = this.linear(x, `${at}.up_proj`);
    const [y] = b.call(swigluOp, [gate.y, up.y], {});
    return {
      y,
      back: (dy) => {
        const [dgate, dup] = b.call(swigluGradOp, [dy, gate.y, up.y], {});
        return up.back(dup, gate.back(dgate));
      },
    };
  }

  private attention(x: Value, at: string, { B, T, positions, branches }: GraphBatch): Step {
    const { b } = this;
    const { heads: H, kvHeads: Hkv, headDim: D } = this.model.config;
    const shape = { B, T, H, Hkv, D };
    const { cos, sin } = this.rotation();
    const packed = this.stackedQkv(x, at);
    if (packed) {
      const [q, k, v] = b.call(rotatePackedOp, [packed.y, cos, sin, positions], { H, Hkv, D });
      const [y, lse] = b.call(attendOp, [q, k, v, branches], shape);
      return {
        y,
        back: (dy) => {
          const [dq, dk, dv] = b.call(attendGradOp, [dy, q, k, v, branches, y, lse], shape);
          const [dqkv] = b.call(rotatePackedGradOp, [dq, dk, dv, cos, sin, positions], { H, Hkv, D });
          return packed.back(dqkv);
        },
      };
    }
    const { qn, kn, v } = this.separateQkv(x, at);
    const saved = [qn.y, kn.y, v.y, cos, sin, positions, branches];
    const [y, lse] = b.call(ropeAttentionOp, saved, shape);
    return {
      y,
      back: (dy) => {
        const [dq, dk, dv] = b.call(ropeAttentionGradOp, [dy, ...saved, y, lse], shape);
        return v.back(dv, kn.back(dk, qn.back(dq)));
      },
    };
  }

  private rotation(): { cos: Value; sin: Value } {
    const { tables } = this.model;
    return { cos: this.b.slice(tables.whole('cos')!), sin: this.b.slice(tables.whole('sin')!) };
  }

  /** q, k and v as one product, where nothing comes between them and attention. */
  private stackedQkv(x: Value, at: string): Step | null {
    if (this.model.config.qkNorm) return null;
    return this.stacked(
      x,
      ['q', 'k', 'v'].map((part) => `${at}.${part}_proj`),
    );
  }

  /** q and k (normed where the model norms them) and v by themselves. */
  private separateQkv(x: Value, at: string): { qn: Step; kn: Step; v: Step } {
    const { b } = this;
    const { heads: H, kvHeads: Hkv, headDim: D, qkNorm } = this.model.config;
    const [q, k, v] = ['q', 'k', 'v'].map((part) => this.linear(x, `${at}.${part}_proj`));
    const normed = (step: Step, count: number, name: string): Step => {
      if (!qkNorm) return step;
      const N = step.y.shape[0];
      const rows = (value: Value, shape: number[]) => b.reshape(value, shape);
      const norm = this.norm(rows(step.y, [N * count, D]), `${at}.${name}`);
      return {
        y: rows(norm.y, [N, count * D]),
        back: (dy, plus) => step.back(rows(norm.back(rows(dy, [N * count, D])), [N, count * D]), plus),
      };
    };
    return { qn: normed(q, H, 'q_norm'), kn: normed(k, Hkv, 'k_norm'), v };
  }

  /** q, k and v side by side (N, (H + 2·Hkv)·D), for decoding. */
  private packed(x: Value, at: string): Value {
    const stacked = this.stackedQkv(x, at);
    if (stacked) return stacked.y;
    const { qn, kn, v } = this.separateQkv(x, at);
    return this.b.call(packColumnsOp, [qn.y, kn.y, v.y], {})[0];
  }

  private get headName(): string {
    return this.model.config.tieWordEmbeddings ? 'model.embed_tokens.weight' : 'lm_head.weight';
  }

  /** Pieces of the head: at most as many rows as a chunk of logits allows. */
  private headPieces(N: number): { w: Value; dw: Value | null; firstId: number }[] {
    const { weights } = this.model;
    const name = this.headName;
    const most = Math.max(1, Math.floor((this.options.chunkLogits ?? CHUNK_LOGITS) / N));
    // Pieces start at binding alignment.
    const aligned = most >= 64 ? most - (most % 64) : 64;
    const cut = ({ buffer, offset, shape }: Slice, from: number, rows: number) =>
      this.b.bind(buffer, [rows, shape[1]], 'float32', offset + 4 * from * shape[1]);
    return weights.all(name).flatMap((slice, i) => {
      const gradient = this.options.gradients?.all(name)[i];
      return Array.from({ length: Math.ceil(slice.shape[0] / aligned) }, (_, k) => {
        const from = k * aligned;
        const rows = Math.min(aligned, slice.shape[0] - from);
        return {
          w: cut(slice, from, rows),
          dw: gradient ? cut(gradient, from, rows) : null,
          firstId: slice.firstRow + from,
        };
      });
    });
  }

  /** Log-prob of the targets (−1 = none) and entropy of softmax(x·wᵀ / temperature), for x (N, C). */
  loss(x: Value, targets: Value, temperature: number): GraphLoss {
    const { b } = this;
    const N = targets.shape[0];
    const pieces = this.headPieces(N);
    const logitsOf = (w: Value) => b.call(linearOp, [x, w], {})[0];
    let only: Value | null = null;
    let found: Value[];
    if (pieces.length === 1) {
      only = logitsOf(pieces[0].w);
      found = b.call(logitLossOp, [only, targets], { temperature });
    } else {
      const state = b.temporary([N, 4]);
      for (const { w, firstId } of pieces)
        b.call(logitChunkOp, [logitsOf(w), targets, state], { temperature, firstId });
      found = b.call(logitFinishOp, [state, targets], {});
    }
    const [logp, entropy, lse] = found;
    return {
      logp,
      entropy,
      back: (dlogp, dentropy) => {
        let dx: Value | undefined;
        for (const { w, dw, firstId } of pieces) {
          const logits = only ?? logitsOf(w);
          b.call(logitChunkGradOp, [logits, targets, lse, entropy, dlogp, dentropy], {
            temperature,
            firstId,
          });
          if (dw) b.call(linearWeightGradAddOp, [logits, x, dw], {});
          [dx] = b.call(linearInputGradOp, [logits, w, ...(dx ? [dx] : [])], { residual: dx !== undefined });
        }
        return dx!;
      },
    };
  }
}
