/**
 * A strict reader for tests, written from the safetensors format's description: 8 bytes little-endian length N, N bytes
 * of JSON that begins with `{` (padded with spaces), then data without holes, in which every byte belongs to one tensor.
 */
const BYTES: Record<string, number> = { F32: 4, F16: 2, BF16: 2 };

/** Throws at the first departure from the format. */
export function strictSafetensors(
  bytes: Uint8Array<ArrayBuffer>,
): Map<string, { dtype: string; shape: number[]; data: Uint8Array<ArrayBuffer> }> {
  const check = (holds: boolean, what: string) => {
    if (!holds) throw new Error(`safetensors: ${what}`);
  };
  check(bytes.length >= 8, 'shorter than its header length');
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  check(length >= 2 && length <= 100_000_000 && 8 + length <= bytes.length, `header length ${length}`);
  check((8 + length) % 8 === 0, 'data not aligned to 8 bytes');
  check(bytes[8] === 0x7b, 'header does not begin with {');
  const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(8, 8 + length));
  check(/\} *$/.test(text), 'header padded with something else than spaces');
  const header = JSON.parse(text) as Record<string, unknown>;
  const keys = [...text.matchAll(/"((?:[^"\\]|\\.)*)":\{/g)].map(([, key]) => key);
  check(new Set(keys).size === keys.length, 'a key is there twice');
  const data = bytes.subarray(8 + length);
  const out = new Map<string, { dtype: string; shape: number[]; data: Uint8Array<ArrayBuffer> }>();
  const metadata = header.__metadata__ as Record<string, unknown> | undefined;
  check(metadata?.format === 'pt', '__metadata__.format is not "pt", which transformers needs');
  for (const value of Object.values(metadata!))
    check(typeof value === 'string', '__metadata__ holds no string');
  let covered = 0;
  const entries = Object.entries(header).filter(([name]) => name !== '__metadata__') as [
    string,
    { dtype: string; shape: number[]; data_offsets: [number, number] },
  ][];
  for (const [name, tensor] of entries.sort((a, b) => a[1].data_offsets[0] - b[1].data_offsets[0])) {
    check(Object.keys(tensor).sort().join() === 'data_offsets,dtype,shape', `${name}: fields`);
    const { dtype, shape, data_offsets: offsets } = tensor;
    check(dtype in BYTES, `${name}: dtype ${dtype}`);
    check(
      shape.every((n) => Number.isSafeInteger(n) && n >= 0),
      `${name}: shape ${shape}`,
    );
    const [begin, end] = offsets;
    check(offsets.length === 2 && begin === covered, `${name}: begins at ${begin}, not ${covered}`);
    check(end - begin === shape.reduce((a, b) => a * b, BYTES[dtype]), `${name}: ${end - begin} bytes`);
    check(end <= data.length, `${name}: ends behind the file`);
    check((8 + length + begin) % BYTES[dtype] === 0, `${name}: not aligned`);
    covered = end;
    out.set(name, { dtype, shape, data: data.slice(begin, end) });
  }
  check(covered === data.length, `${data.length - covered} bytes belong to no tensor`);
  return out;
}
