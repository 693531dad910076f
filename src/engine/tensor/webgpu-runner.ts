/** Runs the WGSL passes of an op on our WebGPU backend, in the command buffer that tfjs is filling anyway. */
import { assert } from '../../base/assert.ts';
import type { TensorSpec, WgslPass, WgslRunner } from './op.ts';
import { compile, counters, uniformBuffer } from './pipelines.ts';
import type { TensorInfo } from './tfjs.ts';
import type { BackendInternals, PolypathBackend } from './webgpu-backend.ts';

/** Records one dispatch, the way tfjs's `recordAndSubmit` does. */
function record(backend: PolypathBackend, pass: WgslPass, resources: readonly GPUBufferBinding[]): void {
  const { device } = backend;
  const internals = backend as unknown as BackendInternals;
  const { pipeline, layout } = compile(device, pass);
  const entries: GPUBindGroupEntry[] = resources.map((resource, binding) => ({ binding, resource }));
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
    const resources = pass.bindings.map(({ name, arg, access }) => {
      const info = infoOf(arg);
      assert(info && !isEmpty(info), `binding ${name} of pass ${pass.name} has no elements`);
      backend.uploadToGPU(info.dataId);
      internals.commandQueueOwnedIds.add(info.dataId);
      const data = internals.tensorMap.get(info.dataId);
      if (access === 'read_write') data.values = null;
      return { buffer: data.resource!, ...backend.viewOf(info.dataId) };
    });
    record(backend, pass, resources);
  }
  for (const { dataId } of scratch) backend.disposeData(dataId);
  return outputs;
};
