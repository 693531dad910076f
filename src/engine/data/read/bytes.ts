/** Where the bytes of a data file come from: a file, a URL, a member of an archive. */
import { messageOf, UserError } from '../../../base/assert.ts';

/** A file that is read from the start to the end, once; `size` is −1 where nobody knows it. */
export interface ByteSource {
  name: string;
  size: number;
  /** The bytes in pieces. */
  stream(): AsyncIterable<Uint8Array>;
  /** Any stretch of it, where that can be had without reading all before (parquet needs its end first). */
  slice?(from: number, to: number): Promise<ArrayBuffer>;
}

const PIECE = 1 << 18;

export function blobSource(name: string, blob: Blob): ByteSource {
  return {
    name,
    size: blob.size,
    async *stream() {
      for (let at = 0; at < blob.size; at += PIECE)
        yield new Uint8Array(await blob.slice(at, at + PIECE).arrayBuffer());
    },
    slice: (from, to) => blob.slice(from, to).arrayBuffer(),
  };
}

/** What a web stream gives, as something to loop over; ends the stream when the loop is left. */
export async function* piecesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Tells how many bytes have been read. */
export function counted(source: ByteSource, read: (bytes: number) => void): ByteSource {
  return {
    ...source,
    async *stream() {
      let bytes = 0;
      for await (const piece of source.stream()) {
        bytes += piece.length;
        read(bytes);
        yield piece;
      }
    },
  };
}

/** The same source, unpacked. */
export function gunzipped(source: ByteSource): ByteSource {
  return {
    name: source.name.replace(/\.gz$/i, ''),
    size: -1,
    async *stream() {
      const pieces = source.stream()[Symbol.asyncIterator]();
      const packed = new ReadableStream<Uint8Array<ArrayBuffer>>({
        async pull(controller) {
          const { done, value } = await pieces.next();
          if (done) controller.close();
          else controller.enqueue(value as Uint8Array<ArrayBuffer>);
        },
        async cancel() {
          await pieces.return?.(undefined);
        },
      });
      try {
        yield* piecesOf(packed.pipeThrough(new DecompressionStream('gzip')));
      } catch (error) {
        throw new UserError(
          `${source.name} can't be unpacked: it is cut off or damaged (${messageOf(error)}). Fetch it again.`,
        );
      }
    },
  };
}

/** The whole of a source, if it is no longer than `most`. */
export async function wholeOf(source: ByteSource, most: number): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of source.stream()) {
    size += piece.length;
    if (size > most)
      throw new UserError(
        `${source.name} is larger than ${Math.round(most / 1e6)} MB inside its archive. Unpack the archive and drop the file itself.`,
      );
    pieces.push(piece);
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

/** The first bytes of a source without losing them: they come again from the source that is returned. */
export async function peek(source: ByteSource, bytes: number): Promise<[Uint8Array, ByteSource]> {
  if (source.slice && source.size >= 0)
    return [new Uint8Array(await source.slice(0, Math.min(bytes, source.size))), source];
  const pieces = source.stream()[Symbol.asyncIterator]();
  const seen: Uint8Array[] = [];
  let size = 0;
  while (size < bytes) {
    const { done, value } = await pieces.next();
    if (done) break;
    seen.push(value);
    size += value.length;
  }
  const head = new Uint8Array(size);
  let at = 0;
  for (const piece of seen) {
    head.set(piece, at);
    at += piece.length;
  }
  const again: ByteSource = {
    ...source,
    async *stream() {
      try {
        yield* seen.splice(0);
        for (;;) {
          const { done, value } = await pieces.next();
          if (done) return;
          yield value;
        }
      } finally {
        await pieces.return?.(undefined);
      }
    },
  };
  return [head.subarray(0, bytes), again];
}
