/** AdamW over all weights of a model, with its state, and the gradients that feed it. */
import { assert, UserError } from '../../base/assert.ts';
import type { Decoder, WeightArray } from '../model/decoder.ts';
import { isNormOrBias } from '../model/device-model.ts';
import type { Arena } from '../tensor/arena.ts';
import { adamw, type RateRange } from '../tensor/ops/adamw/adamw.ts';
import { type Tensor, tf, type Variable } from '../tensor/tfjs.ts';
import type { OptimizerSettings } from './recipe.ts';

/** Sums gradients over micro-batches; one tensor per weight, in the model's order. */
export class GradientSum {
  private sums: Tensor[] | null = null;
  private readonly weights: Variable[];
  private readonly names: string[];

  constructor(model: Decoder) {
    this.weights = [...model.weights.values()];
    this.names = [...model.weights.keys()];
  }

  /**
   * Adds the gradient of a scalar. `forward` must not divide by the size of its micro-batch but by that of the whole
   * batch, so that micro-batches add up to one batch (token-normalised accumulation).
   * @returns the scalar's value; the caller disposes it
   */
  add(forward: () => Tensor): Tensor {
    const { value, grads } = tf.engine().gradients(forward as () => tf.Scalar, this.weights, undefined, true);
    for (let i = 0; i < grads.length; i++) assert(grads[i], 'a weight is not part of the loss');
    if (!this.sums) this.sums = grads;
    else {
      this.sums = this.sums.map((sum, i) => {
        const next = tf.add(sum, grads[i]);
        tf.dispose([sum, grads[i]]);
        return next;
      });
    }
    return value;
  }

  get isEmpty(): boolean {
    return this.sums === null;
  }

  /** Lets go of sums that nobody took: a run may be stopped between two micro-batches. */
  dispose(): void {
    if (this.sums) tf.dispose(this.sums);
    this.sums = null;
  }

  /** Copies of the sums on the host, by weight. */
  async copies(): Promise<Map<string, Float32Array>> {
    assert(this.sums, 'no gradient was added');
    const values = await Promise.all(this.sums.map(async (sum) => (await sum.data()).slice()));
    return new Map(this.names.map((name, i) => [name, values[i] as Float32Array]));
  }

  /** Hands the sums over; the caller disposes them. */
  take(): Tensor[] {
    assert(this.sums, 'no gradient was added');
    const sums = this.sums;
    this.sums = null;
    return sums;
  }
}

export class AdamW {
  /** Steps done: n in the bias corrections 1 − βⁿ. */
  steps = 0;
  /** Both moments on a GPU, in the layout of the weights; the variables are then views of them. */
  readonly arenas: { mean: Arena; square: Arena } | null;
  private readonly state = new Map<
    string,
    { weight: Variable; mean: Variable; square: Variable; decay: boolean; ranges: RateRange[] }
  >();

  constructor(
    private readonly model: Decoder,
    readonly settings: OptimizerSettings,
    /** Ids whose rows of embedding and head learn at `tagLearningRate` times the rate. */
    private readonly tags: readonly number[] = [],
  ) {
    const { device } = model;
    this.arenas = device && {
      mean: device.model.weights.like('averaged gradients'),
      square: device.model.weights.like('averaged squared gradients'),
    };
    if (device) for (const arena of Object.values(this.arenas!)) arena.allocate(device.backend.device);
    for (const [name, weight] of model.weights) {
      const zeros = (moment: 'mean' | 'square') =>
        tf.tidy(() => {
          const slice = this.arenas?.[moment].whole(name);
          return tf.variable(slice ? device!.backend.view(slice) : tf.zeros(weight.shape), false);
        });
      const decay = settings.decayNorms || !isNormOrBias(name);
      const ranges = this.tagRange(name, weight.shape);
      this.state.set(name, { weight, mean: zeros('mean'), square: zeros('square'), decay, ranges });
    }
  }

  /** The rows of the tags in embedding or head, as numbers of the tensor. */
  private tagRange(name: string, [, width]: readonly number[]): RateRange[] {
    const { tagLearningRate: multiplier } = this.settings;
    if (multiplier === 1 || this.tags.length === 0) return [];
    if (name !== 'model.embed_tokens.weight' && name !== 'lm_head.weight') return [];
    const [first, last] = [Math.min(...this.tags), Math.max(...this.tags)];
    if (last - first + 1 !== new Set(this.tags).size)
      throw new UserError(
        'tagLearningRate is not 1, but the tags are not neighbours in this vocabulary, so their rows cannot be told from others. Set it to 1.',
      );
    return [{ from: first * width, to: (last + 1) * width, multiplier }];
  }

  /** The same for the buffers of the arena of weights. */
  get arenaRanges(): RateRange[][] {
    const { device } = this.model;
    return (device?.model.weights.buffers ?? []).map((buffer) =>
      [...this.state].flatMap(([name, { ranges }]) => {
        const slice = device!.model.weights.whole(name);
        if (slice?.buffer !== buffer) return [];
        const shift = slice.offset / 4;
        return ranges.map((range) => ({ ...range, from: range.from + shift, to: range.to + shift }));
      }),
    );
  }

  /** Counts a step and returns what the kernel wants to know about it (see `adamwOp`). */
  nextHyper(learningRate: number): number[] {
    const { beta1, beta2, epsilon, weightDecay, maxGradNorm } = this.settings;
    this.steps++;
    return [
      learningRate,
      beta1,
      beta2,
      epsilon,
      weightDecay,
      maxGradNorm,
      1 - beta1 ** this.steps,
      1 - beta2 ** this.steps,
    ];
  }

  /**
   * One step; the gradients (in the model's order) are disposed.
   * @returns the global gradient norm before clipping
   */
  async apply(gradients: readonly Tensor[], learningRate: number): Promise<number> {
    const hyper = tf.tensor1d(this.nextHyper(learningRate));
    const tensors = [...this.state.values()].map(({ weight, mean, square, decay, ranges }, i) => ({
      parameter: weight,
      gradient: gradients[i],
      mean,
      square,
      decay,
      ranges,
    }));
    const norm = adamw(tensors, hyper);
    const [value] = await norm.data();
    tf.dispose([norm, hyper, ...gradients]);
    return value;
  }

  /** Moments by name, for a save. */
  async snapshot(): Promise<Map<string, WeightArray>> {
    const copies = new Map<string, WeightArray>();
    for (const [name, { mean, square }] of this.state) {
      copies.set(`adamw.mean.${name}`, {
        shape: mean.shape,
        data: (await mean.data()).slice() as Float32Array,
      });
      copies.set(`adamw.square.${name}`, {
        shape: square.shape,
        data: (await square.data()).slice() as Float32Array,
      });
    }
    return copies;
  }

  /** Puts saved moments back. */
  restore(arrays: ReadonlyMap<string, WeightArray>, steps: number): void {
    this.steps = steps;
    for (const [name, { mean, square }] of this.state)
      for (const [variable, key] of [
        [mean, `adamw.mean.${name}`],
        [square, `adamw.square.${name}`],
      ] as const) {
        const array = arrays.get(key);
        if (!array) throw new UserError(`The save has no "${key}", so the run cannot go on from it.`);
        // Assigning would give the variable another buffer.
        if (this.model.device) this.model.device.backend.overwrite(variable.dataId, array.data);
        else {
          const tensor = tf.tensor(array.data.slice(), variable.shape, 'float32');
          variable.assign(tensor);
          tensor.dispose();
        }
      }
  }

  dispose(): void {
    for (const { mean, square } of this.state.values()) tf.dispose([mean, square]);
    this.state.clear();
    this.model.device?.backend.flush();
    this.arenas?.mean.destroy();
    this.arenas?.square.destroy();
  }
}
