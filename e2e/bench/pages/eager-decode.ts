/**
 * One decode step of the bench's model in plain tfjs ops, as one would write it without an engine: the thing that our
 * JavaScript time a token is compared with. Keys and values grow by concatenation. Runs in the page.
 */
import type { Decoder } from '../../../src/engine/model/decoder.ts';
import { type Tensor, tf } from '../../../src/engine/tensor/tfjs.ts';

export class EagerDecode {
  private cache: { k: Tensor; v: Tensor }[] = [];
  private position = 0;
  private readonly weights = new Map<string, Tensor>();

  /** @param lanes sequences that decode side by side */
  private constructor(
    private readonly model: Decoder,
    private readonly lanes: number,
  ) {}

  static async make(model: Decoder, lanes: number): Promise<EagerDecode> {
    const eager = new EagerDecode(model, lanes);
    // Plain tensors of its own: the engine's are views of one buffer.
    for (const [name, { shape, data }] of await model.snapshot())
      eager.weights.set(name, tf.tensor(data, [...shape]));
    return eager;
  }

  private w(name: string): tf.Tensor2D {
    return this.weights.get(name) as tf.Tensor2D;
  }

  private norm(x: Tensor, name: string): Tensor {
    const scale = tf.rsqrt(tf.add(tf.mean(tf.square(x), -1, true), this.model.config.rmsNormEps));
    return tf.mul(tf.mul(x, scale), this.w(name));
  }

  /** x (lanes, heads, D), all at the same position. */
  private rotate(x: Tensor): Tensor {
    const { headDim: D, ropeTheta } = this.model.config;
    const angles = Array.from({ length: D / 2 }, (_, i) => this.position * ropeTheta ** ((-2 * i) / D));
    const [a, b] = tf.split(x, 2, -1);
    const c = tf.tensor1d(angles.map(Math.cos));
    const s = tf.tensor1d(angles.map(Math.sin));
    return tf.concat([tf.sub(tf.mul(a, c), tf.mul(b, s)), tf.add(tf.mul(b, c), tf.mul(a, s))], -1);
  }

  /** Feeds one token a lane and returns the most likely next ones. */
  async step(tokens: readonly number[]): Promise<Int32Array> {
    const { config } = this.model;
    const { heads: H, headDim: D } = config;
    const next: { k: Tensor; v: Tensor }[] = [];
    const chosen = tf.tidy(() => {
      const linear = (x: Tensor, name: string) =>
        tf.matMul(x as tf.Tensor2D, this.w(name), false, true) as Tensor;
      const embed = this.w('model.embed_tokens.weight');
      let x: Tensor = tf.gather(embed, tf.tensor1d([...tokens], 'int32'));
      for (let layer = 0; layer < config.layers; layer++) {
        const at = `model.layers.${layer}`;
        const h = this.norm(x, `${at}.input_layernorm.weight`);
        const heads = (part: string) =>
          tf.reshape(linear(h, `${at}.self_attn.${part}_proj.weight`), [this.lanes, H, D]);
        const q = tf.mul(this.rotate(heads('q')), 1 / Math.sqrt(D));
        const row = (t: Tensor) => tf.reshape(t, [this.lanes, H, 1, D]);
        const past = this.cache[layer];
        const k = past ? tf.concat([past.k, row(this.rotate(heads('k')))], 2) : row(this.rotate(heads('k')));
        const v = past ? tf.concat([past.v, row(heads('v'))], 2) : row(heads('v'));
        next.push({ k: tf.keep(k), v: tf.keep(v) });
        const weights = tf.softmax(tf.matMul(row(q), k, false, true));
        const out = tf.reshape(tf.matMul(weights, v), [this.lanes, H * D]);
        x = tf.add(x, linear(out, `${at}.self_attn.o_proj.weight`));
        const m = this.norm(x, `${at}.post_attention_layernorm.weight`);
        const gate = linear(m, `${at}.mlp.gate_proj.weight`);
        const gated = tf.mul(tf.mul(gate, tf.sigmoid(gate)), linear(m, `${at}.mlp.up_proj.weight`));
        x = tf.add(x, linear(gated, `${at}.mlp.down_proj.weight`));
      }
      const logits = tf.matMul(this.norm(x, 'model.norm.weight') as tf.Tensor2D, embed, false, true);
      return tf.argMax(logits, -1);
    });
    for (const { k, v } of this.cache) tf.dispose([k, v]);
    this.cache = next;
    this.position++;
    const ids = (await chosen.data()) as Int32Array;
    chosen.dispose();
    return ids;
  }

  dispose(): void {
    for (const { k, v } of this.cache) tf.dispose([k, v]);
    for (const weight of this.weights.values()) weight.dispose();
  }
}
