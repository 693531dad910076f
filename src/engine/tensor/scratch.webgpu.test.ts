import { test } from 'vitest';
import { requireWebGpu, runOp, normals, i32, f32 } from './testing.ts';
import { Rng } from '../../base/rng.ts';
import { tf } from './tfjs.ts';
import { counters } from './webgpu-runner.ts';
import { cachedAttentionOp } from './ops/cached-attention/cached-attention.ts';
import { ropeAttentionOp, ropeAttentionGradOp } from './ops/rope-attention/rope-attention.ts';
import { rmsNormOp } from './ops/rms-norm/rms-norm.ts';
import { linearOp } from './ops/linear/linear.ts';
import { sampleOp } from './ops/sample/sample.ts';
import { swigluOp } from './ops/swiglu/swiglu.ts';
import { rotationTables } from './ops/rope-attention/rope-attention.cases.ts';
await requireWebGpu();
const rng = new Rng(1);
test('speed', async () => {
  const T = (h: any) => tf.tensor(h.values, h.shape, h.dtype);
  const bench = async (label: string, op: any, inputs: any[], attrs: any, reps = 10) => {
    const ts = inputs.map(T);
    const run = async (n: number) => { let o: any[] = []; for (let i = 0; i < n; i++) { tf.dispose(o); o = op(ts, attrs); } await (o[0] ?? ts[0]).data(); tf.dispose(o); };
    const t0 = performance.now(); await run(1); const t1 = performance.now(); await run(1);
    const t2 = performance.now(); await run(reps); const t3 = performance.now();
    console.log(label, 'first', (t1 - t0).toFixed(0), 'one', (t2 - t1).toFixed(1), 'each', ((t3 - t2) / reps).toFixed(2));
  };
  for (const [N, slots] of [[1, 64], [32, 256]]) {
    const H = 4, Hkv = 2, D = 16, C = 64, V = 64, F = 176;
    const col = (f: (n: number) => number) => i32([N], Array.from({ length: N }, (_, n) => f(n)));
    await bench(`cached N=${N} slots=${slots}`, cachedAttentionOp, [normals(rng, [N, H * D]), normals(rng, [N, Hkv * D]), normals(rng, [N, Hkv * D]), normals(rng, [N * slots, Hkv * D]), normals(rng, [N * slots, Hkv * D]), i32([N * slots], new Int32Array(N * slots)), ...rotationTables(D), col(() => 5), col(() => 0), col((n) => n * slots + slots - 1)], { slotsPerRow: slots, H, Hkv, D });
    await bench(`rms N=${N}`, rmsNormOp, [normals(rng, [N, C]), normals(rng, [C])], { eps: 1e-6 });
    await bench(`linear N=${N} ${C}x${F}`, linearOp, [normals(rng, [N, C]), normals(rng, [F, C])], {});
    await bench(`swiglu N=${N}`, swigluOp, [normals(rng, [N, F]), normals(rng, [N, F])], {});
    await bench(`sample N=${N}`, sampleOp, [normals(rng, [N, V]), col(n => n), col(n => n), col(() => -1)], { temperature: 1, topK: 0, topP: 1, minP: 0 });
    await bench(`sample topp N=${N}`, sampleOp, [normals(rng, [N, V]), col(n => n), col(n => n), col(() => -1)], { temperature: 1, topK: 0, topP: 0.9, minP: 0 });
  }
  const B = 8, TT = 256, H = 4, Hkv = 2, D = 16, N = B * TT;
  const col = (f: (n: number) => number) => i32([N], Array.from({ length: N }, (_, n) => f(n)));
  const ins = [normals(rng, [N, H * D]), normals(rng, [N, Hkv * D]), normals(rng, [N, Hkv * D]), ...rotationTables(D), col(n => n % 64), col(() => 0)];
  await bench('attention', ropeAttentionOp, ins, { B, T: TT, H, Hkv, D }, 3);
  await bench('attention grad', ropeAttentionGradOp, [normals(rng, [N, H * D]), ...ins, normals(rng, [N, H * D]), normals(rng, [N, H])], { B, T: TT, H, Hkv, D }, 3);
  await bench('linear 2048x64x176', linearOp, [normals(rng, [N, 64]), normals(rng, [176, 64])], {}, 3);
  await bench('rms 2048', rmsNormOp, [normals(rng, [N, 64]), normals(rng, [64])], { eps: 1e-6 }, 3);
  console.log(JSON.stringify(counters));
});
