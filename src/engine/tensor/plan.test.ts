import { describe, expect, test } from 'vitest';
import { DeviceBuffer } from './device-buffer.ts';
import { defineOp } from './op.ts';
import { PlanBuilder, type Value } from './plan.ts';
import { elementGrid, read, write } from './wgsl.ts';

const never = () => {
  throw new Error('not run here');
};

/** y = f(x), nothing more. */
const step = defineOp<object>({
  name: 'plan-test-step',
  outputs: ([x]) => [{ shape: x.shape, dtype: 'float32' }],
  reference: never,
  wgsl: ([x]) => ({
    passes: [
      {
        name: 'plan-test-step',
        constants: {},
        bindings: [read('x', { input: 0 }), write('y', { output: 0 })],
        uniforms: [],
        body: '',
        workgroups: elementGrid(x.shape[0]),
      },
    ],
  }),
});

/** Adds x to a buffer that is not the plan's. */
const add = defineOp<object>({
  name: 'plan-test-add',
  outputs: () => [],
  reference: never,
  wgsl: ([x]) => ({
    passes: [
      {
        name: 'plan-test-add',
        constants: {},
        bindings: [read('x', { input: 0 }), write('sum', { input: 1 })],
        uniforms: [],
        body: '',
        workgroups: elementGrid(x.shape[0]),
      },
    ],
  }),
});

const input = (b: PlanBuilder) => b.bind(new DeviceBuffer(400, 'input'), [100]);

describe('plan', () => {
  test('a chain needs two pieces of memory, however long it is', () => {
    const b = new PlanBuilder();
    let x: Value = input(b);
    for (let i = 0; i < 10; i++) [x] = b.call(step, [x], {});
    b.call(add, [x, b.bind(new DeviceBuffer(400, 'sum'), [100])], {});
    const { sizes, pieceOf } = b.layout();
    expect(sizes).toEqual([400, 400]);
    expect(pieceOf.size).toBe(10);
  });

  test('values that are alive together never share memory', () => {
    const b = new PlanBuilder();
    const sum = b.bind(new DeviceBuffer(400, 'sum'), [100]);
    const values: Value[] = [input(b)];
    for (let i = 0; i < 6; i++) values.push(b.call(step, [values[i]], {})[0]);
    // The way back: all of them are needed again, in reverse.
    for (const value of values.toReversed()) b.call(add, [value, sum], {});
    const { sizes, pieceOf } = b.layout();
    expect(sizes).toHaveLength(6);
    expect(new Set(pieceOf.values()).size).toBe(6);
  });

  test('what nobody needs is left out; a kept value is needed and shares with nobody after it', () => {
    const b = new PlanBuilder();
    const x = input(b);
    const [kept] = b.call(step, [x], {});
    b.keep(kept);
    const [dead] = b.call(step, [kept], {});
    b.call(step, [dead], {});
    expect(b.dispatches).toHaveLength(1);
    const [y] = b.call(step, [x], {});
    b.call(add, [y, b.bind(new DeviceBuffer(400, 'sum'), [100])], {});
    expect(b.dispatches).toHaveLength(3);
    const { pieceOf } = b.layout();
    expect(pieceOf.get(kept.id)).not.toBe(pieceOf.get(y.id));
  });

  test('a piece grows for a larger value instead of a new one', () => {
    const b = new PlanBuilder();
    const sum = b.bind(new DeviceBuffer(4000, 'sum'), [1000]);
    const [small] = b.call(step, [input(b)], {});
    b.call(add, [small, sum], {});
    const [large] = b.call(step, [b.bind(new DeviceBuffer(4000, 'input'), [1000])], {});
    b.call(add, [large, sum], {});
    expect(b.layout().sizes).toEqual([4000]);
  });

  test('a reshaped value is the same memory', () => {
    const b = new PlanBuilder();
    const [y] = b.call(step, [input(b)], {});
    const again = b.reshape(y, [10, 10]);
    b.call(add, [again, b.bind(new DeviceBuffer(400, 'sum'), [100])], {});
    expect(b.layout().sizes).toEqual([400]);
    expect(() => b.reshape(y, [7, 7])).toThrow('cannot see');
  });
});
