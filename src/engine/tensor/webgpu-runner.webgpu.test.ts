import { beforeAll, describe, expect, test } from 'vitest';
import { Rng } from '../../base/rng.ts';
import { defineOp, type OpSpec } from './op.ts';
import { cachedAttentionCases } from './ops/cached-attention/cached-attention.cases.ts';
import { cachedAttentionOp } from './ops/cached-attention/cached-attention.ts';
import { ropeAttentionCases } from './ops/rope-attention/rope-attention.cases.ts';
import { ropeAttentionOp } from './ops/rope-attention/rope-attention.ts';
import { counters } from './pipelines.ts';
import { expectClose, f32, normals, requireWebGpu, runOp } from './testing.ts';
import { tf } from './tfjs.ts';
import type { PolypathBackend } from './webgpu-backend.ts';
import { read, u32, type Wgsl, write } from './wgsl.ts';

const available = await requireWebGpu();

const notPlain: OpSpec<object>['reference'] = () => {
  throw new Error('WebGPU only');
};

/** y = x + add, on one thread an element. */
const shiftBody = /* wgsl */ `
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < u.size) { y[id.x] = x[id.x] + f32(ADD); }
}`;
function shift(name: string, body: string): Wgsl<{ add: number }> {
  return ([x], _, { add }) => ({
    passes: [
      {
        name,
        constants: { ADD: add },
        bindings: [read('x', { input: 0 }), write('y', { output: 0 })],
        uniforms: [u32('size', x.shape[0])],
        body,
        workgroups: [Math.ceil(x.shape[0] / 64), 1, 1],
      },
    ],
  });
}
const shiftOp = defineOp<{ add: number }>({
  name: 'test-shift',
  outputs: ([x]) => [x],
  reference: notPlain,
  wgsl: shift('test-shift', shiftBody),
});

describe.skipIf(!available)('the WGSL runner', () => {
  let backend: PolypathBackend;
  beforeAll(() => {
    backend = tf.backend() as unknown as PolypathBackend;
  });

  test('a pipeline is made once per set of constants, not per length', async () => {
    const run = async (add: number, size: number) => {
      const { outputs } = await runOp(shiftOp, {
        name: '',
        inputs: [f32([size], new Float32Array(size).fill(1))],
        attributes: { add },
      });
      expectClose(outputs[0], new Float32Array(size).fill(1 + add), {
        atol: 0,
        rtol: 0,
        why: 'small integers',
      });
    };
    await run(1, 3);
    const before = { ...counters };
    await run(1, 3);
    await run(1, 200);
    expect(counters.pipelines).toBe(before.pipelines);
    expect(counters.dispatches).toBe(before.dispatches + 2);
    expect(counters.uniformBuffers).toBe(before.uniformBuffers + 1);
    await run(2, 3);
    expect(counters.pipelines).toBe(before.pipelines + 1);
  });

  test('two bodies under one name are refused', () => {
    const other = defineOp<{ add: number }>({
      name: 'test-shift-2',
      outputs: ([x]) => [x],
      reference: notPlain,
      wgsl: shift('test-shift', shiftBody.replace('+', '-')),
    });
    expect(() => other([tf.tensor1d([1])], { add: 1 })).toThrow(/share the name test-shift/);
  });

  test('tfjs ops before and after ours see the same buffers', async () => {
    const x = tf.tensor1d([1, 2, 3]);
    const y = tf.tidy(() => tf.mul(shiftOp([tf.add(x, 10)], { add: 5 })[0], 2));
    expect([...(await y.data())]).toEqual([32, 34, 36]);
    tf.dispose([x, y]);
  });

  test('an empty tensor runs no pass and reads as empty', async () => {
    const x = tf.tensor1d([], 'float32');
    const [y] = shiftOp([x], { add: 1 });
    expect((await y.data()).length).toBe(0);
    tf.dispose([x, y]);
  });

  test('tensors and GPU bytes do not grow from call to call', async () => {
    const bytes = () => tf.memory() as unknown as { numTensors: number; numBytesInGPUAllocated?: number };
    const step = async () => {
      await runOp(ropeAttentionOp, ropeAttentionCases()[2]);
      await runOp(cachedAttentionOp, cachedAttentionCases()[1]);
    };
    await step();
    await step();
    const before = { tensors: bytes().numTensors, ...backend.memory() };
    for (let i = 0; i < 5; i++) await step();
    expect({ tensors: bytes().numTensors, ...backend.memory() }).toEqual(before);
  });

  test('a tensor that no binding can hold is refused with a sentence', () => {
    const elements =
      Math.min(backend.device.limits.maxStorageBufferBindingSize, backend.device.limits.maxBufferSize) / 4;
    const huge = defineOp<object>({
      name: 'test-huge',
      outputs: () => [{ shape: [elements + 64], dtype: 'float32' }],
      reference: notPlain,
      wgsl: ([x], [y]) => shift('test-shift', shiftBody)([x], [y], { add: 1 }),
    });
    const x = tf.tensor1d([1]);
    expect(() => huge([x], {})).toThrow(/needs .*B, but this GPU takes at most .*B in one piece/);
    x.dispose();
  });

  test('an error that the GPU reports makes reads fail until it is cleared', async () => {
    const broken = defineOp<{ add: number }>({
      name: 'test-broken',
      outputs: ([x]) => [x],
      reference: notPlain,
      wgsl: shift('test-broken', 'fn main() { nonsense }'),
    });
    const x = normals(new Rng(19), [4]);
    const opCase = { name: '', inputs: [x], attributes: { add: 1 } };
    await expect(runOp(broken, opCase)).rejects.toThrow(/The GPU reported an error/);
    await expect(runOp(shiftOp, opCase)).rejects.toThrow(/The GPU reported an error/);
    backend.clearFault();
    await runOp(shiftOp, opCase);
  });
});
