/**
 * Rollouts that stay on the GPU: decode step, sampler and fork/join state machine are one captured plan, replayed up to
 * 32 times a submit. The page reads back once a submit, to draw and to see whether all are done; finished rows take the
 * next request by themselves. The trees are those of `generateStepByStep`, token for token.
 */
import { assert } from '../../base/assert.ts';
import type { Decoder } from '../model/decoder.ts';
import { DecoderGraph } from '../model/decoder-graph.ts';
import type { DeviceModel } from '../model/device-model.ts';
import { DeviceBuffer } from '../tensor/device-buffer.ts';
import {
  laneStride,
  PLANES,
  QUEUE_INTS,
  RECORD_INTS,
  ROW_INTS,
} from '../tensor/ops/rollout-step/rollout-step.layout.ts';
import { rolloutStepOp } from '../tensor/ops/rollout-step/rollout-step.ts';
import { sampleOp } from '../tensor/ops/sample/sample.ts';
import { PlanBuilder, type Value } from '../tensor/plan.ts';
import { Plan, Readback, TemporaryPool } from '../tensor/plan-device.ts';
import type { SpecialIds } from '../tokenizer/tags.ts';
import { deviceRollout, deviceRollouts, progressOf, viewOf } from './device-rollout.ts';
import type { GenerateSettings, RolloutRequest } from './generate.ts';
import { type Rollout, type RowView, slotsPerRowFor } from './row.ts';

/** Decode steps from one read-back to the next. */
const STEPS_PER_SUBMIT = 32;
/** Rows that decode at once; more requests wait in the queue. */
const MOST_ROWS = 128;
/** Bytes that keys and values may take. */
const CACHE_BUDGET = 2 ** 30;
/** Requests whose growth can be seen: a group. */
const VIEWED = 16;
/** Room for settings: the list of noise replacements is as long as the task's answers are many. */
const SETTINGS_INTS = 4096;

export interface RolloutShape {
  /** Rows that decode at once. */
  R: number;
  /** Requests. */
  Q: number;
  /** Tokens that a row feeds in one step at most. */
  W: number;
  /** Cache slots of a row. */
  slots: number;
}

type Sampling = Pick<GenerateSettings, 'temperature' | 'topK' | 'topP' | 'minP'>;

/** All that a run of rollouts keeps on the GPU, unallocated until asked for. */
export function rolloutBuffers(model: DeviceModel, { R, Q, W, slots }: RolloutShape) {
  const { config } = model;
  const ints = (count: number, label: string) => new DeviceBuffer(4 * count, label);
  const width = config.kvHeads * config.headDim;
  return {
    settings: ints(SETTINGS_INTS, 'settings of the rollouts'),
    rows: ints(R * ROW_INTS, 'rows of the rollouts'),
    queue: ints((1 + Q) * QUEUE_INTS, 'queue of the rollouts'),
    records: ints(Q * slots * RECORD_INTS, 'records of the rollouts'),
    logps: ints(Q * slots, 'log-probs of the rollouts'),
    lanes: ints(PLANES.length * laneStride(R * W), 'lanes of the rollouts'),
    samples: ints(2 * laneStride(R * W), 'samples of the rollouts'),
    branches: ints(R * slots, 'branch codes of the cache'),
    ...Object.fromEntries(
      Array.from({ length: config.layers }, (_, layer) =>
        (['k', 'v'] as const).map((part) => [
          `${part}${layer}`,
          ints(R * slots * width, `${part === 'k' ? 'keys' : 'values'} of layer ${layer}`),
        ]),
      ).flat(),
    ),
  } as Record<string, DeviceBuffer> &
    Record<
      'settings' | 'rows' | 'queue' | 'records' | 'logps' | 'lanes' | 'samples' | 'branches',
      DeviceBuffer
    >;
}

type Buffers = ReturnType<typeof rolloutBuffers>;

/** The state machine's step, by itself (`first`: it loads requests) or after a decode step and its samples. */
export function buildDecodeStep(
  model: DeviceModel,
  buffers: Buffers,
  { R, Q, W, slots }: RolloutShape,
  sampling: Sampling,
  first = false,
): PlanBuilder {
  const b = new PlanBuilder();
  const N = R * W;
  const stride = laneStride(N);
  const ids = b.bind(buffers.samples, [N], 'int32');
  const logp = b.bind(buffers.samples, [N], 'float32', 4 * stride);
  if (!first) {
    const plane = Object.fromEntries(
      PLANES.map((name, i) => [name, b.bind(buffers.lanes, [N], 'int32', 4 * i * stride)]),
    ) as Record<(typeof PLANES)[number], Value>;
    const width = model.config.kvHeads * model.config.headDim;
    const logits = new DecoderGraph(b, model, { gradients: null, lora: null, checkpointing: false }).decode(
      plane.tokens,
      b.bind(buffers.lanes, [3, stride], 'int32', 4 * stride * PLANES.indexOf('positions')),
      {
        slotsPerRow: slots,
        layers: Array.from({ length: model.config.layers }, (_, layer) => ({
          k: b.bind(buffers[`k${layer}`], [R * slots, width]),
          v: b.bind(buffers[`v${layer}`], [R * slots, width]),
        })),
        branches: b.bind(buffers.branches, [R * slots], 'int32'),
      },
    );
    b.callInto(sampleOp, [logits, plane.keys, plane.counters, plane.banned], sampling, [ids, logp]);
  }
  b.call(
    rolloutStepOp,
    [
      b.bind(buffers.settings, [SETTINGS_INTS], 'int32'),
      b.bind(buffers.rows, [R, ROW_INTS], 'int32'),
      b.bind(buffers.queue, [1 + Q, QUEUE_INTS], 'int32'),
      b.bind(buffers.records, [Q, slots, RECORD_INTS], 'int32'),
      b.bind(buffers.logps, [Q, slots]),
      b.bind(buffers.lanes, [PLANES.length, stride], 'int32'),
      ids,
      logp,
    ],
    {},
  );
  return b;
}

/** One captured shape. */
interface Captured {
  key: string;
  shape: RolloutShape;
  buffers: Buffers;
  first: Plan;
  step: Plan;
  readback: Readback;
  readAll: Readback;
  viewed: number;
}

export class CapturedRollouts {
  private captured: Captured | null = null;
  private readonly pool: TemporaryPool;
  private busy = false;
  /** Decode steps so far, for the bench. */
  steps = 0;

  constructor(
    private readonly model: Decoder,
    private readonly options: { mostRows?: number; stepsPerSubmit?: number } = {},
  ) {
    assert(model.device, 'captured rollouts need WebGPU');
    this.pool = new TemporaryPool(model.device.backend.device);
  }

  /** Dispatches of one decode step, for the bench. */
  get dispatches(): number {
    return this.captured?.step.dispatches ?? 0;
  }

  /** Yields the first requests after every read-back and returns all rollouts (see `generate`). */
  async *generate(
    requests: readonly RolloutRequest[],
    settings: GenerateSettings,
    ids: SpecialIds,
  ): AsyncGenerator<readonly RowView[], Rollout[]> {
    assert(!this.busy, 'two runs of rollouts at once on one model');
    this.busy = true;
    try {
      const captured = await this.capture(requests, settings, ids);
      const { shape, buffers, first, step, readback, viewed } = captured;
      const { backend } = this.model.device!;
      const arrays = deviceRollouts(requests, settings, ids, shape);
      assert(arrays.settings.length <= SETTINGS_INTS, 'too many noise replacements');
      for (const name of ['settings', 'rows', 'queue', 'records', 'logps', 'lanes'] as const)
        backend.device.queue.writeBuffer(buffers[name].gpu, 0, arrays[name] as Int32Array<ArrayBuffer>);
      const perSubmit = Array<Plan>(this.options.stepsPerSubmit ?? STEPS_PER_SUBMIT).fill(step);
      const queueBytes = buffers.queue.bytes;
      // A step of every row that has work gets some token fed: this bounds the loop.
      const mostSubmits = 2 + Math.ceil((shape.Q * shape.slots) / perSubmit.length);
      for (let submits = 0; ; submits++) {
        assert(submits < mostSubmits, 'the rollouts on the GPU do not come to an end');
        const bytes = await readback.after(submits === 0 ? [first, ...perSubmit] : perSubmit, [
          { source: buffers.queue },
          { source: buffers.records, bytes: viewed * shape.slots * RECORD_INTS * 4 },
        ]);
        this.steps += perSubmit.length;
        const queue = new Int32Array(bytes, 0, queueBytes / 4);
        const part = {
          queue: queue.subarray(0, (1 + viewed) * QUEUE_INTS),
          records: new Int32Array(bytes, queueBytes),
        };
        yield Array.from({ length: viewed }, (_, q) => ({ ...viewOf(part, q), prompt: requests[q].prompt }));
        if (progressOf(queue).done === shape.Q) return await this.results(captured);
      }
    } finally {
      this.busy = false;
    }
  }

  private async results({ shape, buffers, readAll }: Captured): Promise<Rollout[]> {
    const { queue, records, logps } = buffers;
    const bytes = await readAll.after([], [{ source: queue }, { source: records }, { source: logps }]);
    const results = {
      queue: new Int32Array(bytes, 0, queue.bytes / 4),
      records: new Int32Array(bytes, queue.bytes, records.bytes / 4),
      logps: new Float32Array(bytes, queue.bytes + records.bytes, logps.bytes / 4),
    };
    return Array.from({ length: shape.Q }, (_, q) => deviceRollout(results, q));
  }

  private async capture(
    requests: readonly RolloutRequest[],
    settings: GenerateSettings,
    ids: SpecialIds,
  ): Promise<Captured> {
    const { backend, model } = this.model.device!;
    const { temperature, topK, topP, minP } = settings;
    const sampling = { temperature, topK, topP, minP };
    const shape = this.shapeFor(requests, settings, ids);
    const key = JSON.stringify([shape, sampling]);
    if (this.captured?.key === key) return this.captured;
    this.dispose();
    const buffers = rolloutBuffers(model, shape);
    for (const buffer of Object.values(buffers)) buffer.allocate(backend.device);
    const viewed = Math.min(VIEWED, shape.Q);
    this.captured = {
      key,
      shape,
      buffers,
      first: await Plan.make(backend, buildDecodeStep(model, buffers, shape, sampling, true), this.pool),
      step: await Plan.make(backend, buildDecodeStep(model, buffers, shape, sampling), this.pool),
      readback: new Readback(
        backend,
        buffers.queue.bytes + viewed * shape.slots * RECORD_INTS * 4,
        'the rollouts',
      ),
      readAll: new Readback(
        backend,
        buffers.queue.bytes + buffers.records.bytes + buffers.logps.bytes,
        'all rollouts',
      ),
      viewed,
    };
    return this.captured;
  }

  /** Slots in steps of 16, so that prompts of other lengths can use the same plan. */
  private shapeFor(
    requests: readonly RolloutRequest[],
    settings: GenerateSettings,
    ids: SpecialIds,
  ): RolloutShape {
    const { config, limits } = this.model.device!.model;
    const needed = slotsPerRowFor(requests, settings, ids);
    const slots = Math.min(config.maxPositions, 16 * Math.ceil(needed / 16));
    const W = (settings.parallel ? settings.paths : 1) + 1;
    const rowBytes = 8 * config.layers * slots * config.kvHeads * config.headDim;
    const logitBytes = 4 * W * config.vocabSize;
    const R = Math.min(
      requests.length,
      this.options.mostRows ?? MOST_ROWS,
      Math.floor(CACHE_BUDGET / rowBytes),
      Math.floor(limits.maxBytes / logitBytes),
    );
    return { R: Math.max(1, R), Q: requests.length, W, slots };
  }

  /** Lets go of everything; the next rollouts capture anew. */
  dispose(): void {
    if (!this.captured) return;
    const { first, step, readback, readAll, buffers } = this.captured;
    first.destroy();
    step.destroy();
    readback.destroy();
    readAll.destroy();
    for (const buffer of Object.values(buffers)) buffer.destroy();
    this.captured = null;
  }
}

const ofModel = new WeakMap<Decoder, CapturedRollouts>();

/** The model's rollouts on the GPU, made on first use and gone with the model; null where there is none. */
export function capturedRollouts(model: Decoder): CapturedRollouts | null {
  if (!model.device) return null;
  const known = ofModel.get(model);
  if (known) return known;
  const rollouts = new CapturedRollouts(model);
  model.onDispose(() => rollouts.dispose());
  ofModel.set(model, rollouts);
  return rollouts;
}
