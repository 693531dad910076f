/**
 * Runs the WGSL passes of an op on our WebGPU backend, in the command buffer that tfjs is filling anyway. Pipelines
 * are cached by key; uniform buffers by content and for good, so that nothing which a recorded bind group points at
 * is ever overwritten.
 */
import { assert } from '../../base/assert.ts';
import type { TensorSpec, WgslPass, WgslRunner } from './op.ts';
import type { TensorInfo } from './tfjs.ts';
import type { BackendInternals, PolypathBackend } from './webgpu-backend.ts';
import { shaderKey, shaderSource, uniformBytes } from './wgsl.ts';

/** What the runner has done since the page opened. tfjs's own dispatches are not counted. */
export const counters = { dispatches: 0, pipelines: 0, bindGroups: 0, uniformBuffers: 0 };

interface CompiledPass {
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

function compile(device: GPUDevice, pass: WgslPass): CompiledPass {
  const { passes } = cachesOf(device);
  const key = shaderKey(pass);
  const known = passes.get(key);
  if (known) {
    assert(known.body === pass.body, `two WGSL bodies share the name ${pass.name} and its constants`);
    return known;
  }
  const { limits } = device;
  assert(
    pass.bindings.length <= limits.maxStorageBuffersPerShaderStage,
    `pass ${pass.name} binds ${pass.bindings.length} buffers, this GPU takes ${limits.maxStorageBuffersPerShaderStage}`,
  );
  const layout = layoutOf(device, pass);
  const module = device.createShaderModule({ code: shaderSource(pass), label: pass.name });
  const pipeline = device.createComputePipeline({
    label: pass.name,
    layout: layout.pipeline,
    compute: { module, entryPoint: 'main' },
  });
  counters.pipelines++;
  const compiled = { pipeline, layout: layout.group, body: pass.body };
  passes.set(key, compiled);
  return compiled;
}

function uniformBuffer(device: GPUDevice, pass: WgslPass): GPUBuffer {
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

/** Records one dispatch, the way tfjs's `recordAndSubmit` does. */
function record(backend: PolypathBackend, pass: WgslPass, buffers: readonly GPUBuffer[]): void {
  const { device } = backend;
  const internals = backend as unknown as BackendInternals;
  const { pipeline, layout } = compile(device, pass);
  const entries: GPUBindGroupEntry[] = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
  if (pass.uniforms.length > 0)
    entries.push({ binding: entries.length, resource: { buffer: uniformBuffer(device, pass) } });
  const group = device.createBindGroup({ layout, entries });
  backend.ensureCommandEncoderReady();
  internals.computePassEncoder ??= internals.commandEncoder!.beginComputePass();
  const encoder = internals.computePassEncoder;
  encoder.setPipeline(pipeline);
  encoder.setBindGroup(0, group);
  encoder.dispatchWorkgroups(...pass.workgroups);
  internals.dispatchCountInPass++;
  counters.dispatches++;
  counters.bindGroups++;
  if (internals.dispatchCountInPass >= backend.submitBatch) {
    backend.endComputePassEncoder();
    backend.submitQueue();
  }
}

const isEmpty = ({ shape }: { shape: number[] }) => shape.includes(0);

/**
 * Allocates outputs and scratch, binds inputs where they lie and records the passes in order. Scratch goes back to the
 * buffer pool when the command buffer is sent. A pass without workgroups is left out.
 */
export const runWgsl: WgslRunner = (anyBackend, inputs, outputSpecs, plan) => {
  const backend = anyBackend as PolypathBackend;
  const internals = backend as unknown as BackendInternals;
  const allocate = ({ shape, dtype }: TensorSpec): TensorInfo => backend.makeTensorInfo(shape, dtype);
  const outputs = outputSpecs.map(allocate);
  const scratch = (plan.scratch ?? []).map(allocate);
  const infoOf = (arg: WgslPass['bindings'][number]['arg']): TensorInfo =>
    'input' in arg ? inputs[arg.input] : 'output' in arg ? outputs[arg.output] : scratch[arg.scratch];

  for (const info of outputs) {
    if (isEmpty(info))
      internals.tensorMap.get(info.dataId).values =
        info.dtype === 'int32' ? new Int32Array(0) : new Float32Array(0);
  }
  for (const pass of plan.passes) {
    if (pass.workgroups.includes(0)) continue;
    const buffers = pass.bindings.map(({ name, arg, access }) => {
      const info = infoOf(arg);
      assert(info && !isEmpty(info), `binding ${name} of pass ${pass.name} has no elements`);
      backend.uploadToGPU(info.dataId);
      internals.commandQueueOwnedIds.add(info.dataId);
      const data = internals.tensorMap.get(info.dataId);
      if (access === 'read_write') data.values = null;
      return data.resource!;
    });
    record(backend, pass, buffers);
  }
  for (const { dataId } of scratch) backend.disposeData(dataId);
  return outputs;
};
