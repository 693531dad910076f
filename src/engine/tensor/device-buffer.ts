/**
 * GPU memory that we own ourselves, beside tfjs's pool: weights, gradients, moments, key/value caches and whatever a
 * captured step needs. A `DeviceBuffer` is a size and a name until `allocate` is called, so that memory can be planned
 * (and estimated for the user) without a device.
 *
 * Ownership: whoever makes a DeviceBuffer destroys it; a plan owns its temporaries and its uniforms, nothing else.
 */
import { assert, UserError } from '../../base/assert.ts';

/** What a device can hold in one buffer and bind at once, and its alignment of bindings. */
export interface DeviceLimits {
  /** Bytes: the smaller of `maxBufferSize` and `maxStorageBufferBindingSize`. */
  maxBytes: number;
}

/** Bindings start at multiples of this on every WebGPU device. */
export const BINDING_ALIGNMENT = 256;

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

export function limitsOf(device: GPUDevice): DeviceLimits {
  const { maxBufferSize, maxStorageBufferBindingSize } = device.limits;
  return { maxBytes: Math.min(maxBufferSize, maxStorageBufferBindingSize) };
}

let ownBytes = 0;
/** Bytes in live DeviceBuffers; tfjs's own pool is not in it. */
export const ownGpuBytes = (): number => ownBytes;

export class DeviceBuffer {
  private buffer: GPUBuffer | null = null;

  constructor(
    readonly bytes: number,
    readonly label: string,
    private readonly usage: GPUBufferUsageFlags = 0x8c, // STORAGE | COPY_SRC | COPY_DST
  ) {
    assert(bytes > 0 && bytes % 4 === 0, `buffer ${label} would have ${bytes} bytes`);
  }

  /** Makes the buffer, zeroed. Throws a UserError where the device cannot hold or bind one that large. */
  allocate(device: GPUDevice): GPUBuffer {
    if (this.buffer) return this.buffer;
    const { maxBytes } = limitsOf(device);
    if (this.bytes > maxBytes)
      throw new UserError(
        `${this.label} needs ${formatBytes(this.bytes)} in one piece, but this GPU takes at most ${formatBytes(maxBytes)}. Try a smaller micro-batch, shorter sequences or a smaller model.`,
      );
    this.buffer = device.createBuffer({ size: this.bytes, usage: this.usage, label: this.label });
    ownBytes += this.bytes;
    return this.buffer;
  }

  get gpu(): GPUBuffer {
    assert(this.buffer, `buffer ${this.label} is not allocated`);
    return this.buffer;
  }

  destroy(): void {
    if (!this.buffer) return;
    this.buffer.destroy();
    this.buffer = null;
    ownBytes -= this.bytes;
  }
}
