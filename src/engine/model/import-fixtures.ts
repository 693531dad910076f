/** Model files made by hand for tests: small, exact, and easy to break in one place. */
import type { NamedBlob } from './blobs.ts';

export const blobOf = (path: string, ...parts: BlobPart[]): NamedBlob => ({ path, blob: new Blob(parts) });

export const jsonBlob = (path: string, value: unknown): NamedBlob => blobOf(path, JSON.stringify(value));

export async function bytesOf({ blob }: NamedBlob): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await blob.arrayBuffer());
}

/** Little-endian writer. */
class Writer {
  private readonly parts: Uint8Array[] = [];
  length = 0;

  add(part: Uint8Array): this {
    this.parts.push(part);
    this.length += part.length;
    return this;
  }
  number(bytes: number, set: (view: DataView) => void): this {
    const view = new DataView(new ArrayBuffer(bytes));
    set(view);
    return this.add(new Uint8Array(view.buffer));
  }
  u32 = (value: number) => this.number(4, (view) => view.setUint32(0, value, true));
  u64 = (value: number) => this.number(8, (view) => view.setBigUint64(0, BigInt(value), true));
  f32 = (value: number) => this.number(4, (view) => view.setFloat32(0, value, true));
  string(text: string): this {
    const bytes = new TextEncoder().encode(text);
    return this.u64(bytes.length).add(bytes);
  }
  pad(to: number): this {
    return this.add(new Uint8Array((to - (this.length % to)) % to));
  }
  get bytes(): Uint8Array<ArrayBuffer> {
    const out = new Uint8Array(this.length);
    let at = 0;
    for (const part of this.parts) {
      out.set(part, at);
      at += part.length;
    }
    return out;
  }
}

type Value = number | string | boolean | readonly string[] | readonly number[];

function writeValue(writer: Writer, value: Value): void {
  if (typeof value === 'string') writer.u32(8).string(value);
  else if (typeof value === 'boolean') writer.u32(7).add(Uint8Array.of(value ? 1 : 0));
  else if (typeof value === 'number' && Number.isInteger(value)) writer.u32(4).u32(value);
  else if (typeof value === 'number') writer.u32(6).f32(value);
  else {
    const strings = typeof value[0] === 'string';
    writer
      .u32(9)
      .u32(strings ? 8 : 6)
      .u64(value.length);
    for (const item of value) strings ? writer.string(item as string) : writer.f32(item as number);
  }
}

/** A GGUF file, version 3. Shapes are given outermost first; data as the bytes of the type. */
export function ggufBytes(
  metadata: Record<string, Value>,
  tensors: Record<string, { type: number; shape: readonly number[]; data: Uint8Array }>,
): Uint8Array<ArrayBuffer> {
  const head = new Writer().u32(0x46554747).u32(3);
  head.u64(Object.keys(tensors).length).u64(Object.keys(metadata).length);
  for (const [key, value] of Object.entries(metadata)) writeValue(head.string(key), value);
  let offset = 0;
  for (const [name, { type, shape, data }] of Object.entries(tensors)) {
    head.string(name).u32(shape.length);
    for (const size of [...shape].reverse()) head.u64(size);
    head.u32(type).u64(offset);
    offset += Math.ceil(data.length / 32) * 32;
  }
  head.pad(32);
  for (const { data } of Object.values(tensors)) head.add(data).pad(32);
  return head.bytes;
}

export const floatBytes = (values: Float32Array): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength);

/** A llama2.c checkpoint of the first format, from its seven integers and a function that gives every float. */
export function llama2cBytes(
  header: readonly number[],
  floats: number,
  value: (i: number) => number,
): Uint8Array<ArrayBuffer> {
  const writer = new Writer();
  for (const field of header) writer.number(4, (view) => view.setInt32(0, field, true));
  writer.add(floatBytes(Float32Array.from({ length: floats }, (_, i) => value(i))));
  return writer.bytes;
}
