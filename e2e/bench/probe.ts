/**
 * Counts what a page asks of WebGPU, whichever library asks: installed before any script of the page runs. Counts are
 * exact and the same on every machine. Workers are not seen; no peer computes in one.
 */

/** Calls since the page opened, and bytes of buffers that were not destroyed (garbage collection is not seen). */
export interface ProbeCounts {
  dispatches: number;
  submits: number;
  passes: number;
  newBuffers: number;
  newBindGroups: number;
  newPipelines: number;
  writes: number;
  readbacks: number;
  bytes: number;
}

/** For Playwright's `addInitScript`; `globalThis.probe` then holds the counts. */
export const probeScript = `(() => {
  const probe = (globalThis.probe = {
    dispatches: 0, submits: 0, passes: 0, newBuffers: 0, newBindGroups: 0, newPipelines: 0, writes: 0, readbacks: 0,
    bytes: 0,
  });
  const wrap = (type, name, before, after = () => {}) => {
    const prototype = globalThis[type]?.prototype;
    const original = prototype?.[name];
    if (!original) return;
    prototype[name] = function (...args) {
      before(this, args);
      const result = original.apply(this, args);
      after(result, args);
      return result;
    };
  };
  const count = (type, name, key) => wrap(type, name, () => void probe[key]++);
  count('GPUComputePassEncoder', 'dispatchWorkgroups', 'dispatches');
  count('GPUComputePassEncoder', 'dispatchWorkgroupsIndirect', 'dispatches');
  count('GPUQueue', 'submit', 'submits');
  count('GPUQueue', 'writeBuffer', 'writes');
  count('GPUCommandEncoder', 'beginComputePass', 'passes');
  count('GPUDevice', 'createBindGroup', 'newBindGroups');
  count('GPUDevice', 'createComputePipeline', 'newPipelines');
  count('GPUDevice', 'createComputePipelineAsync', 'newPipelines');
  count('GPUBuffer', 'mapAsync', 'readbacks');
  const sizes = new WeakMap();
  wrap('GPUDevice', 'createBuffer', () => void probe.newBuffers++, (buffer, [{ size }]) => {
    sizes.set(buffer, size);
    probe.bytes += size;
  });
  wrap('GPUBuffer', 'destroy', (buffer) => {
    probe.bytes -= sizes.get(buffer) ?? 0;
    sizes.delete(buffer);
  });
})();`;

/** What was counted between two readings; bytes are those of the later one. */
export function countsBetween(before: ProbeCounts, after: ProbeCounts): ProbeCounts {
  const keys = Object.keys(after) as (keyof ProbeCounts)[];
  const difference = Object.fromEntries(keys.map((key) => [key, after[key] - before[key]]));
  return { ...(difference as unknown as ProbeCounts), bytes: after.bytes };
}
