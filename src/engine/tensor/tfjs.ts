/**
 * The only file with @tensorflow imports. tfjs 4.22 is pinned and hardly maintained, so what we rely on is named here:
 * - `tfjs-core` alone registers no gradients: `register_all_gradients` is imported once, from this file;
 * - the plain `cpu` and the `wasm` backends register their kernels on import; `webgpu`'s class is subclassed in device.ts;
 * - one copy of tfjs-core must be in the bundle (the meta package `@tensorflow/tfjs` bundles a second one in Node).
 */
import * as tf from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-core/dist/register_all_gradients';
import '@tensorflow/tfjs-backend-cpu';
import { setWasmPaths } from '@tensorflow/tfjs-backend-wasm';

export type { KernelFunc, NamedAttrMap, NamedTensorInfoMap, TensorInfo } from '@tensorflow/tfjs-core';
export type Tensor = tf.Tensor;
export type Variable = tf.Variable;
export { setWasmPaths, tf };

export type HostArray = Float32Array | Int32Array;
export type DType = 'float32' | 'int32';

interface CpuBackend {
  data: { get(id: object): { values: HostArray } };
  makeTensorInfo(shape: number[], dtype: string, values: HostArray): tf.TensorInfo;
}
interface WasmBackend {
  makeOutput(shape: number[], dtype: string): tf.TensorInfo;
  typedArrayFromHeap(info: tf.TensorInfo): HostArray;
}

/**
 * The values of tensors that live in host memory, without a copy: the `cpu` backend's arrays or views of the wasm
 * heap. A view is good only until the next allocation (the heap may move), so take all of them after allocating.
 */
export function hostViews(backend: unknown, name: string, infos: readonly tf.TensorInfo[]): HostArray[] {
  if (name === 'wasm') return infos.map((info) => (backend as WasmBackend).typedArrayFromHeap(info));
  return infos.map((info) => (backend as CpuBackend).data.get(info.dataId as object).values);
}

/** Allocates a host tensor; on wasm its contents are undefined. */
export function hostAllocate(backend: unknown, name: string, shape: number[], dtype: DType): tf.TensorInfo {
  if (name === 'wasm') return (backend as WasmBackend).makeOutput(shape, dtype);
  const size = shape.reduce((a, b) => a * b, 1);
  return (backend as CpuBackend).makeTensorInfo(
    shape,
    dtype,
    dtype === 'int32' ? new Int32Array(size) : new Float32Array(size),
  );
}

/** Live tensors and bytes: what a test of leaks looks at. */
export function memory(): { numTensors: number; numBytes: number } {
  const { numTensors, numBytes } = tf.memory();
  return { numTensors, numBytes };
}
