/** Rows of a parquet file, one row group after the other, however it is compressed. */
import { messageOf, UserError } from '../../../base/assert.ts';
import type { ByteSource } from './bytes.ts';
import { wholeOf } from './bytes.ts';
import type { RawRow, ReadOptions } from './raw-row.ts';

/** A parquet file inside of an archive must be unpacked into memory. */
const MOST_PACKED = 1 << 30;
/** Rows that are decoded together: a row group may have a million. */
const TOGETHER = 4096;

/** Numbers beyond 2⁵³ stay exact, as text; other 64-bit numbers become plain ones. Dates become their ISO text. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value instanceof Date) return value.toISOString();
  if (ArrayBuffer.isView(value)) return Array.from(value as unknown as ArrayLike<unknown>, plain);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one)]));
  return value;
}

export async function* parquetRows(source: ByteSource, _options: ReadOptions): AsyncGenerator<RawRow> {
  const [{ parquetMetadataAsync, parquetReadObjects }, { compressors }] = await Promise.all([
    import('hyparquet'),
    import('hyparquet-compressors'),
  ]);
  const { slice } = source;
  const whole = slice ? null : (await wholeOf(source, MOST_PACKED)).buffer;
  const file = {
    byteLength: whole ? whole.byteLength : source.size,
    slice: async (from: number, to?: number): Promise<ArrayBuffer> => {
      const end = to ?? (whole ? whole.byteLength : source.size);
      return whole ? whole.slice(from, end) : slice!(from, end);
    },
  };
  const refuse = (error: unknown): never => {
    throw new UserError(
      `${source.name} is a parquet file that can't be read: ${messageOf(error)}. It may be cut off; fetch it again.`,
    );
  };
  const metadata = await parquetMetadataAsync(file).catch(refuse);
  const rows = Number(metadata.num_rows);
  for (let start = 0; start < rows; start += TOGETHER) {
    const records = await parquetReadObjects({
      file,
      metadata,
      compressors,
      rowStart: start,
      rowEnd: Math.min(rows, start + TOGETHER),
    }).catch(refuse);
    for (const [i, record] of records.entries()) {
      const row = plain(record) as Record<string, unknown>;
      const place = { line: start + i + 1, byte: 0 };
      yield { ...place, kind: 'row', record: row, repairs: [], text: () => JSON.stringify(row) };
    }
  }
}
