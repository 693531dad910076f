/**
 * Building blocks of the attention kernels. A workgroup of 8 × 8 threads works on tiles of 32 × 32 (rows × columns of
 * the score matrix); thread (tx, ty) holds rows ty + 8·r and columns tx + 8·c for r, c in 0..3 as four vec4s. Head
 * vectors pass through workgroup memory in chunks of 32 numbers, so that any head size fits into the 16 KB that every
 * device has: three tiles of 32 rows of 8 vec4s, with a stride of 9 against bank conflicts.
 * Loops over chunks and over a thread's rows and columns are unrolled here, in the text, because an accumulator that is
 * indexed with a loop variable would leave the registers on some drivers. Locals inside loops have initialisers throughout: without one, WGSL promises zeros
 * each time round, but Chromium 156 with SwiftShader keeps the last value.
 */

/** Rows and columns of a tile. */
export const TILE = 32;

export interface HeadShape {
  D: number;
  /** vec4s in a head vector, the last one filled with zeros. */
  vectors: number;
  /** Chunks of up to 8 vec4s. */
  chunks: number;
  /** vec4s in a chunk. */
  width: number;
  /** D is a multiple of 4, so heads can be read and written as vec4s. */
  aligned: boolean;
}

export function headShape(D: number): HeadShape {
  const vectors = Math.ceil(D / 4);
  return { D, vectors, chunks: Math.ceil(vectors / 8), width: Math.min(8, vectors), aligned: D % 4 === 0 };
}

/** Element type of a binding that holds head vectors. */
export const headType = ({ aligned }: HeadShape): string => (aligned ? 'vec4<f32>' : 'f32');

/** Part of a pass's name that tells its texts apart. */
export const variant = ({ chunks, width, aligned }: HeadShape): string =>
  `${chunks}x${width}${aligned ? '' : '-unaligned'}`;

/** `load_<name>(token, head, column)`: vec4 `column` of a head vector of the binding [N, heads, D]. */
export function loader({ aligned }: HeadShape, name: string, heads: string): string {
  if (aligned)
    return /* wgsl */ `
fn load_${name}(token: u32, head: u32, column: u32) -> vec4<f32> {
  return ${name}[(token * ${heads} + head) * VECTORS + column];
}`;
  return /* wgsl */ `
fn load_${name}(token: u32, head: u32, column: u32) -> vec4<f32> {
  let at = (token * ${heads} + head) * D + 4u * column;
  var value = vec4<f32>();
  for (var i = 0u; i < min(4u, D - 4u * column); i++) { value[i] = ${name}[at + i]; }
  return value;
}`;
}

/** `store_<name>(token, head, column, value)`, the other way. */
export function storer({ aligned }: HeadShape, name: string, heads: string): string {
  if (aligned)
    return /* wgsl */ `
fn store_${name}(token: u32, head: u32, column: u32, value: vec4<f32>) {
  ${name}[(token * ${heads} + head) * VECTORS + column] = value;
}`;
  return /* wgsl */ `
fn store_${name}(token: u32, head: u32, column: u32, value: vec4<f32>) {
  let at = (token * ${heads} + head) * D + 4u * column;
  for (var i = 0u; i < min(4u, D - 4u * column); i++) { ${name}[at + i] = value[i]; }
}`;
}

/** The branch rule. */
export const branchFunctions = /* wgsl */ `
const PADDING_SEGMENT = 0x7fffu;

// Does a token of branch code a see an earlier one of code b? (branchSees of the reference, four at a time)
fn branch_sees(a: vec4<u32>, b: vec4<u32>) -> vec4<bool> {
  let x = a ^ b;
  let other_block = (x >> vec4<u32>(4u)) != vec4<u32>();
  let same_example = (x >> vec4<u32>(16u)) == vec4<u32>();
  let real = (a >> vec4<u32>(16u)) != vec4<u32>(PADDING_SEGMENT);
  return real & ((x == vec4<u32>()) | (other_block & same_example));
}
`;

/** Workgroup memory and the products of two tiles. */
export const tileFunctions = /* wgsl */ `
var<workgroup> tile_a: array<vec4<f32>, 288>;
var<workgroup> tile_b: array<vec4<f32>, 288>;
var<workgroup> tile_p: array<vec4<f32>, 288>;

// s[r][c] += (row r of tile_a) · (row c of tile_b), over \`count\` vec4s.
fn tile_products(s: ptr<function, mat4x4<f32>>, count: u32, tx: u32, ty: u32) {
  for (var k = 0u; k < count; k++) {
    let b0 = tile_b[tx * 9u + k];
    let b1 = tile_b[(tx + 8u) * 9u + k];
    let b2 = tile_b[(tx + 16u) * 9u + k];
    let b3 = tile_b[(tx + 24u) * 9u + k];
    let a0 = tile_a[ty * 9u + k];
    let a1 = tile_a[(ty + 8u) * 9u + k];
    let a2 = tile_a[(ty + 16u) * 9u + k];
    let a3 = tile_a[(ty + 24u) * 9u + k];
    (*s)[0] += vec4<f32>(dot(a0, b0), dot(a0, b1), dot(a0, b2), dot(a0, b3));
    (*s)[1] += vec4<f32>(dot(a1, b0), dot(a1, b1), dot(a1, b2), dot(a1, b3));
    (*s)[2] += vec4<f32>(dot(a2, b0), dot(a2, b1), dot(a2, b2), dot(a2, b3));
    (*s)[3] += vec4<f32>(dot(a3, b0), dot(a3, b1), dot(a3, b2), dot(a3, b3));
  }
}

// acc[r] += Σ_j p[row r][j] · (vec4 tx of row j of tile_b). A vec4 of tile_p holds columns j, j + 8, j + 16, j + 24.
fn tile_accumulate(acc: ptr<function, mat4x4<f32>>, tx: u32, ty: u32) {
  if (tx >= WIDTH) { return; }
  for (var j = 0u; j < 8u; j++) {
    let b = mat4x4<f32>(
      tile_b[j * 9u + tx], tile_b[(j + 8u) * 9u + tx], tile_b[(j + 16u) * 9u + tx], tile_b[(j + 24u) * 9u + tx]);
    (*acc)[0] += b * tile_p[ty * 9u + j];
    (*acc)[1] += b * tile_p[(ty + 8u) * 9u + j];
    (*acc)[2] += b * tile_p[(ty + 16u) * 9u + j];
    (*acc)[3] += b * tile_p[(ty + 24u) * 9u + j];
  }
}
`;

/** Statement: rows first, first + 1, … of the example's row (at `base`) into a tile; rows from u.T on are zeros. */
export function loadTile(
  target: 'a' | 'b',
  name: string,
  first: string,
  head: string,
  chunk: number,
): string {
  return /* wgsl */ `
    for (var e = t; e < ${TILE}u * WIDTH; e += 64u) {
      let row = e / WIDTH;
      let column = ${8 * chunk}u + e % WIDTH;
      var value = vec4<f32>();
      if (column < VECTORS && ${first} + row < u.T) { value = load_${name}(base + ${first} + row, ${head}, column); }
      tile_${target}[row * 9u + e % WIDTH] = value;
    }`;
}

/** Repeats a text for 0, 1, 2, 3: rows or columns of a thread. */
export function times4(text: (i: number) => string): string {
  return [0, 1, 2, 3].map(text).join('\n');
}

/** Repeats a text for every chunk. */
export function forChunks({ chunks }: HeadShape, text: (chunk: number) => string): string {
  return Array.from({ length: chunks }, (_, chunk) => text(chunk)).join('\n');
}

/** Statement: `s` += products of rows of `a` and `b`, chunk by chunk. */
export function products(
  shape: HeadShape,
  s: string,
  a: readonly [name: string, first: string, head: string],
  b: readonly [name: string, first: string, head: string],
): string {
  return forChunks(
    shape,
    (chunk) => /* wgsl */ `
    ${loadTile('a', ...a, chunk)}
    ${loadTile('b', ...b, chunk)}
    workgroupBarrier();
    tile_products(&${s}, min(8u, VECTORS - ${8 * chunk}u), tx, ty);
    workgroupBarrier();`,
  );
}

/** Statement: `acc<chunk>` += tile_p · rows of `b`, for every chunk. */
export function accumulate(
  shape: HeadShape,
  acc: string,
  b: readonly [name: string, first: string, head: string],
): string {
  return forChunks(
    shape,
    (chunk) => /* wgsl */ `
    ${loadTile('b', ...b, chunk)}
    workgroupBarrier();
    tile_accumulate(&${acc}${chunk}, tx, ty);
    workgroupBarrier();`,
  );
}

/** Statement: declares the accumulators of `accumulate`. */
export function accumulators(shape: HeadShape, acc: string): string {
  return forChunks(shape, (chunk) => `  var ${acc}${chunk} = mat4x4<f32>();`);
}

/** Statement: stores the accumulators as rows of the tile at `first`, each after `finish`. */
export function storeRows(
  shape: HeadShape,
  acc: string,
  name: string,
  first: string,
  head: string,
  finish: (value: string, r: number) => string = (value) => value,
): string {
  return times4((r) =>
    forChunks(
      shape,
      (chunk) => /* wgsl */ `
  if (${first} + ty + ${8 * r}u < u.T && tx < WIDTH && ${8 * chunk}u + tx < VECTORS) {
    store_${name}(base + ${first} + ty + ${8 * r}u, ${head}, ${8 * chunk}u + tx, ${finish(`${acc}${chunk}[${r}]`, r)});
  }`,
    ),
  );
}
