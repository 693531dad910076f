/** Reads test fixtures by their Vite URL, in Node and in the browser alike, so that one test body serves both. */

export async function fixtureBytes(url: string): Promise<ArrayBuffer> {
  if (typeof window !== 'undefined') {
    const response = await fetch(url);
    if (!response.ok) throw new Error(`fixture ${url}: status ${response.status}`);
    return response.arrayBuffer();
  }
  const { readFile } = await import('node:fs/promises');
  const bytes = await readFile(`${process.cwd()}${url}`);
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
}

/** max |a − ref| / max |ref| over the whole tensor, the denominator floored. */
export function relativeError(actual: ArrayLike<number>, expected: ArrayLike<number>, floor = 0): number {
  let largest = floor;
  let worst = 0;
  if (actual.length !== expected.length) return Number.POSITIVE_INFINITY;
  for (let i = 0; i < expected.length; i++) {
    largest = Math.max(largest, Math.abs(expected[i]));
    const difference = Math.abs(actual[i] - expected[i]);
    // NaN must fail
    if (!(difference <= worst)) worst = difference;
  }
  return worst / largest;
}
