/**
 * Our subclass of tfjs's WebGPU backend. What it adds: sizes are checked before a buffer is made (a binding that is
 * too big reads as zeros, in silence, in plain tfjs), allocation runs in error scopes, any error that the device
 * reports makes the next read fail with a sentence, and values read back are never cached, because our kernels change
 * buffers in place.
 */
import { UserError } from '../../base/assert.ts';
import { tf } from './tfjs.ts';
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
      dtype: string;
      shape: number[];
    };
  };
  convertAndCacheOnCPU(id: object, values: unknown): unknown;
  bufferManager: { device: unknown };
}

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB'];
/** "1.5 GB"; 1 KB = 1024 bytes. */
export function formatBytes(bytes: number): string {
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? value : Number(value.toPrecision(3))} ${UNITS[unit]}`;
}

const WAY_OUT = 'Try a smaller micro-batch, shorter sequences or a smaller model.';

export class PolypathBackend extends WebGPUBackend {
  /** The first error that the device reported; every read fails with it until `clearFault`. */
  private fault: Error | null = null;
  private readonly internals: BackendInternals;
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
    const { maxBufferSize, maxStorageBufferBindingSize } = this.device.limits;
    const limit = Math.min(maxBufferSize, maxStorageBufferBindingSize);
    if (bytes > limit)
      throw new UserError(
        `A tensor of shape [${data.shape.join(', ')}] needs ${formatBytes(bytes)}, but this GPU takes at most ${formatBytes(limit)} in one piece. ${WAY_OUT}`,
      );
    super.uploadToGPU(dataId);
  }

  override async read(dataId: object): Promise<tf.BackendValues> {
    try {
      const values = await super.read(dataId);
      if (this.fault) throw this.fault;
      return values;
    } catch (error) {
      // A broken buffer makes tfjs fail with "[Invalid Buffer]"; the first error says what happened.
      throw this.fault ?? error;
    }
  }
}
