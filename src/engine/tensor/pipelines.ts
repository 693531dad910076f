/**
 * Pipelines, layouts and uniform buffers of a device, cached for good: pipelines by key, uniform buffers by content, so
 * that nothing which a recorded bind group points at is ever overwritten.
 */
import { assert, messageOf } from '../../base/assert.ts';
import type { WgslPass } from './op.ts';
import { shaderKey, shaderSource, uniformBytes } from './wgsl.ts';

/** What our kernels have done since the page opened. tfjs's own dispatches are not counted. */
export const counters = { dispatches: 0, pipelines: 0, bindGroups: 0, uniformBuffers: 0, submits: 0 };

export interface CompiledPass {
  pipeline: GPUComputePipeline;
  layout: GPUBindGroupLayout;
  body: string;
}

interface DeviceCaches {
  passes: Map<string, CompiledPass>;
  layouts: Map<string, { group: GPUBindGroupLayout; pipeline: GPUPipelineLayout }>;
  uniforms: Map<string, GPUBuffer>;
}

const caches = new WeakMap<GPUDevice, DeviceCaches>();
function cachesOf(device: GPUDevice): DeviceCaches {
  let entry = caches.get(device);
  if (!entry) {
    entry = { passes: new Map(), layouts: new Map(), uniforms: new Map() };
    caches.set(device, entry);
  }
  return entry;
}

/** Distinct uniform contents kept; beyond it the cache starts anew and old buffers go with their last user. */
const MAX_UNIFORM_BUFFERS = 4096;

function layoutOf(device: GPUDevice, pass: WgslPass) {
  const { layouts } = cachesOf(device);
  const key =
    pass.bindings.map((b) => (b.access === 'read' ? 'r' : 'w')).join('') +
    (pass.uniforms.length > 0 ? 'u' : '');
  let layout = layouts.get(key);
  if (!layout) {
    const types: GPUBufferBindingType[] = pass.bindings.map((b) =>
      b.access === 'read' ? 'read-only-storage' : 'storage',
    );
    if (pass.uniforms.length > 0) types.push('uniform');
    const group = device.createBindGroupLayout({
      entries: types.map((type, binding) => ({
        binding,
        visibility: GPUShaderStage.COMPUTE,
        buffer: { type },
      })),
    });
    layout = { group, pipeline: device.createPipelineLayout({ bindGroupLayouts: [group] }) };
    layouts.set(key, layout);
  }
  return layout;
}

/** The pass's pipeline if it is there already. */
function known(device: GPUDevice, pass: WgslPass): CompiledPass | undefined {
  const compiled = cachesOf(device).passes.get(shaderKey(pass));
  assert(
    !compiled || compiled.body === pass.body,
    `two WGSL bodies share the name ${pass.name} and its constants`,
  );
  return compiled;
}

function descriptorOf(device: GPUDevice, pass: WgslPass): GPUComputePipelineDescriptor {
  const { maxStorageBuffersPerShaderStage: most } = device.limits;
  assert(
    pass.bindings.length <= most,
    `pass ${pass.name} binds ${pass.bindings.length} buffers, this GPU takes ${most}`,
  );
  const module = device.createShaderModule({ code: shaderSource(pass), label: pass.name });
  return {
    label: pass.name,
    layout: layoutOf(device, pass).pipeline,
    compute: { module, entryPoint: 'main' },
  };
}

function remember(device: GPUDevice, pass: WgslPass, pipeline: GPUComputePipeline): CompiledPass {
  counters.pipelines++;
  const compiled = { pipeline, layout: layoutOf(device, pass).group, body: pass.body };
  cachesOf(device).passes.set(shaderKey(pass), compiled);
  return compiled;
}

/** The pass's pipeline, compiled at once if need be (which holds the thread up). */
export function compile(device: GPUDevice, pass: WgslPass): CompiledPass {
  return (
    known(device, pass) ?? remember(device, pass, device.createComputePipeline(descriptorOf(device, pass)))
  );
}

/** Told how many of the kernels that are wanted now are compiled. */
export type CompileListener = (done: number, all: number) => void;
let compileListener: CompileListener = () => {};
export function onCompile(listener: CompileListener): void {
  compileListener = listener;
}

/** Compiles all pipelines that are not there yet, side by side and off this thread. */
export async function compileAll(device: GPUDevice, passes: readonly WgslPass[]): Promise<void> {
  const wanted = new Map<string, WgslPass>();
  for (const pass of passes) if (!known(device, pass)) wanted.set(shaderKey(pass), pass);
  let done = 0;
  await Promise.all(
    [...wanted.values()].map(async (pass) => {
      let pipeline: GPUComputePipeline;
      try {
        pipeline = await device.createComputePipelineAsync(descriptorOf(device, pass));
      } catch (error) {
        throw new Error(`The GPU cannot compile the kernel ${pass.name}: ${messageOf(error)}`);
      }
      remember(device, pass, pipeline);
      compileListener(++done, wanted.size);
    }),
  );
}

/** A buffer with the pass's uniforms in it. */
export function uniformBuffer(device: GPUDevice, pass: WgslPass): GPUBuffer {
  const { uniforms } = cachesOf(device);
  let key = '';
  for (const { type, value } of pass.uniforms) key += `${type}${value},`;
  let buffer = uniforms.get(key);
  if (!buffer) {
    if (uniforms.size >= MAX_UNIFORM_BUFFERS) uniforms.clear();
    const bytes = uniformBytes(pass);
    buffer = device.createBuffer({
      size: bytes.byteLength,
      usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
      label: `uniforms ${key}`,
    });
    device.queue.writeBuffer(buffer, 0, bytes);
    uniforms.set(key, buffer);
    counters.uniformBuffers++;
  }
  return buffer;
}
