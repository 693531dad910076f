/**
 * Text of a WGSL pass. Constants, bindings and uniforms are declared from the pass itself, and the pipeline key is
 * made from the very same objects, so no number can be in the source and missing from the key.
 */
import { assert } from '../../base/assert.ts';
import type { Argument, OpSpec, WgslPass } from './op.ts';

/** The WGSL form of an op: its passes for given shapes and attributes. */
export type Wgsl<Attributes> = NonNullable<OpSpec<Attributes>['wgsl']>;
type Binding = WgslPass['bindings'][number];
type Uniform = WgslPass['uniforms'][number];

export const read = (name: string, arg: Argument, type = 'f32'): Binding => ({
  name,
  arg,
  type,
  access: 'read',
});
export const write = (name: string, arg: Argument, type = 'f32'): Binding => ({
  name,
  arg,
  type,
  access: 'read_write',
});
export const u32 = (name: string, value: number): Uniform => ({ name, type: 'u32', value });
export const i32 = (name: string, value: number): Uniform => ({ name, type: 'i32', value });
export const f32 = (name: string, value: number): Uniform => ({ name, type: 'f32', value });

/**
 * How kernels are written for the device at hand. `tiled`: operands pass through workgroup memory, as a graphics card
 * likes it. `direct`: every thread keeps a block of results in registers and reads its operands straight from memory,
 * without barriers, which software WebGPU runs many times faster.
 */
export type KernelStyle = 'tiled' | 'direct';
let style: KernelStyle = 'tiled';
export const kernelStyle = (): KernelStyle => style;
export function setKernelStyle(next: KernelStyle): void {
  style = next;
}

/** Largest workgroup count in one dimension that every WebGPU device takes. */
const MAX_WORKGROUPS = 65535;

/** Threads per workgroup of element-wise kernels. */
export const FLAT_SIZE = 256;

/** Workgroup counts for `count` workgroups in a row; beyond 65535 they fold into y (`flat_group` unfolds them). */
export function flatGrid(count: number): [number, number, number] {
  const y = Math.max(1, Math.ceil(count / MAX_WORKGROUPS));
  return [Math.ceil(count / y), y, 1];
}

/** Workgroup counts for `elements` threads in workgroups of FLAT_SIZE (`flat_thread` gives the thread's number). */
export function elementGrid(elements: number): [number, number, number] {
  return flatGrid(Math.ceil(elements / FLAT_SIZE));
}

/**
 * WGSL functions `group_sum(value, t)` and `group_max(value, t)`: over one f32 of each of the workgroup's `threads` (a
 * power of two), for all of them. The order is fixed, so the result is the same on every run.
 */
export const groupReduceWgsl = (threads: number): string => {
  const heads = threads > 64 ? 16 : 8;
  // Two barriers: a call writes `group_parts` when all have read it before the last call's second barrier, and
  // `group_heads` when all have passed its own first.
  const reduce = (name: string, combine: string) => /* wgsl */ `
fn ${name}(value: f32, t: u32) -> f32 {
  group_parts[t] = value;
  workgroupBarrier();
  if (t < ${heads}u) {
    var a = group_parts[t];
    for (var i = t + ${heads}u; i < ${threads}u; i += ${heads}u) {
      let b = group_parts[i];
      a = ${combine};
    }
    group_heads[t] = a;
  }
  workgroupBarrier();
  var a = group_heads[0];
  for (var i = 1u; i < ${heads}u; i++) {
    let b = group_heads[i];
    a = ${combine};
  }
  return a;
}`;
  return `
var<workgroup> group_parts: array<f32, ${threads}>;
var<workgroup> group_heads: array<f32, ${heads}>;
${reduce('group_sum', 'a + b')}
${reduce('group_max', 'max(a, b)')}
`;
};

/** Functions that every shader may call. Unused ones cost nothing after compilation. */
const prelude = /* wgsl */ `
fn flat_group(group: vec3<u32>, groups: vec3<u32>) -> u32 { return group.y * groups.x + group.x; }
fn flat_thread(group: vec3<u32>, groups: vec3<u32>, local: u32) -> u32 {
  return flat_group(group, groups) * ${FLAT_SIZE}u + local;
}
`;

/** Key of the pass's pipeline: everything that goes into `shaderSource` but the body, which is fixed per name. */
export function shaderKey(pass: WgslPass): string {
  let key = pass.name;
  for (const name in pass.constants) key += `|${name}=${pass.constants[name]}`;
  for (const { name, type, access } of pass.bindings) key += `|${name}:${type}:${access}`;
  for (const { name, type } of pass.uniforms) key += `|${name}:${type}`;
  return key;
}

/** The whole WGSL module. Bindings come in order, the uniform struct `u` last. */
export function shaderSource(pass: WgslPass): string {
  let source = '';
  for (const [name, value] of Object.entries(pass.constants)) {
    assert(Number.isFinite(value), `constant ${name} of pass ${pass.name} is ${value}`);
    // Abstract numbers: usable as u32, i32 and f32 alike.
    source += `const ${name} = ${value};\n`;
  }
  pass.bindings.forEach(({ name, type, access }, i) => {
    source += `@group(0) @binding(${i}) var<storage, ${access}> ${name}: array<${type}>;\n`;
  });
  if (pass.uniforms.length > 0) {
    source += `struct Uniforms { ${pass.uniforms.map(({ name, type }) => `${name}: ${type}`).join(', ')} }\n`;
    source += `@group(0) @binding(${pass.bindings.length}) var<uniform> u: Uniforms;\n`;
  }
  return source + prelude + pass.body;
}

/** Contents of the uniform struct: 4-byte scalars one after the other, padded to 16 bytes. */
export function uniformBytes(pass: WgslPass): ArrayBuffer {
  const bytes = new ArrayBuffer(Math.ceil(pass.uniforms.length / 4) * 16);
  const view = new DataView(bytes);
  pass.uniforms.forEach(({ type, value }, i) => {
    if (type === 'f32') view.setFloat32(4 * i, value, true);
    else if (type === 'i32') view.setInt32(4 * i, value, true);
    else view.setUint32(4 * i, value, true);
  });
  return bytes;
}
