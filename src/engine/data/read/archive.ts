/** Members of a zip file, unpacked one after the other as they come. */
import { Unzip, UnzipInflate, UnzipPassThrough } from 'fflate';
import { messageOf, UserError } from '../../../base/assert.ts';
import type { ByteSource } from './bytes.ts';

/** Unpacked bytes of one archive: more is a bomb, or belongs unpacked. */
const MOST = 8e9;
/** No text packs better than this many times; a bomb does. */
const MOST_RATIO = 1200;

/** Folders, and what systems add to archives by themselves. */
const isNoise = (path: string): boolean =>
  path.endsWith('/') || /(^|\/)(__MACOSX\/|\.DS_Store$|Thumbs\.db$|\._)/.test(path);

interface Member {
  path: string;
  pieces: Uint8Array[];
  ended: boolean;
}

/** Each member must be read to its end (or left) before the next one is asked for. */
export async function* zipMembers(source: ByteSource): AsyncGenerator<ByteSource> {
  const queue: Member[] = [];
  let unpacked = 0;
  let packed = 0;
  let failure: unknown = null;
  const unzip = new Unzip((file) => {
    if (isNoise(file.name)) return;
    const member: Member = { path: file.name, pieces: [], ended: false };
    queue.push(member);
    file.ondata = (error, data, final) => {
      if (error) failure ??= error;
      unpacked += data?.length ?? 0;
      if (unpacked > MOST || unpacked > MOST_RATIO * Math.max(packed, 1e5))
        failure ??= new Error('it unpacks to far more than its size, as no data does');
      if (data) member.pieces.push(data);
      if (final) member.ended = true;
    };
    try {
      file.start();
    } catch (error) {
      failure ??= error;
    }
  });
  unzip.register(UnzipInflate);
  unzip.register(UnzipPassThrough);
  const stream = source.stream()[Symbol.asyncIterator]();
  let over = false;
  const more = async (): Promise<void> => {
    const { done, value } = await stream.next();
    over = done === true;
    try {
      if (!done) packed += value.length;
      unzip.push(done ? new Uint8Array() : value, over);
    } catch (error) {
      failure ??= error;
    }
    if (failure !== null)
      throw new UserError(
        `${source.name} is a zip file that can't be unpacked: ${messageOf(failure)}. Unpack it and drop the files in it.`,
      );
  };
  try {
    for (;;) {
      const member = queue.shift();
      if (!member) {
        if (over) return;
        await more();
        continue;
      }
      const { path } = member;
      const rest = async function* (): AsyncGenerator<Uint8Array> {
        for (;;) {
          const piece = member.pieces.shift();
          if (piece) yield piece;
          else if (member.ended) return;
          else if (over)
            throw new UserError(`${path} in ${source.name} is cut off. Fetch the archive again.`);
          else await more();
        }
      };
      const pieces = rest();
      // By its path: two folders may each have a train.jsonl.
      yield { name: path, size: -1, stream: () => pieces };
      // What its reader left is let go, so that the next member comes.
      for await (const _ of pieces);
    }
  } finally {
    await stream.return?.(undefined);
  }
}
