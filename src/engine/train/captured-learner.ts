/**
 * Captured training steps. For each shape of a micro-batch the whole of forward, loss and backward is worked out once
 * (`decoder-graph.ts`) and then replayed; the step itself (norm, clip, AdamW) is one more plan. A step of one micro-batch
 * is one compute pass and one submit, makes no buffer and no bind group, and reads back 9 numbers once.
 *
 * What changes from step to step lies in buffers that are written before the replay: tokens, targets, settings of the
 * objective, hyper-parameters. So an edit of the learning rate or of the clip needs no new capture.
 */
import { assert } from '../../base/assert.ts';
import type { Batch } from '../data/packing.ts';
import type { Decoder } from '../model/decoder.ts';
import { DecoderGraph } from '../model/decoder-graph.ts';
import type { DeviceModel } from '../model/device-model.ts';
import type { LoraArenas } from '../model/lora.ts';
import type { Arena } from '../tensor/arena.ts';
import { BINDING_ALIGNMENT, DeviceBuffer } from '../tensor/device-buffer.ts';
import { arenaAdamwOp, type RateRange } from '../tensor/ops/adamw/adamw.ts';
import { sequenceRatioOp } from '../tensor/ops/token-objective/sequence-ratio.ts';
import {
  OBJECTIVE_SIZE,
  OBJECTIVE_SUMS,
  OBJECTIVE_SUMS_SIZE,
  tokenObjectiveOp,
} from '../tensor/ops/token-objective/token-objective.ts';
import { PlanBuilder } from '../tensor/plan.ts';
import { Plan, Readback, submit, TemporaryPool } from '../tensor/plan-device.ts';
import type { PolypathBackend } from '../tensor/webgpu-backend.ts';
import { bucketOf, padTo } from './buckets.ts';
import type { Learner, MicroBatch, Objective, ObjectiveSums } from './learner.ts';
import type { AdamW } from './optimizer.ts';
import { hasSequenceRatio, objectiveSettings } from './policy-loss.ts';

const align = (bytes: number) => Math.ceil(bytes / BINDING_ALIGNMENT) * BINDING_ALIGNMENT;

/** Small buffers that all plans of a learner share. */
export interface StepBuffers {
  /** Settings of the objective (8 numbers). */
  settings: DeviceBuffer;
  /** Hyper-parameters of AdamW (8 numbers). */
  hyper: DeviceBuffer;
  /** Sums of the objective, and at the next alignment the gradient norm. */
  stats: DeviceBuffer;
}

export function stepBuffers(): StepBuffers {
  return {
    settings: new DeviceBuffer(4 * OBJECTIVE_SIZE, 'settings of the objective'),
    hyper: new DeviceBuffer(32, 'hyper-parameters'),
    stats: new DeviceBuffer(2 * BINDING_ALIGNMENT, 'statistics of the step'),
  };
}

/** Bytes of one micro-batch on the device: tokens, positions, branches and targets, then 4 numbers a slot. */
export function inputBytes(N: number): number {
  return 4 * align(4 * N) + align(16 * N);
}

export interface TrainGraph {
  model: DeviceModel;
  gradients: Arena | null;
  lora: LoraArenas | null;
  checkpointing: boolean;
  temperature: number;
  chunkLogits?: number;
  /** All tokens of a row share one ratio (GSPO). */
  sequenceRatio?: boolean;
}

/** Forward, loss and backward of B rows of T slots, for the plan builder. */
export function buildMicroStep(
  graph: TrainGraph,
  B: number,
  T: number,
  inputs: DeviceBuffer,
  { settings, stats }: StepBuffers,
): PlanBuilder {
  const b = new PlanBuilder();
  const N = B * T;
  const ints = [0, 1, 2, 3].map((i) => b.bind(inputs, [N], 'int32', i * align(4 * N)));
  const [tokens, positions, branches, targets] = ints;
  const info = b.bind(inputs, [N, 4], 'float32', 4 * align(4 * N));
  const decoder = new DecoderGraph(b, graph.model, graph);
  const hidden = decoder.hidden({ B, T, tokens, positions, branches });
  const loss = decoder.loss(hidden.y, targets, graph.temperature);
  const ratio = graph.sequenceRatio ? b.call(sequenceRatioOp, [loss.logp, info], { T }) : [];
  const sums = b.bind(stats, [OBJECTIVE_SUMS_SIZE]);
  const [dlogp, dentropy] = b.call(
    tokenObjectiveOp,
    [loss.logp, loss.entropy, info, b.bind(settings, [OBJECTIVE_SIZE]), sums, ...ratio],
    {},
  );
  hidden.back(loss.back(dlogp, dentropy));
  return b;
}

/** Norm, clip and AdamW over arenas of trained numbers. */
export function buildUpdate(trained: Trained, { hyper, stats }: StepBuffers): PlanBuilder {
  const b = new PlanBuilder();
  const flat = (buffer: DeviceBuffer) => b.bind(buffer, [buffer.bytes / 4]);
  const arenas = trained.weights.buffers.flatMap((weights, i) =>
    [weights, trained.gradients.buffers[i], trained.mean.buffers[i], trained.square.buffers[i]].map(flat),
  );
  b.call(arenaAdamwOp, [b.bind(hyper, [8]), b.bind(stats, [1], 'float32', BINDING_ALIGNMENT), ...arenas], {
    decayEnds: trained.decayEnds,
    ranges: trained.ranges,
  });
  return b;
}

/** A captured micro-step with the buffer that its inputs are written to. */
interface Captured {
  B: number;
  T: number;
  plan: Plan;
  inputs: DeviceBuffer;
  host: ArrayBuffer;
}

/** Bytes of plans that are kept; the one that was not used for the longest time goes first. */
const PLAN_BUDGET = 2 ** 30;

export interface CapturedOptions {
  checkpointing?: boolean;
  /** Bytes of plans that are kept. */
  budget?: number;
  /** Most logits that exist at once. */
  chunkLogits?: number;
}

/** What an update changes: arenas of one layout, and how much of each buffer decays. */
export interface Trained {
  weights: Arena;
  gradients: Arena;
  mean: Arena;
  square: Arena;
  decayEnds: readonly number[];
  /** Ranges of each buffer with learning rates of their own. */
  ranges?: readonly (readonly RateRange[])[];
}

/** What a learner is made of besides its model; the arenas are allocated by their owners. */
export interface CapturedParts {
  backend: PolypathBackend;
  graph: TrainGraph;
  trained: Trained;
  /** Counts a step and tells AdamW's hyper-parameters. */
  nextHyper(learningRate: number): number[];
  objective: Objective;
  options: CapturedOptions;
}

/** The learner of all weights of a model. It owns the gradients. */
export function captureLearner(
  model: Decoder,
  optimizer: AdamW,
  objective: Objective,
  options: CapturedOptions = {},
): CapturedLearner {
  assert(model.device && optimizer.arenas, 'captured steps need WebGPU');
  const { backend, model: deviceModel } = model.device;
  const gradients = deviceModel.weights.like('gradients');
  gradients.allocate(backend.device);
  return new CapturedLearner({
    backend,
    graph: {
      model: deviceModel,
      gradients,
      lora: null,
      checkpointing: options.checkpointing ?? false,
      temperature: objective.temperature,
      chunkLogits: options.chunkLogits,
    },
    trained: {
      weights: deviceModel.weights,
      gradients,
      ...optimizer.arenas,
      decayEnds: deviceModel.decayEnds(optimizer.settings.decayNorms),
      ranges: optimizer.arenaRanges,
    },
    nextHyper: (learningRate) => optimizer.nextHyper(learningRate),
    objective,
    options,
  });
}

export class CapturedLearner implements Learner {
  private readonly buffers = stepBuffers();
  private readonly pool: TemporaryPool;
  private readonly readback: Readback;
  /** In the order of their last use. */
  private readonly captured = new Map<string, Captured>();
  private update: Plan | null = null;
  /** Written but not yet submitted: it goes along with what comes next. */
  private pending: Plan | null = null;
  private added = 0;

  constructor(private readonly parts: CapturedParts) {
    const { device } = parts.backend;
    for (const buffer of Object.values(this.buffers)) buffer.allocate(device);
    this.pool = new TemporaryPool(device);
    this.readback = new Readback(parts.backend, this.buffers.stats.bytes, 'the step');
  }

  get isEmpty(): boolean {
    return this.added === 0;
  }

  /** Dispatches of the micro-steps and of the update, for the bench. */
  get dispatches(): { micro: number[]; update: number } {
    return {
      micro: [...this.captured.values()].map(({ plan }) => plan.dispatches),
      update: this.update?.dispatches ?? 0,
    };
  }

  /** Bytes that captured plans hold, temporaries and inputs. */
  get planBytes(): number {
    let sum = this.pool.bytes;
    for (const { plan, inputs } of this.captured.values()) sum += plan.bytes + inputs.bytes;
    return sum;
  }

  async add(micro: MicroBatch, total: number): Promise<void> {
    const { B, T } = bucketOf(micro.batch);
    const captured = await this.capture(B, T);
    this.flush();
    const { backend, objective } = this.parts;
    const { queue } = backend.device;
    if (this.added === 0) queue.writeBuffer(this.buffers.stats.gpu, 0, new Float32Array(OBJECTIVE_SUMS_SIZE));
    const { clip } = objective;
    assert(!clip?.klBeta || micro.policy?.reference, 'a KL term needs the log-probs of the reference');
    queue.writeBuffer(this.buffers.settings.gpu, 0, objectiveSettings(clip, total));
    if (clip && hasSequenceRatio(clip)) assertOneResponseARow(micro);
    writeInputs(captured, micro);
    queue.writeBuffer(captured.inputs.gpu, 0, captured.host);
    this.pending = captured.plan;
    this.added++;
  }

  async apply(learningRate: number): Promise<ObjectiveSums & { gradNorm: number }> {
    assert(this.added > 0, 'no gradient was added');
    const { buffers } = this;
    const { backend, trained, nextHyper } = this.parts;
    this.update ??= await Plan.make(backend, buildUpdate(trained, buffers), this.pool);
    backend.device.queue.writeBuffer(buffers.hyper.gpu, 0, Float32Array.from(nextHyper(learningRate)));
    const plans = [...(this.pending ? [this.pending] : []), this.update];
    this.pending = null;
    this.added = 0;
    const stats = new Float32Array(await this.readback.after(plans, [{ source: buffers.stats }]));
    const sums = Object.fromEntries(OBJECTIVE_SUMS.map((name, i) => [name, stats[i]])) as ObjectiveSums;
    return { ...sums, gradNorm: stats[BINDING_ALIGNMENT / 4] };
  }

  async gradients(): Promise<Map<string, Float32Array>> {
    this.flush();
    const copies = new Map<string, Float32Array>();
    const { gradients } = this.parts.trained;
    for (const name of gradients.names)
      copies.set(name, await this.parts.backend.readSlices(gradients.all(name)));
    return copies;
  }

  private flush(): void {
    if (this.pending) submit(this.parts.backend, [this.pending]);
    this.pending = null;
  }

  private async capture(B: number, T: number): Promise<Captured> {
    const { clip } = this.parts.objective;
    const sequenceRatio = clip !== null && hasSequenceRatio(clip);
    const key = `${B}x${T}${sequenceRatio ? ' of sequences' : ''}`;
    let captured = this.captured.get(key);
    if (captured) {
      this.captured.delete(key);
      this.captured.set(key, captured);
      return captured;
    }
    const inputs = new DeviceBuffer(inputBytes(B * T), `inputs of ${key}`);
    const { backend, graph, options } = this.parts;
    inputs.allocate(backend.device);
    const builder = buildMicroStep({ ...graph, sequenceRatio }, B, T, inputs, this.buffers);
    const plan = await Plan.make(backend, builder, this.pool);
    captured = { B, T, plan, inputs, host: new ArrayBuffer(inputs.bytes) };
    this.captured.set(key, captured);
    for (const [old, { plan: oldPlan }] of this.captured) {
      if (this.planBytes <= (options.budget ?? PLAN_BUDGET) || old === key) break;
      if (oldPlan === this.pending) this.flush();
      this.drop(old);
    }
    return captured;
  }

  private drop(key: string): void {
    const { plan, inputs } = this.captured.get(key)!;
    plan.destroy();
    inputs.destroy();
    this.captured.delete(key);
  }

  dispose(): void {
    for (const key of [...this.captured.keys()]) this.drop(key);
    this.update?.destroy();
    this.readback.destroy();
    this.parts.trained.gradients.destroy();
    for (const buffer of Object.values(this.buffers)) buffer.destroy();
  }
}

/** The ratio of a response is worked out over its row. */
function assertOneResponseARow({ batch, mask }: MicroBatch): void {
  for (let n = 0; n < mask.length; n++)
    assert(!mask[n] || batch.rows[n] === Math.floor(n / batch.T), 'a row holds more than one response');
}

/** Fills the host copy of a captured step's inputs, rows and slots beyond the batch being padding. */
function writeInputs({ B, T, host }: Captured, { batch, mask, policy }: MicroBatch): void {
  const N = B * T;
  const stride = align(4 * N);
  const padded: Pick<Batch, 'tokens' | 'positions' | 'branches' | 'targets'> = padTo(batch, B, T);
  for (const [i, name] of (['tokens', 'positions', 'branches', 'targets'] as const).entries())
    new Int32Array(host, i * stride, N).set(padded[name]);
  const info = new Float32Array(host, 4 * stride, 4 * N).fill(0);
  for (let n = 0; n < mask.length; n++) {
    if (!mask[n]) continue;
    const slot = Math.floor(n / batch.T) * T + (n % batch.T);
    info[4 * slot] = policy?.old[n] ?? 0;
    info[4 * slot + 1] = policy?.advantages[n] ?? 0;
    info[4 * slot + 2] = mask[n];
    info[4 * slot + 3] = policy?.reference?.[n] ?? 0;
  }
}
