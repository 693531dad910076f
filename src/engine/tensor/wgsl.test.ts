import { expect, test } from 'vitest';
import type { WgslPass } from './op.ts';
import {
  elementGrid,
  f32,
  flatGrid,
  i32,
  read,
  shaderKey,
  shaderSource,
  u32,
  uniformBytes,
  write,
} from './wgsl.ts';

const pass: WgslPass = {
  name: 'p',
  constants: { C: 12, EPS: 1e-6 },
  bindings: [read('x', { input: 0 }), write('y', { output: 0 }, 'vec4<f32>')],
  uniforms: [u32('N', 7), f32('scale', 0.5), i32('shift', -1)],
  body: 'BODY',
  workgroups: [1, 1, 1],
};

test('constants, bindings and uniforms are declared, in order', () => {
  expect(shaderSource(pass)).toContain(
    [
      'const C = 12;',
      'const EPS = 0.000001;',
      '@group(0) @binding(0) var<storage, read> x: array<f32>;',
      '@group(0) @binding(1) var<storage, read_write> y: array<vec4<f32>>;',
      'struct Uniforms { N: u32, scale: f32, shift: i32 }',
      '@group(0) @binding(2) var<uniform> u: Uniforms;',
    ].join('\n'),
  );
});

test('the key has every constant and type, but no uniform value', () => {
  const key = shaderKey(pass);
  expect(shaderKey({ ...pass, uniforms: [u32('N', 8), f32('scale', 1), i32('shift', 0)] })).toBe(key);
  expect(shaderKey({ ...pass, constants: { C: 13, EPS: 1e-6 } })).not.toBe(key);
  expect(shaderKey({ ...pass, bindings: [read('x', { input: 0 }), write('y', { output: 0 })] })).not.toBe(
    key,
  );
  expect(shaderKey({ ...pass, uniforms: pass.uniforms.slice(1) })).not.toBe(key);
});

test('a constant that WGSL cannot write is refused', () => {
  expect(() => shaderSource({ ...pass, constants: { C: Number.POSITIVE_INFINITY } })).toThrow(/constant C/);
});

test('uniforms are packed as 4-byte scalars, padded to 16 bytes', () => {
  const bytes = uniformBytes(pass);
  expect(bytes.byteLength).toBe(16);
  expect(new Uint32Array(bytes)[0]).toBe(7);
  expect(new Float32Array(bytes)[1]).toBe(0.5);
  expect(new Int32Array(bytes)[2]).toBe(-1);
});

test('workgroup counts beyond 65535 fold into y and cover everything', () => {
  expect(flatGrid(0)).toEqual([0, 1, 1]);
  expect(flatGrid(65535)).toEqual([65535, 1, 1]);
  for (const count of [65536, 1_000_003]) {
    const [x, y] = flatGrid(count);
    expect(Math.max(x, y)).toBeLessThanOrEqual(65535);
    expect(x * y).toBeGreaterThanOrEqual(count);
    expect(x * y).toBeLessThan(count + y);
  }
  expect(elementGrid(257)).toEqual([2, 1, 1]);
});
