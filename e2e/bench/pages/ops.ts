/**
 * Each op by itself: floating-point operations and bytes a second, against a measured copy and a measured matrix product
 * on the same adapter. Runs in the page.
 */
import { Rng } from '../../../src/base/rng.ts';
import { openDevice } from '../../../src/engine/model/kernel-gate.ts';
import { DeviceBuffer } from '../../../src/engine/tensor/device-buffer.ts';
import type { Op } from '../../../src/engine/tensor/op.ts';
import { arenaAdamwOp } from '../../../src/engine/tensor/ops/adamw/adamw.ts';
import { cachedAttentionPackedOp } from '../../../src/engine/tensor/ops/cached-attention/cached-attention-packed.ts';
import { embeddingGradAddOp, embeddingOp } from '../../../src/engine/tensor/ops/embedding/embedding.ts';
import {
  linearInputGradOp,
  linearOp,
  linearWeightGradAddOp,
} from '../../../src/engine/tensor/ops/linear/linear.ts';
import { normGradAddOp } from '../../../src/engine/tensor/ops/rms-norm/add-norm.ts';
import { rmsNormOp } from '../../../src/engine/tensor/ops/rms-norm/rms-norm.ts';
import {
  attendGradOp,
  attendOp,
  rotatePackedGradOp,
  rotatePackedOp,
} from '../../../src/engine/tensor/ops/rope-attention/packed-attention.ts';
import { sampleOp } from '../../../src/engine/tensor/ops/sample/sample.ts';
import { swigluPackedGradOp, swigluPackedOp } from '../../../src/engine/tensor/ops/swiglu/swiglu-packed.ts';
import { logitChunkGradOp } from '../../../src/engine/tensor/ops/token-loss/logit-chunk.ts';
import { logitLossOp } from '../../../src/engine/tensor/ops/token-loss/token-loss.ts';
import { PlanBuilder, type Value } from '../../../src/engine/tensor/plan.ts';
import { Plan, submit, TemporaryPool } from '../../../src/engine/tensor/plan-device.ts';
import { tf } from '../../../src/engine/tensor/tfjs.ts';
import type { PolypathBackend } from '../../../src/engine/tensor/webgpu-backend.ts';
import { oursConfig } from '../ours-model.ts';
import { type BenchShape, type OpReport, spread } from '../report.ts';

const sizeOf = (shape: readonly number[]) => shape.reduce((a, b) => a * b, 1);

/** A call of an op on bound buffers, with what it costs. */
interface Load {
  name: string;
  shape: string;
  flops: number;
  bytes: number;
  plan: PlanBuilder;
  buffers: DeviceBuffer[];
}

function load<A>(
  name: string,
  shape: string,
  op: Op<A>,
  inputs: readonly { shape: number[]; ints?: (n: number) => number }[],
  attributes: A,
  flops: number,
): Load & { fill(device: GPUDevice): void } {
  const plan = new PlanBuilder();
  const buffers = inputs.map((input, i) => new DeviceBuffer(4 * sizeOf(input.shape), `${name} ${i}`));
  const values: Value[] = inputs.map((input, i) =>
    plan.bind(buffers[i], input.shape, input.ints ? 'int32' : 'float32'),
  );
  const outputs = plan.call(op, values, attributes);
  for (const output of outputs) plan.keep(output);
  const bytes = 4 * [...inputs, ...outputs].reduce((sum, tensor) => sum + sizeOf(tensor.shape), 0);
  return {
    name,
    shape,
    flops,
    bytes,
    plan,
    buffers,
    fill(device) {
      const rng = new Rng(91);
      inputs.forEach((input, i) => {
        const count = sizeOf(input.shape);
        const of = input.ints;
        const data = of
          ? Int32Array.from({ length: count }, (_, n) => of(n))
          : Float32Array.from({ length: count }, () => 0.1 + 0.5 * rng.next());
        device.queue.writeBuffer(buffers[i].allocate(device), 0, data);
      });
    },
  };
}

function loads(shape: BenchShape) {
  const { heads: H, kvHeads: Hkv, headDim: D, intermediateSize: F, vocabSize: V } = oursConfig(shape);
  const { batch: B, length: T, hidden: C, layers } = shape;
  const N = B * T;
  const heads = { B, T, H, Hkv, D };
  const qkv = (H + 2 * Hkv) * D;
  const plain = (n: number) => n % T;
  const zero = () => 0;
  const products = [
    ['qkv', C, qkv],
    ['o', H * D, C],
    ['gate+up', C, 2 * F],
    ['down', F, C],
    ['head', C, V],
  ] as const;
  const pairs = (B * H * T * (T + 1)) / 2;
  const tables = [{ shape: [T, D / 2] }, { shape: [T, D / 2] }];
  const lanes = 48;
  const slots = 96;
  const arena = 64 * Math.ceil((12 * C * C * layers) / 64);
  return [
    ...products.flatMap(([name, I, O]) => [
      load(
        `linear ${name}`,
        `${N}×${I}·${I}×${O}`,
        linearOp,
        [{ shape: [N, I] }, { shape: [O, I] }],
        {},
        2 * N * I * O,
      ),
      load(
        `linear ${name}, input gradient`,
        `${N}×${O}·${O}×${I}`,
        linearInputGradOp,
        [{ shape: [N, O] }, { shape: [O, I] }],
        {},
        2 * N * I * O,
      ),
      load(
        `linear ${name}, weight gradient`,
        `${O}×${N}·${N}×${I}`,
        linearWeightGradAddOp,
        [{ shape: [N, O] }, { shape: [N, I] }, { shape: [O, I] }],
        {},
        2 * N * I * O,
      ),
    ]),
    load(
      'linear, decode',
      `8×${C}·${C}×${qkv}`,
      linearOp,
      [{ shape: [8, C] }, { shape: [qkv, C] }],
      {},
      16 * C * qkv,
    ),
    load(
      'embedding',
      `${N} of ${V}×${C}`,
      embeddingOp,
      [{ shape: [V, C] }, { shape: [N], ints: (n) => n % V }],
      {},
      0,
    ),
    load(
      'embedding gradient',
      `${N} of ${V}×${C}`,
      embeddingGradAddOp,
      [{ shape: [N], ints: (n) => n % V }, { shape: [N, C] }, { shape: [V, C] }],
      { firstRow: 0 },
      N * C,
    ),
    load('rms-norm', `${N}×${C}`, rmsNormOp, [{ shape: [N, C] }, { shape: [C] }], { eps: 1e-5 }, 4 * N * C),
    load(
      'rms-norm gradient',
      `${N}×${C}`,
      normGradAddOp,
      [
        { shape: [N, C] },
        { shape: [N, C] },
        { shape: [C] },
        { shape: [N] },
        { shape: [C] },
        { shape: [N, C] },
      ],
      { residual: true },
      10 * N * C,
    ),
    load('swiglu', `${N}×${2 * F}`, swigluPackedOp, [{ shape: [N, 2 * F] }], {}, 8 * N * F),
    load(
      'swiglu gradient',
      `${N}×${2 * F}`,
      swigluPackedGradOp,
      [{ shape: [N, F] }, { shape: [N, 2 * F] }],
      {},
      14 * N * F,
    ),
    load(
      'rotate',
      `${N}×${qkv}`,
      rotatePackedOp,
      [{ shape: [N, qkv] }, ...tables, { shape: [N], ints: plain }],
      heads,
      3 * N * (H + Hkv) * D,
    ),
    load(
      'rotate back',
      `${N}×${qkv}`,
      rotatePackedGradOp,
      [
        { shape: [N, H * D] },
        { shape: [N, Hkv * D] },
        { shape: [N, Hkv * D] },
        ...tables,
        { shape: [N], ints: plain },
      ],
      heads,
      3 * N * (H + Hkv) * D,
    ),
    load(
      'attention',
      `${B}×${T}, ${H} heads of ${D}`,
      attendOp,
      [{ shape: [N, H * D] }, { shape: [N, Hkv * D] }, { shape: [N, Hkv * D] }, { shape: [N], ints: zero }],
      heads,
      4 * pairs * D,
    ),
    load(
      'attention gradient',
      `${B}×${T}, ${H} heads of ${D}`,
      attendGradOp,
      [
        { shape: [N, H * D] },
        { shape: [N, H * D] },
        { shape: [N, Hkv * D] },
        { shape: [N, Hkv * D] },
        { shape: [N], ints: zero },
        { shape: [N, H * D] },
        { shape: [N, 2 * H] },
      ],
      heads,
      14 * pairs * D,
    ),
    load(
      'token loss',
      `${N}×${V}`,
      logitLossOp,
      [{ shape: [N, V] }, { shape: [N], ints: (n) => n % V }],
      { temperature: 1 },
      6 * N * V,
    ),
    load(
      'token loss gradient',
      `${N}×${V}`,
      logitChunkGradOp,
      [
        { shape: [N, V] },
        { shape: [N], ints: (n) => n % V },
        { shape: [N] },
        { shape: [N] },
        { shape: [N] },
        { shape: [N] },
      ],
      { temperature: 1, firstId: 0 },
      8 * N * V,
    ),
    load(
      'AdamW with clip',
      `${arena}`,
      arenaAdamwOp,
      [{ shape: [8] }, { shape: [1] }, ...[0, 1, 2, 3].map(() => ({ shape: [arena] }))],
      { decayEnds: [arena] },
      16 * arena,
    ),
    load(
      'cached attention',
      `${lanes} lanes of ${slots} slots, ${H} heads of ${D}`,
      cachedAttentionPackedOp,
      [
        { shape: [lanes, qkv] },
        { shape: [16 * slots, Hkv * D] },
        { shape: [16 * slots, Hkv * D] },
        { shape: [16 * slots], ints: zero },
        ...tables,
        { shape: [3, 64], ints: (n) => (n < 64 ? 5 : n < 128 ? 0 : ((n - 128) % 16) * slots + 60) },
      ],
      { slotsPerRow: slots, H, Hkv, D },
      4 * lanes * 61 * H * D,
    ),
    load(
      'sample',
      `${lanes}×${V}`,
      sampleOp,
      [
        { shape: [lanes, V] },
        { shape: [lanes], ints: (n) => 7 * n },
        { shape: [lanes], ints: plain },
        { shape: [lanes], ints: () => -1 },
      ],
      { temperature: 1, topK: 0, topP: 1, minP: 0 },
      6 * lanes * V,
    ),
  ];
}

/** Milliseconds for `repeats` runs of a plan in one submit, a few times over. */
async function times(backend: PolypathBackend, plan: Plan, repeats: number, runs: number): Promise<number[]> {
  const { queue } = backend.device;
  const out: number[] = [];
  for (let run = -1; run < runs; run++) {
    await queue.onSubmittedWorkDone();
    const started = performance.now();
    submit(backend, Array<Plan>(repeats).fill(plan));
    await queue.onSubmittedWorkDone();
    if (run >= 0) out.push((performance.now() - started) / repeats);
  }
  return out;
}

async function copySpeed(backend: PolypathBackend, bytes: number, runs: number): Promise<number> {
  const { device } = backend;
  const [from, to] = ['source', 'target'].map((label) => new DeviceBuffer(bytes, `copy ${label}`));
  for (const buffer of [from, to]) buffer.allocate(device);
  let best = Number.POSITIVE_INFINITY;
  for (let run = 0; run < runs; run++) {
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(from.gpu, 0, to.gpu, 0, bytes);
    const started = performance.now();
    device.queue.submit([encoder.finish()]);
    await device.queue.onSubmittedWorkDone();
    best = Math.min(best, performance.now() - started);
  }
  for (const buffer of [from, to]) buffer.destroy();
  return (2 * bytes) / best / 1e6;
}

export interface OpsResult {
  peak: { gflops: number; gbps: number };
  ops: OpReport[];
}

interface Sizes {
  /** Dispatches a submit, and submits. */
  repeats: number;
  runs: number;
  copyBytes: number;
  /** Size of the square product that stands for the adapter's best. */
  product: number;
}

async function measureOps(
  shape: BenchShape,
  { repeats, runs, copyBytes, product }: Sizes,
): Promise<OpsResult> {
  const backend = tf.backend() as unknown as PolypathBackend;
  const { device } = backend;
  const pool = new TemporaryPool(device);
  const gbps = await copySpeed(backend, copyBytes, 5);
  const square = load(
    'linear, large',
    `${product}×${product}·${product}×${product}`,
    linearOp,
    [{ shape: [product, product] }, { shape: [product, product] }],
    {},
    2 * product ** 3,
  );
  const measured: (OpReport & { best: { gflops: number; gbps: number } })[] = [];
  for (const one of [square, ...loads(shape)]) {
    one.fill(device);
    const plan = await Plan.make(backend, one.plan, pool);
    const ms = spread(await times(backend, plan, one === square ? 1 : repeats, runs));
    const speed = (work: number, time: number) => work / time / 1e6;
    measured.push({
      name: one.name,
      shape: one.shape,
      gflops: speed(one.flops, ms.median),
      gbps: speed(one.bytes, ms.median),
      ofPeak: 0,
      best: { gflops: speed(one.flops, ms.min), gbps: speed(one.bytes, ms.min) },
    });
    plan.destroy();
    for (const buffer of one.buffers) buffer.destroy();
  }
  // The best product seen is the adapter's measure, also where a small one beats the large.
  const gflops = Math.max(...measured.map(({ best }) => best.gflops));
  return {
    peak: { gflops, gbps },
    ops: measured.map(({ best, ...op }) => ({
      ...op,
      ofPeak: Math.max(best.gflops / gflops, best.gbps / gbps),
    })),
  };
}

(globalThis as { bench?: unknown }).bench = {
  /** @returns whether WebGPU runs in software */
  async open(): Promise<boolean> {
    const report = await openDevice('webgpu');
    if (report.backend !== 'webgpu') throw new Error(report.notice ?? 'no WebGPU');
    return report.software;
  },
  ops: measureOps,
};
