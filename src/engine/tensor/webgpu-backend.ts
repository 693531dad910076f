/**
 * Our subclass of tfjs's WebGPU backend. What it adds: sizes are checked before a buffer is made (a binding that is
 * too big reads as zeros, in silence, in plain tfjs), allocation runs in error scopes, any error that the device
 * reports makes the next read fail with a sentence, and values read back are never cached, because our kernels change
 * buffers in place.
 */
import { assert, UserError } from '../../base/assert.ts';
import type { Slice } from './arena.ts';
import { formatBytes, limitsOf, ownGpuBytes } from './device-buffer.ts';
import { type Tensor, tf } from './tfjs.ts';
import { WebGPUBackend } from './tfjs-webgpu.ts';

/** Parts of tfjs's backend that its type declarations hide. */
export interface BackendInternals {
  commandEncoder: GPUCommandEncoder | null;
  computePassEncoder: GPUComputePassEncoder | null;
  commandQueueOwnedIds: WeakSet<object>;
  dispatchCountInPass: number;
  activeTimers: unknown;
  tensorMap: {
    get(id: object): {
      values: unknown;
      resource?: GPUBuffer;
      external?: boolean;
      dtype: string;
      shape: number[];
    };
  };
  convertAndCacheOnCPU(id: object, values: unknown): unknown;
  tensorToBinding(tensor?: { dataId: object }): GPUBindingResource | null;
  bufferManager: { device: unknown };
}

const WAY_OUT = 'Try a smaller micro-batch, shorter sequences or a smaller model.';

export class PolypathBackend extends WebGPUBackend {
  /** The first error that the device reported; every read fails with it until `clearFault`. */
  private fault: Error | null = null;
  private readonly internals: BackendInternals;
  private readonly views = new WeakMap<object, { offset: number; size: number }>();
  /** Dispatches after which tfjs sends its command buffer to the GPU. */
  readonly submitBatch: number;

  constructor(device: GPUDevice, info: GPUAdapterInfo | undefined) {
    super(device, info);
    this.internals = this as unknown as BackendInternals;
    this.submitBatch = tf.env().getNumber('WEBGPU_DEFERRED_SUBMIT_BATCH_SIZE');
    device.addEventListener('uncapturederror', (event) => {
      event.preventDefault();
      this.fail(new Error(`The GPU reported an error: ${event.error.message}`));
    });
    // The buffer manager makes buffers and nothing else with its device.
    this.internals.bufferManager.device = {
      createBuffer: (descriptor: GPUBufferDescriptor): GPUBuffer => {
        device.pushErrorScope('out-of-memory');
        const buffer = device.createBuffer(descriptor);
        device.popErrorScope().then(
          (error) => {
            if (error)
              this.fail(
                new UserError(
                  `The GPU has no room for another ${formatBytes(descriptor.size)} (${formatBytes(this.memory().numBytesAllocatedInGPU)} are in use). ${WAY_OUT}`,
                ),
              );
          },
          () => {}, // the device is lost, which device.ts reports
        );
        return buffer;
      },
    };
    // In-place kernels would leave a cached host copy stale, also one whose read began before the kernel ran.
    this.internals.convertAndCacheOnCPU = (_, values) => values;
    // tfjs's own kernels would bind the whole buffer that a view is a piece of.
    const whole = this.internals.tensorToBinding.bind(this);
    this.internals.tensorToBinding = (tensor) => {
      const binding = whole(tensor);
      const view = tensor && this.views.get(tensor.dataId);
      return view ? { ...(binding as GPUBufferBinding), ...view } : binding;
    };
  }

  /** A float32 tensor that is a piece of a buffer of ours, which must outlive it. */
  view({ buffer, offset, shape }: Slice): Tensor {
    const info = this.makeTensorInfo([...shape], 'float32');
    const data = this.internals.tensorMap.get(info.dataId);
    data.resource = buffer.gpu;
    data.external = true; // so that tfjs does not put it into its pool
    const size = 4 * shape.reduce((a, b) => a * b, 1);
    this.views.set(info.dataId, { offset, size });
    return tf.engine().makeTensorFromTensorInfo(info);
  }

  /** Where in its buffer a tensor lies, if it is a view. */
  viewOf(dataId: object): { offset: number; size: number } | undefined {
    return this.views.get(dataId);
  }

  /** Overwrites a tensor where it lies. */
  overwrite(dataId: object, values: Float32Array): void {
    this.uploadToGPU(dataId);
    const data = this.internals.tensorMap.get(dataId);
    assert(data.resource, 'a tensor without a buffer cannot be overwritten');
    this.flush();
    this.device.queue.writeBuffer(
      data.resource,
      this.views.get(dataId)?.offset ?? 0,
      values as Float32Array<ArrayBuffer>,
    );
    data.values = null;
  }

  /** Sends what tfjs has recorded, so that what we submit ourselves comes after it. */
  flush(): void {
    if (!this.internals.commandEncoder) return;
    this.endComputePassEncoder();
    this.submitQueue();
  }

  /** Bytes of GPU memory in tfjs's pool and in buffers of ours. */
  get gpuBytes(): number {
    return this.memory().numBytesAllocatedInGPU + ownGpuBytes();
  }

  /** Throws the first error that the device reported, if there is one. */
  throwIfFaulty(): void {
    if (this.fault) throw this.fault;
  }

  /** Every read fails with this error from now on (the first one stays). */
  fail(error: Error): void {
    this.fault ??= error;
  }

  /** Makes reads work again after an error that was dealt with. */
  clearFault(): void {
    this.fault = null;
  }

  /** Gives the tensor a GPU buffer. Throws a UserError when the device cannot bind one that large. */
  override uploadToGPU(dataId: object): void {
    const data = this.internals.tensorMap.get(dataId);
    if (data.resource != null) return;
    const bytes = 4 * data.shape.reduce((a, b) => a * b, 1);
    const limit = limitsOf(this.device).maxBytes;
    if (bytes > limit)
      throw new UserError(
        `A tensor of shape [${data.shape.join(', ')}] needs ${formatBytes(bytes)}, but this GPU takes at most ${formatBytes(limit)} in one piece. ${WAY_OUT}`,
      );
    super.uploadToGPU(dataId);
  }

  override async read(dataId: object): Promise<tf.BackendValues> {
    try {
      const view = this.views.get(dataId);
      const values = view ? await this.readView(dataId, view) : await super.read(dataId);
      if (this.fault) throw this.fault;
      return values;
    } catch (error) {
      // A broken buffer makes tfjs fail with "[Invalid Buffer]"; the first error says what happened.
      throw this.fault ?? error;
    }
  }

  /** The numbers of pieces, one after the other, on the host. */
  async readSlices(slices: readonly Slice[]): Promise<Float32Array> {
    this.flush();
    const parts = await Promise.all(
      slices.map(async ({ buffer, offset, shape }) => {
        const size = 4 * shape.reduce((a, b) => a * b, 1);
        return new Float32Array(await readBuffer(this.device, buffer.gpu, offset, size));
      }),
    );
    this.throwIfFaulty();
    if (parts.length === 1) return parts[0];
    const all = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }

  private async readView(dataId: object, view: { offset: number; size: number }): Promise<Float32Array> {
    const { resource } = this.internals.tensorMap.get(dataId);
    assert(resource, 'a view without its buffer');
    this.flush();
    return new Float32Array(await readBuffer(this.device, resource, view.offset, view.size));
  }
}

/** Copies bytes of a buffer to the host, after all that was submitted before. */
export async function readBuffer(
  device: GPUDevice,
  buffer: GPUBuffer,
  offset: number,
  size: number,
): Promise<ArrayBuffer> {
  const staging = device.createBuffer({ size, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, offset, staging, 0, size);
  device.queue.submit([encoder.finish()]);
  try {
    await staging.mapAsync(GPUMapMode.READ);
    return staging.getMappedRange().slice(0);
  } finally {
    staging.destroy();
  }
}
