/**
 * The gate that fast kernels pass before a run trusts them: each is run once on small numbers and compared with its slow
 * truth on the host. A style of kernels that fails gives way to the other one, and a device on which neither is right is
 * not used at all: drivers have computed garbage in silence before.
 */
import { Rng } from '../../base/rng.ts';
import { type BackendName, type DeviceReport, openBackend } from '../tensor/device.ts';
import type { Op } from '../tensor/op.ts';
import { expectClose, f32, type HostTensor, i32, normals, runOp, runReference } from '../tensor/op-check.ts';
import { arenaAdamwOp } from '../tensor/ops/adamw/adamw.ts';
import { cachedAttentionPackedOp } from '../tensor/ops/cached-attention/cached-attention-packed.ts';
import { embeddingGradAddOp, embeddingOp } from '../tensor/ops/embedding/embedding.ts';
import { linearInputGradOp, linearOp, linearWeightGradAddOp } from '../tensor/ops/linear/linear.ts';
import { normGradAddOp } from '../tensor/ops/rms-norm/add-norm.ts';
import { rmsNormOp } from '../tensor/ops/rms-norm/rms-norm.ts';
import {
  attendGradOp,
  attendOp,
  rotatePackedGradOp,
  rotatePackedOp,
} from '../tensor/ops/rope-attention/packed-attention.ts';
import { ropeTableValues } from '../tensor/ops/rope-attention/rope-tables.ts';
import { sampleOp } from '../tensor/ops/sample/sample.ts';
import { swigluPackedGradOp, swigluPackedOp } from '../tensor/ops/swiglu/swiglu-packed.ts';
import { logitChunkGradOp } from '../tensor/ops/token-loss/logit-chunk.ts';
import { logitLossOp } from '../tensor/ops/token-loss/token-loss.ts';
import { sequenceRatioOp } from '../tensor/ops/token-objective/sequence-ratio.ts';
import {
  OBJECTIVE_SIZE,
  OBJECTIVE_SUMS_SIZE,
  tokenObjectiveOp,
} from '../tensor/ops/token-objective/token-objective.ts';
import { type KernelStyle, kernelStyle, setKernelStyle } from '../tensor/wgsl.ts';

const TOLERANCE = { atol: 1e-3, rtol: 1e-3, why: 'right to three digits: a wrong kernel is not' };

type Check = () => Promise<void>;

function check<A>(op: Op<A>, inputs: HostTensor[], attributes: A): [name: string, run: Check] {
  return [
    op.spec.name,
    async () => {
      const call = { name: 'gate', inputs, attributes };
      const expected = runReference(op, call);
      const actual = await runOp(op, call);
      for (const part of ['outputs', 'inputs'] as const)
        expected[part].forEach((values, i) => {
          expectClose(actual[part][i], values, TOLERANCE, op.spec.name);
        });
    },
  ];
}

/** Small calls of every kernel of a captured step and of rollouts; sizes are odd on purpose where they may be. */
function checks(): [name: string, run: Check][] {
  const rng = new Rng(0x6a7e);
  const [B, T, H, Hkv, D] = [2, 37, 4, 2, 8];
  const N = B * T;
  const C = 40;
  const V = 67;
  const shape = { B, T, H, Hkv, D };
  const ints = (count: number, of: (n: number) => number) =>
    i32(
      [count],
      Array.from({ length: count }, (_, n) => of(n)),
    );
  const out = <A>(op: Op<A>, inputs: HostTensor[], attributes: A) =>
    runReference(op, { name: 'gate', inputs, attributes }).outputs;
  const x = normals(rng, [N, C]);
  const dy = normals(rng, [N, C]);
  const w = normals(rng, [52, C], 0.2);
  const dz = normals(rng, [N, 52]);
  const norm = normals(rng, [C]);
  const inv = f32([N], out(rmsNormOp, [x, norm], { eps: 1e-5 })[1]);
  const gu = normals(rng, [N, 2 * C]);
  const tables = ropeTableValues(T, D, 10000);
  const [cos, sin] = [tables.cos, tables.sin].map((values) => f32([T, D / 2], values));
  const positions = ints(N, (n) => n % T);
  // A fork in every row: two paths from slot 10 on, joined at slot 24.
  const branches = ints(N, (n) => (n % T < 10 || n % T >= 24 ? 0 : 17 + (n % 2)));
  const qkv = normals(rng, [N, (H + 2 * Hkv) * D]);
  const [q, k, v] = out(rotatePackedOp, [qkv, cos, sin, positions], shape).map((values, i) =>
    f32([N, (i === 0 ? H : Hkv) * D], values),
  );
  const [attended, stats] = out(attendOp, [q, k, v, branches], shape);
  const dq = normals(rng, [N, H * D]);
  const [dk, dv] = [normals(rng, [N, Hkv * D]), normals(rng, [N, Hkv * D])];
  const logits = normals(rng, [N, V], 2);
  const targets = ints(N, (n) => (n % 5 === 0 ? -1 : (7 * n) % V));
  const [logp, entropy, lse] = out(logitLossOp, [logits, targets], { temperature: 1.1 }).map((values) =>
    f32([N], values),
  );
  const info = f32(
    [N, 4],
    Array.from(logp.values, (value, n) => [
      value - 0.3 * (n % 3),
      rng.normal(),
      n % 7 === 0 ? 0 : 1,
      0,
    ]).flat(),
  );
  const row = [normals(rng, [N]), normals(rng, [N])];
  /** @param kind see `OBJECTIVE_KINDS` */
  const objective = (kind: number) => [
    logp,
    entropy,
    info,
    f32([OBJECTIVE_SIZE], [kind, 60, 0.2, 0.28, 3, 0.01, 0.04, 1.2]),
    f32([OBJECTIVE_SUMS_SIZE], Array(OBJECTIVE_SUMS_SIZE).fill(0)),
  ];
  const size = 640;
  const squares = f32(
    [size],
    normals(rng, [size]).values.map((value) => value * value),
  );
  const lanes = 6;
  const stride = 64;
  const laneTable = new Int32Array(3 * stride);
  laneTable.set([3, 4, 5, 2, 0, 1], 0); // positions
  laneTable.set([0, 17, 18, 0, 0, 0], stride);
  laneTable.set([3, 4, 5, 10, -1, 9], 2 * stride); // slots: two rows of eight
  const cache = () => normals(rng, [16, Hkv * D]);
  return [
    check(embeddingOp, [w, ints(9, (n) => (5 * n) % 52)], {}),
    check(embeddingGradAddOp, [ints(N, (n) => (5 * n) % 52), dy, w], { firstRow: 0 }),
    check(linearOp, [x, w, normals(rng, [52]), dz], { bias: true, residual: true }),
    check(linearInputGradOp, [dz, w, x], { residual: true }),
    check(linearWeightGradAddOp, [dz, x, w], {}),
    check(rmsNormOp, [x, norm], { eps: 1e-5 }),
    check(normGradAddOp, [dy, x, norm, inv, normals(rng, [C]), x], { residual: true }),
    check(swigluPackedOp, [gu], {}),
    check(swigluPackedGradOp, [dy, gu], {}),
    check(rotatePackedOp, [qkv, cos, sin, positions], shape),
    check(attendOp, [q, k, v, branches], shape),
    check(attendGradOp, [dq, q, k, v, branches, f32([N, H * D], attended), f32([N, 2 * H], stats)], shape),
    check(rotatePackedGradOp, [dq, dk, dv, cos, sin, positions], shape),
    check(logitLossOp, [logits, targets], { temperature: 1.1 }),
    check(logitChunkGradOp, [logits, targets, lse, entropy, ...row], { temperature: 1.1, firstId: 0 }),
    check(tokenObjectiveOp, objective(1), {}),
    check(tokenObjectiveOp, objective(2), {}),
    check(sequenceRatioOp, [logp, info], { T }),
    check(tokenObjectiveOp, [...objective(1), f32([N], out(sequenceRatioOp, [logp, info], { T })[0])], {}),
    check(
      arenaAdamwOp,
      [
        f32([8], [1e-3, 0.9, 0.99, 1e-8, 0.1, 1, 0.1, 0.01]),
        f32([1], [0]),
        ...[1, 1, 0.1].map((scale) => normals(rng, [size], scale)),
        squares,
      ],
      { decayEnds: [256] },
    ),
    check(
      cachedAttentionPackedOp,
      [
        normals(rng, [lanes, (H + 2 * Hkv) * D]),
        cache(),
        cache(),
        ints(16, () => 0),
        cos,
        sin,
        i32([3, stride], laneTable),
      ],
      { slotsPerRow: 8, H, Hkv, D },
    ),
    check(
      sampleOp,
      [
        normals(rng, [lanes, V]),
        ints(lanes, (n) => 977 * n),
        ints(lanes, (n) => n),
        ints(lanes, (n) => (n % 2 === 0 ? -1 : 3)),
      ],
      { temperature: 1, topK: 0, topP: 1, minP: 0 },
    ),
  ];
}

export interface GateReport {
  style: KernelStyle;
  /** Kernels that were compared with their slow truths. */
  checked: number;
  /** What was wrong in a style that was given up, a line each. */
  failures: string[];
}

/** Compares every kernel in the present style with its slow truth. */
export async function failedKernels(): Promise<{ checked: number; failures: string[] }> {
  const all = checks();
  const failures: string[] = [];
  for (const [name, run] of all) {
    try {
      await run();
    } catch (error) {
      failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { checked: all.length, failures };
}

/** Leaves the kernels in a style that computes right numbers, or returns null if neither does. */
export async function passGate(): Promise<GateReport | null> {
  const first = kernelStyle();
  const lost: string[] = [];
  for (const style of [first, first === 'tiled' ? 'direct' : 'tiled'] as const) {
    setKernelStyle(style);
    const { checked, failures } = await failedKernels();
    if (failures.length === 0) return { style, checked, failures: lost };
    lost.push(...failures);
  }
  console.warn(`WebGPU kernels that failed their check:\n${lost.join('\n')}`);
  return null;
}

/** Opens a backend for a run: WebGPU only if its kernels compute right numbers. */
export async function openDevice(choice: BackendName | 'auto'): Promise<DeviceReport> {
  const report = await openBackend(choice);
  if (report.backend !== 'webgpu') return report;
  const gate = await passGate();
  if (gate) return { ...report, kernels: { style: gate.style, checked: gate.checked } };
  const other = await openBackend('wasm');
  return {
    ...other,
    notice: `WebGPU on ${report.name} computes wrong numbers, so it is not used: a newer browser or driver may mend that. Training runs on the processor instead, slowly.`,
  };
}
