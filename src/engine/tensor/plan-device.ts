/** A plan on a device: pipelines, bind groups and memory, made once; a replay only encodes them again. */
import { assert } from '../../base/assert.ts';
import { BINDING_ALIGNMENT, DeviceBuffer } from './device-buffer.ts';
import { compile, compileAll, counters } from './pipelines.ts';
import type { PlanBuilder, Value } from './plan.ts';
import type { PolypathBackend } from './webgpu-backend.ts';
import { uniformBytes } from './wgsl.ts';

/**
 * Memory of temporaries, shared by all plans of one owner: they never run at the same time, so the largest plan's worth
 * is enough. A plan that needs a larger piece replaces it for those that come later.
 */
export class TemporaryPool {
  private pieces: DeviceBuffer[] = [];
  private readonly users = new Map<DeviceBuffer, number>();

  constructor(private readonly device: GPUDevice) {}

  /** Pieces of at least these sizes (largest first), to be given back with `release`. */
  acquire(sizes: readonly number[]): DeviceBuffer[] {
    return sizes.map((size, i) => {
      let piece = this.pieces[i];
      if (!piece || piece.bytes < size) {
        const old = piece;
        piece = new DeviceBuffer(Math.ceil(size / 16) * 16, `temporary ${i}`);
        piece.allocate(this.device);
        this.pieces[i] = piece;
        this.users.set(piece, 0);
        if (old && this.users.get(old) === 0) this.drop(old);
      }
      this.users.set(piece, this.users.get(piece)! + 1);
      return piece;
    });
  }

  release(pieces: readonly DeviceBuffer[]): void {
    for (const piece of pieces) {
      const left = this.users.get(piece)! - 1;
      this.users.set(piece, left);
      if (left === 0) {
        this.pieces = this.pieces.filter((other) => other !== piece);
        this.drop(piece);
      }
    }
  }

  private drop(piece: DeviceBuffer): void {
    this.users.delete(piece);
    piece.destroy();
  }

  get bytes(): number {
    let sum = 0;
    for (const piece of this.users.keys()) sum += piece.bytes;
    return sum;
  }
}

interface Command {
  pipeline: GPUComputePipeline;
  group: GPUBindGroup;
  x: number;
  y: number;
  z: number;
}

/** A plan that is ready to run. */
export class Plan {
  private constructor(
    private readonly commands: readonly Command[],
    private readonly uniforms: DeviceBuffer | null,
    private readonly pieces: readonly DeviceBuffer[],
    private readonly pool: TemporaryPool,
    private readonly pieceOf: ReadonlyMap<number, number>,
  ) {}

  /** Compiles what is missing (in parallel) and makes all bind groups. All bound buffers must be allocated. */
  static async make(backend: PolypathBackend, builder: PlanBuilder, pool: TemporaryPool): Promise<Plan> {
    const { device } = backend;
    const { dispatches } = builder;
    await compileAll(
      device,
      dispatches.map(({ pass }) => pass),
    );
    const layout = builder.layout();
    const pieces = pool.acquire(layout.sizes);
    const uniforms = makeUniforms(
      device,
      dispatches.map(({ pass }) => (pass.uniforms.length > 0 ? uniformBytes(pass) : null)),
    );
    const resource = (value: Value): GPUBufferBinding => {
      const size = 4 * value.shape.reduce((a, b) => a * b, 1);
      if (value.bound) return { buffer: value.bound.buffer.gpu, offset: value.bound.offset, size };
      return { buffer: pieces[layout.pieceOf.get(value.id)!].gpu, offset: 0, size };
    };
    const commands = dispatches.map(({ pass, values }, i): Command => {
      const { pipeline, layout: groupLayout } = compile(device, pass);
      const entries: GPUBindGroupEntry[] = values.map((value, binding) => ({
        binding,
        resource: resource(value),
      }));
      const uniform = uniforms?.places[i];
      if (uniform)
        entries.push({ binding: entries.length, resource: { buffer: uniforms.buffer.gpu, ...uniform } });
      counters.bindGroups++;
      const [x, y, z] = pass.workgroups;
      return {
        pipeline,
        group: device.createBindGroup({ layout: groupLayout, entries, label: pass.name }),
        x,
        y,
        z,
      };
    });
    return new Plan(commands, uniforms?.buffer ?? null, pieces, pool, layout.pieceOf);
  }

  get dispatches(): number {
    return this.commands.length;
  }

  /** Bytes of uniforms; temporaries belong to the pool. */
  get bytes(): number {
    return this.uniforms?.bytes ?? 0;
  }

  encode(pass: GPUComputePassEncoder): void {
    let last: GPUComputePipeline | null = null;
    for (const { pipeline, group, x, y, z } of this.commands) {
      if (pipeline !== last) pass.setPipeline(pipeline);
      last = pipeline;
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(x, y, z);
    }
    counters.dispatches += this.commands.length;
  }

  /** The memory of a temporary that the builder was told to keep. */
  bufferOf(value: Value): GPUBuffer {
    const piece = this.pieceOf.get(value.id);
    assert(piece !== undefined, 'no dispatch of the plan touches this value');
    return this.pieces[piece].gpu;
  }

  destroy(): void {
    this.uniforms?.destroy();
    this.pool.release(this.pieces);
  }
}

/** All uniforms of a plan in one buffer; equal contents share a place. */
function makeUniforms(device: GPUDevice, contents: readonly (ArrayBuffer | null)[]) {
  const places: ({ offset: number; size: number } | null)[] = [];
  const known = new Map<string, { offset: number; size: number }>();
  let end = 0;
  const writes: { offset: number; bytes: ArrayBuffer }[] = [];
  for (const bytes of contents) {
    if (!bytes) {
      places.push(null);
      continue;
    }
    const key = new Uint32Array(bytes).join();
    let place = known.get(key);
    if (!place) {
      place = { offset: end, size: bytes.byteLength };
      known.set(key, place);
      writes.push({ offset: end, bytes });
      end += Math.ceil(bytes.byteLength / BINDING_ALIGNMENT) * BINDING_ALIGNMENT;
    }
    places.push(place);
  }
  if (end === 0) return null;
  const buffer = new DeviceBuffer(end, 'uniforms', GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST);
  const gpu = buffer.allocate(device);
  const all = new Uint8Array(end);
  for (const { offset, bytes } of writes) all.set(new Uint8Array(bytes), offset);
  device.queue.writeBuffer(gpu, 0, all);
  return { buffer, places };
}

/** Host copies of device buffers, through staging buffers that are made once and used again. */
export class Readback {
  private readonly idle: GPUBuffer[] = [];
  private readonly all: DeviceBuffer[] = [];

  constructor(
    private readonly backend: PolypathBackend,
    private readonly bytes: number,
    private readonly label: string,
  ) {}

  /** Runs plans (in one compute pass and one submit), then copies parts of buffers behind one another to the host. */
  async after(
    plans: readonly { encode(pass: GPUComputePassEncoder): void }[],
    parts: readonly { source: DeviceBuffer; bytes?: number }[],
  ): Promise<ArrayBuffer> {
    const { backend } = this;
    const target = this.idle.pop() ?? this.newStaging();
    submit(backend, plans, (encoder) => {
      let at = 0;
      for (const { source, bytes = source.bytes } of parts) {
        encoder.copyBufferToBuffer(source.gpu, 0, target, at, bytes);
        at += bytes;
      }
    });
    try {
      await target.mapAsync(GPUMapMode.READ);
    } catch (error) {
      backend.throwIfFaulty();
      throw error;
    }
    const bytes = target.getMappedRange().slice(0);
    target.unmap();
    this.idle.push(target);
    backend.throwIfFaulty();
    return bytes;
  }

  private newStaging(): GPUBuffer {
    const buffer = new DeviceBuffer(
      this.bytes,
      `read-back of ${this.label}`,
      GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
    );
    this.all.push(buffer);
    return buffer.allocate(this.backend.device);
  }

  destroy(): void {
    for (const buffer of this.all) buffer.destroy();
    this.all.length = 0;
    this.idle.length = 0;
  }
}

/** Runs plans in one compute pass and one submit; `after` may add copies behind the pass. */
export function submit(
  backend: PolypathBackend,
  plans: readonly { encode(pass: GPUComputePassEncoder): void }[],
  after: (encoder: GPUCommandEncoder) => void = () => {},
): void {
  backend.flush();
  const encoder = backend.device.createCommandEncoder();
  if (plans.length > 0) {
    const pass = encoder.beginComputePass();
    for (const plan of plans) plan.encode(pass);
    pass.end();
  }
  after(encoder);
  backend.device.queue.submit([encoder.finish()]);
  counters.submits++;
}
