/**
 * Training of a Llama-shaped decoder in plain JavaScript and float64, written for clarity: the truth that a float32
 * learner's loss curve is held against. It shares no code with the ops.
 *
 * Shapes as in `config.ts`; matrices are row-major, weights (out, in). Causal attention over rows of T tokens; no
 * biases, no norm of q and k (asserted).
 */
import { assert } from '../../base/assert.ts';
import type { ModelConfig } from '../model/config.ts';
import type { WeightArray } from '../model/decoder.ts';
import type { OptimizerSettings } from './recipe.ts';

/** Rows of tokens with what is to be predicted at each (-1 = nothing), both (N). */
export interface ReferenceBatch {
  B: number;
  T: number;
  tokens: ArrayLike<number>;
  targets: ArrayLike<number>;
}

type Array64 = Float64Array;
/** Takes the gradient of what a function returned, gives that of its input, and adds those of its weights. */
type Back = (dy: Array64) => Array64;
interface Step {
  y: Array64;
  back: Back;
}

function addTo(sum: Array64, x: Array64): Array64 {
  for (let i = 0; i < sum.length; i++) sum[i] += x[i];
  return sum;
}

export class Float64Reference {
  readonly weights = new Map<string, Array64>();
  readonly gradients = new Map<string, Array64>();
  private readonly mean = new Map<string, Array64>();
  private readonly square = new Map<string, Array64>();
  private steps = 0;

  constructor(
    private readonly config: ModelConfig,
    initial: ReadonlyMap<string, WeightArray>,
  ) {
    const { qkvBias, outputBias, mlpBias, qkNorm } = config;
    assert(!(qkvBias || outputBias || mlpBias || qkNorm), 'the float64 reference has no biases or q/k norms');
    for (const [name, { data }] of initial) {
      this.weights.set(name, Float64Array.from(data));
      for (const zeros of [this.gradients, this.mean, this.square])
        zeros.set(name, new Float64Array(data.length));
    }
  }

  /** Mean cross-entropy over the targets; adds its gradient to `gradients`. */
  add(batch: ReferenceBatch): number {
    const { hiddenSize: C, layers, tieWordEmbeddings } = this.config;
    const { tokens } = batch;
    const N = batch.B * batch.T;
    const embedding = this.weights.get('model.embed_tokens.weight')!;
    const x = new Float64Array(N * C);
    for (let n = 0; n < N; n++) x.set(embedding.subarray(tokens[n] * C, (tokens[n] + 1) * C), n * C);
    const backs: Back[] = [];
    for (let layer = 0; layer < layers; layer++)
      for (const part of [this.attention, this.mlp]) {
        const { y, back } = part.call(this, x, `model.layers.${layer}`, batch);
        addTo(x, y); // the residual stream (N, C)
        backs.push((dx) => addTo(dx, back(dx)));
      }
    const norm = this.norm(x, 'model.norm.weight');
    const head = this.linear(norm.y, C, tieWordEmbeddings ? 'model.embed_tokens.weight' : 'lm_head.weight');
    const { loss, dlogits } = crossEntropy(head.y, batch.targets); // (N, V)
    let dx = norm.back(head.back(dlogits));
    for (const back of backs.reverse()) dx = back(dx);
    const dembedding = this.gradients.get('model.embed_tokens.weight')!;
    for (let n = 0; n < N; n++) for (let c = 0; c < C; c++) dembedding[tokens[n] * C + c] += dx[n * C + c];
    return loss;
  }

  /**
   * Clips the gradients by their global norm and takes an AdamW step (Loshchilov and Hutter 2019, algorithm 2, with the
   * decay times the learning rate); the gradients are zero afterwards.
   * @returns the norm before clipping
   */
  apply(settings: OptimizerSettings, learningRate: number): number {
    const { beta1, beta2, epsilon, weightDecay, decayNorms, maxGradNorm } = settings;
    this.steps++;
    let sum = 0;
    for (const g of this.gradients.values()) for (const value of g) sum += value * value;
    const norm = Math.sqrt(sum);
    const clip = Math.min(1, maxGradNorm / (norm + 1e-6));
    for (const [name, w] of this.weights) {
      const [g, m, v] = [this.gradients, this.mean, this.square].map((map) => map.get(name)!);
      const keep = decayNorms || !name.endsWith('norm.weight') ? 1 - learningRate * weightDecay : 1;
      for (let i = 0; i < w.length; i++) {
        m[i] = beta1 * m[i] + (1 - beta1) * clip * g[i];
        v[i] = beta2 * v[i] + (1 - beta2) * (clip * g[i]) ** 2;
        const mean = m[i] / (1 - beta1 ** this.steps);
        const square = v[i] / (1 - beta2 ** this.steps);
        w[i] = w[i] * keep - (learningRate * mean) / (Math.sqrt(square) + epsilon);
      }
      g.fill(0);
    }
    return norm;
  }

  private attention(x: Array64, layer: string, { B, T }: ReferenceBatch): Step {
    const { config } = this;
    const { hiddenSize: C, heads: H, headDim: D } = config;
    const at = `${layer}.self_attn`;
    const norm = this.norm(x, `${layer}.input_layernorm.weight`);
    const [q, k, v] = ['q', 'k', 'v'].map((part) => this.linear(norm.y, C, `${at}.${part}_proj.weight`));
    rotate(q.y, config, B, T, 1); // (N, H·D)
    rotate(k.y, config, B, T, 1); // (N, Hkv·D)
    const heads = attend(q.y, k.y, v.y, config, B, T);
    const out = this.linear(heads.y, H * D, `${at}.o_proj.weight`); // (N, C)
    return {
      y: out.y,
      back: (dy) => {
        const [dq, dk, dv] = heads.back(out.back(dy));
        rotate(dq, config, B, T, -1);
        rotate(dk, config, B, T, -1);
        return norm.back(addTo(addTo(q.back(dq), k.back(dk)), v.back(dv)));
      },
    };
  }

  /** SwiGLU (Shazeer 2020, arXiv 2002.05202, equation 6). */
  private mlp(x: Array64, layer: string): Step {
    const { hiddenSize: C, intermediateSize: F } = this.config;
    const at = `${layer}.mlp`;
    const norm = this.norm(x, `${layer}.post_attention_layernorm.weight`);
    const gate = this.linear(norm.y, C, `${at}.gate_proj.weight`); // (N, F)
    const up = this.linear(norm.y, C, `${at}.up_proj.weight`); // (N, F)
    const sigmoid = gate.y.map((z) => 1 / (1 + Math.exp(-z)));
    const down = this.linear(
      gate.y.map((z, i) => z * sigmoid[i] * up.y[i]),
      F,
      `${at}.down_proj.weight`,
    );
    return {
      y: down.y,
      back: (dy) => {
        const d = down.back(dy); // (N, F)
        const dgate = d.map((value, i) => value * up.y[i] * sigmoid[i] * (1 + gate.y[i] * (1 - sigmoid[i])));
        const dup = d.map((value, i) => value * gate.y[i] * sigmoid[i]);
        return norm.back(addTo(gate.back(dgate), up.back(dup)));
      },
    };
  }

  /** y (N, O) = x (N, I) · wᵀ for w (O, I). */
  private linear(x: Array64, I: number, name: string): Step {
    const w = this.weights.get(name)!;
    const dw = this.gradients.get(name)!;
    const O = w.length / I;
    const N = x.length / I;
    const y = new Float64Array(N * O);
    for (let n = 0; n < N; n++)
      for (let o = 0; o < O; o++) {
        let sum = 0;
        for (let i = 0; i < I; i++) sum += x[n * I + i] * w[o * I + i];
        y[n * O + o] = sum;
      }
    return {
      y,
      back: (dy) => {
        const dx = new Float64Array(N * I);
        for (let n = 0; n < N; n++)
          for (let o = 0; o < O; o++) {
            const d = dy[n * O + o];
            for (let i = 0; i < I; i++) {
              dx[n * I + i] += d * w[o * I + i];
              dw[o * I + i] += d * x[n * I + i];
            }
          }
        return dx;
      },
    };
  }

  /** y = x / √(mean x² + ε) · w per row (Zhang and Sennrich 2019, arXiv 1910.07467, equation 4). */
  private norm(input: Array64, name: string): Step {
    const { hiddenSize: C, rmsNormEps } = this.config;
    const w = this.weights.get(name)!;
    const dw = this.gradients.get(name)!;
    const x = input.slice(); // the residual stream goes on to change
    const N = x.length / C;
    const inverse = new Float64Array(N);
    const y = new Float64Array(N * C);
    for (let n = 0; n < N; n++) {
      let sum = 0;
      for (let c = 0; c < C; c++) sum += x[n * C + c] ** 2;
      inverse[n] = 1 / Math.sqrt(sum / C + rmsNormEps);
      for (let c = 0; c < C; c++) y[n * C + c] = x[n * C + c] * inverse[n] * w[c];
    }
    return {
      y,
      back: (dy) => {
        const dx = new Float64Array(N * C);
        for (let n = 0; n < N; n++) {
          let dot = 0;
          for (let c = 0; c < C; c++) {
            const at = n * C + c;
            dot += dy[at] * w[c] * x[at];
            dw[c] += dy[at] * x[at] * inverse[n];
          }
          for (let c = 0; c < C; c++) {
            const at = n * C + c;
            dx[at] = inverse[n] * (dy[at] * w[c] - (x[at] * inverse[n] ** 2 * dot) / C);
          }
        }
        return dx;
      },
    };
  }
}

/** Rotary positions in place, the halves of a head paired as in Hugging Face's Llama; `sign` -1 turns back. */
function rotate(
  x: Array64, // (N, heads·D)
  { headDim: D, ropeTheta }: ModelConfig,
  B: number,
  T: number,
  sign: 1 | -1,
): void {
  const width = x.length / (B * T);
  for (let n = 0; n < B * T; n++)
    for (let i = 0; i < D / 2; i++) {
      const angle = sign * (n % T) * ropeTheta ** ((-2 * i) / D);
      const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
      for (let at = n * width + i; at < (n + 1) * width; at += D) {
        const [a, b] = [x[at], x[at + D / 2]];
        x[at] = a * cos - b * sin;
        x[at + D / 2] = b * cos + a * sin;
      }
    }
}

/** softmax(q·kᵀ / √D)·v within each row of T tokens, none sees a later one. `back` gives dq, dk and dv. */
function attend(
  q: Array64, // (N, H·D)
  k: Array64, // (N, Hkv·D)
  v: Array64,
  { heads: H, kvHeads: Hkv, headDim: D }: ModelConfig,
  B: number,
  T: number,
): { y: Array64; back(dy: Array64): [Array64, Array64, Array64] } {
  const y = new Float64Array(q.length);
  const scale = 1 / Math.sqrt(D);
  const weights: Array64[] = []; // one (t + 1) a query, in the order of `queries`
  /** Calls `visit` with each query head's first element and those of the key heads that it sees. */
  const queries = (visit: (at: number, keys: number[], index: number) => void): void => {
    for (let b = 0, index = 0; b < B; b++)
      for (let h = 0; h < H; h++) {
        const keys: number[] = [];
        for (let n = b * T; n < (b + 1) * T; n++) {
          keys.push((n * Hkv + Math.floor((h * Hkv) / H)) * D);
          visit((n * H + h) * D, keys, index++);
        }
      }
  };
  queries((at, keys) => {
    const scores = Float64Array.from(keys, (key) => {
      let sum = 0;
      for (let d = 0; d < D; d++) sum += q[at + d] * k[key + d];
      return sum * scale;
    });
    const max = Math.max(...scores);
    const exps = scores.map((score) => Math.exp(score - max));
    const total = exps.reduce((a, b) => a + b, 0);
    const p = exps.map((e) => e / total);
    weights.push(p);
    keys.forEach((key, j) => {
      for (let d = 0; d < D; d++) y[at + d] += p[j] * v[key + d];
    });
  });
  return {
    y,
    back: (dy) => {
      const dq = new Float64Array(q.length);
      const dk = new Float64Array(k.length);
      const dv = new Float64Array(v.length);
      queries((at, keys, index) => {
        const p = weights[index];
        const dp = Float64Array.from(keys, (key) => {
          let sum = 0;
          for (let d = 0; d < D; d++) sum += dy[at + d] * v[key + d];
          return sum;
        });
        const dot = p.reduce((sum, weight, j) => sum + weight * dp[j], 0);
        keys.forEach((key, j) => {
          const ds = p[j] * (dp[j] - dot) * scale;
          for (let d = 0; d < D; d++) {
            dq[at + d] += ds * k[key + d];
            dk[key + d] += ds * q[at + d];
            dv[key + d] += p[j] * dy[at + d];
          }
        });
      });
      return [dq, dk, dv];
    },
  };
}

/** Mean of -log softmax(logits)[target] over the targets, and its gradient (N, V). */
function crossEntropy(logits: Array64, targets: ArrayLike<number>): { loss: number; dlogits: Array64 } {
  const N = targets.length;
  const V = logits.length / N;
  const dlogits = new Float64Array(N * V);
  const counted = Array.from(targets).filter((target) => target >= 0).length;
  let loss = 0;
  for (let n = 0; n < N; n++) {
    if (targets[n] < 0) continue;
    const row = logits.subarray(n * V, (n + 1) * V);
    const max = row.reduce((a, b) => Math.max(a, b));
    const sum = row.reduce((total, logit) => total + Math.exp(logit - max), 0);
    loss += (Math.log(sum) + max - row[targets[n]]) / counted;
    for (let id = 0; id < V; id++)
      dlogits[n * V + id] = (Math.exp(row[id] - max) / sum - (id === targets[n] ? 1 : 0)) / counted;
  }
  return { loss, dlogits };
}
