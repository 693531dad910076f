/**
 * Many tensors side by side in few buffers, so that one dispatch can walk over all of them (AdamW, gradient norm) while
 * every tensor can still be bound by itself. Tensors start at binding alignment. One that is larger than a binding may
 * be is split by rows; buffers are cut where the next tensor would make them larger than that.
 */
import { assert } from '../../base/assert.ts';
import { BINDING_ALIGNMENT, DeviceBuffer, type DeviceLimits } from './device-buffer.ts';

/** Rows firstRow … firstRow + shape[0] − 1 of a tensor, in one buffer. */
export interface Slice {
  buffer: DeviceBuffer;
  /** Bytes from the start of the buffer. */
  offset: number;
  shape: readonly number[];
  firstRow: number;
}

export interface ArenaEntry {
  name: string;
  shape: readonly number[];
}

const FLOAT = 4;
const sizeOf = (shape: readonly number[]) => shape.reduce((a, b) => a * b, 1);

export class Arena {
  readonly buffers: readonly DeviceBuffer[];
  private readonly slices = new Map<string, Slice[]>();

  /** @param label names the buffers, for messages */
  constructor(
    private readonly entries: readonly ArenaEntry[],
    private readonly limits: DeviceLimits,
    label: string,
  ) {
    const cap = Math.floor(limits.maxBytes / BINDING_ALIGNMENT) * BINDING_ALIGNMENT;
    const placed: { name: string; shape: number[]; firstRow: number; buffer: number; offset: number }[] = [];
    const sizes: number[] = [];
    for (const { name, shape } of entries) {
      const rowBytes = FLOAT * sizeOf(shape.slice(1));
      assert(rowBytes <= cap, `a row of ${name} does not fit into a binding of ${cap} bytes`);
      for (let firstRow = 0; firstRow < shape[0]; ) {
        const rows = Math.min(shape[0] - firstRow, Math.floor(cap / rowBytes));
        const bytes = Math.ceil((rows * rowBytes) / BINDING_ALIGNMENT) * BINDING_ALIGNMENT;
        if (sizes.length === 0 || sizes[sizes.length - 1] + bytes > cap) sizes.push(0);
        const buffer = sizes.length - 1;
        placed.push({ name, shape: [rows, ...shape.slice(1)], firstRow, buffer, offset: sizes[buffer] });
        sizes[buffer] += bytes;
        firstRow += rows;
      }
    }
    this.buffers = sizes.map(
      (size, i) => new DeviceBuffer(size, sizes.length === 1 ? label : `${label} ${i}`),
    );
    for (const { name, shape, firstRow, buffer, offset } of placed) {
      const list = this.slices.get(name) ?? [];
      list.push({ buffer: this.buffers[buffer], offset, shape, firstRow });
      this.slices.set(name, list);
    }
  }

  get names(): string[] {
    return this.entries.map(({ name }) => name);
  }

  has(name: string): boolean {
    return this.slices.has(name);
  }

  /** The tensor's pieces, in the order of its rows. */
  all(name: string): readonly Slice[] {
    const slices = this.slices.get(name);
    assert(slices, `the arena has no tensor ${name}`);
    return slices;
  }

  /** The tensor as one piece, or null where it is split. */
  whole(name: string): Slice | null {
    const slices = this.all(name);
    return slices.length === 1 ? slices[0] : null;
  }

  /** Several matrices (or vectors) stacked by rows, if they lie behind one another without a gap; else null. */
  stacked(names: readonly string[]): Slice | null {
    const parts = names.map((name) => this.whole(name));
    let rows = 0;
    const first = parts[0];
    if (!first) return null;
    let end = first.offset;
    for (const part of parts) {
      if (!part || part.buffer !== first.buffer || part.offset !== end) return null;
      rows += part.shape[0];
      end += FLOAT * sizeOf(part.shape);
    }
    return { ...first, shape: [rows, ...first.shape.slice(1)] };
  }

  /** Another arena of the same layout (gradients and moments of these weights). */
  like(label: string): Arena {
    return new Arena(this.entries, this.limits, label);
  }

  get bytes(): number {
    return this.buffers.reduce((sum, buffer) => sum + buffer.bytes, 0);
  }

  allocate(device: GPUDevice): void {
    for (const buffer of this.buffers) buffer.allocate(device);
  }

  write(device: GPUDevice, name: string, data: Float32Array): void {
    let at = 0;
    for (const { buffer, offset, shape } of this.all(name)) {
      const size = sizeOf(shape);
      device.queue.writeBuffer(buffer.gpu, offset, data as Float32Array<ArrayBuffer>, at, size);
      at += size;
    }
    assert(at === data.length, `${name} has ${at} numbers, not ${data.length}`);
  }

  destroy(): void {
    for (const buffer of this.buffers) buffer.destroy();
  }
}
