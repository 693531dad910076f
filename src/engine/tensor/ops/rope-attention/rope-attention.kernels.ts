/** WGSL texts of the attention kernels; rope-attention.wgsl.ts and attend.wgsl.ts bind and dispatch them. */
import { FLAT_SIZE } from '../../wgsl.ts';
import {
  accumulate,
  accumulators,
  branchFunctions,
  forChunks,
  type HeadShape,
  loader,
  products,
  storeRows,
  storer,
  TILE,
  tileFunctions,
  times4,
} from './rope-attention.tiles.ts';

/** Rotates pair (i, i + D/2) of a head: q·scale and k forward; `sign` −1 turns gradients back. */
const rotateBody = (
  from: readonly [string, string],
  to: readonly [string, string],
  sign: '' | '-',
) => /* wgsl */ `
@compute @workgroup_size(${FLAT_SIZE})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let id = flat_thread(group, groups, t);
  let pair = id % HALF;
  let head = (id / HALF) % (H + HKV);
  let n = id / (HALF * (H + HKV));
  if (n >= u.N) { return; }
  let angle = u32(positions[n]) * HALF + pair;
  let c = cos_table[angle];
  let s = ${sign}sin_table[angle];
  if (head < H) {
    let at = (n * H + head) * 2u * HALF + pair;
    let a = ${from[0]}[at] * f32(SCALE);
    let b = ${from[0]}[at + HALF] * f32(SCALE);
    ${to[0]}[at] = a * c - b * s;
    ${to[0]}[at + HALF] = b * c + a * s;
  } else {
    let at = (n * HKV + head - H) * 2u * HALF + pair;
    let a = ${from[1]}[at];
    let b = ${from[1]}[at + HALF];
    ${to[1]}[at] = a * c - b * s;
    ${to[1]}[at + HALF] = b * c + a * s;
  }
}
`;
export const rotateForwardBody = rotateBody(['q', 'k'], ['qr', 'kr'], '');
export const rotateBackBody = rotateBody(['dq', 'dk'], ['dq', 'dk'], '-');

const mainHead = /* wgsl */ `
@compute @workgroup_size(8, 8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let tx = local.x;
  let ty = local.y;
  let base = group.z * u.T;
  let tiles = (u.T + ${TILE - 1}u) / ${TILE}u;`;

/** Branch code of slot i of the row, padding beyond its end; which keys a query sees. */
const codeFunctions = /* wgsl */ `
fn code_of(base: u32, i: u32) -> u32 {
  if (i >= u.T) { return PADDING_SEGMENT << 16u; }
  return u32(branches[base + i]);
}
fn codes_of(base: u32, i: vec4<u32>) -> vec4<u32> {
  return vec4<u32>(code_of(base, i.x), code_of(base, i.y), code_of(base, i.z), code_of(base, i.w));
}
fn sees(base: u32, query: u32, keys: vec4<u32>, key_codes: vec4<u32>) -> vec4<bool> {
  return (keys <= vec4<u32>(query)) & branch_sees(vec4<u32>(code_of(base, query)), key_codes);
}`;

// Examples lie one after the other in a row, so the walk back over key tiles ends at the first whose last key is of
// another example than the first query. The heaviest query tiles come first.
const queryTile = /* wgsl */ `
  let tile = tiles - 1u - group.x;
  let h = group.y;
  let g = h / (u.H / u.HKV);
  let i0 = tile * ${TILE}u;`;
const queryTileLoop = /* wgsl */ `
  let first_segment = code_of(base, i0) >> 16u;
  for (var back = 0u; back <= tile; back++) {
    let j0 = (tile - back) * ${TILE}u;
    if (back > 0u && (code_of(base, j0 + ${TILE - 1}u) >> 16u) != first_segment) { break; }`;

/** Log-sum-exps go to `lse`, or to `stats` as pairs with room for Δ. */
export const attendBody = (shape: HeadShape, to: 'lse' | 'stats') => /* wgsl */ `
${loader(shape, 'q', 'u.H')}${loader(shape, 'k', 'u.HKV')}${loader(shape, 'v', 'u.HKV')}${storer(shape, 'out', 'u.H')}
${tileFunctions}${branchFunctions}${codeFunctions}
const HIDDEN = -1e30;
var<workgroup> rows: array<f32, 288>;
fn row_max(row: u32, start: f32) -> f32 {
  var largest = start;
  for (var c = 0u; c < 8u; c++) { largest = max(largest, rows[row * 9u + c]); }
  return largest;
}
fn row_sum(row: u32) -> f32 {
  var sum = 0.0;
  for (var c = 0u; c < 8u; c++) { sum += rows[row * 9u + c]; }
  return sum;
}
${mainHead}
  var m = vec4<f32>(HIDDEN);
  var l = vec4<f32>();
${accumulators(shape, 'acc')}
  ${queryTile}${queryTileLoop}
    var s = mat4x4<f32>();
    ${products(shape, 's', ['q', 'i0', 'h'], ['k', 'j0', 'g'])}
    let keys = vec4<u32>(j0 + tx) + vec4<u32>(0u, 8u, 16u, 24u);
    let key_codes = codes_of(base, keys);
    ${times4(
      (r) => /* wgsl */ `
    let seen${r} = sees(base, i0 + ty + ${8 * r}u, keys, key_codes);
    let s${r} = select(vec4<f32>(HIDDEN), s[${r}], seen${r});
    rows[(ty + ${8 * r}u) * 9u + tx] = max(max(s${r}.x, s${r}.y), max(s${r}.z, s${r}.w));`,
    )}
    workgroupBarrier();
    ${times4(
      (r) => /* wgsl */ `
    let m${r} = row_max(ty + ${8 * r}u, m[${r}]);
    let shrink${r} = exp(m[${r}] - m${r});
    m[${r}] = m${r};
    let p${r} = select(vec4<f32>(), exp(s${r} - m${r}), seen${r});
    tile_p[(ty + ${8 * r}u) * 9u + tx] = p${r};
    l[${r}] = l[${r}] * shrink${r} + p${r}.x + p${r}.y + p${r}.z + p${r}.w;
    ${forChunks(shape, (chunk) => `acc${chunk}[${r}] *= shrink${r};`)}`,
    )}
    ${accumulate(shape, 'acc', ['v', 'j0', 'g'])}
  }
  ${times4((r) => `rows[(ty + ${8 * r}u) * 9u + tx] = l[${r}];`)}
  workgroupBarrier();
  ${times4(
    (r) => /* wgsl */ `
  l[${r}] = row_sum(ty + ${8 * r}u);
  if (tx == 0u && i0 + ty + ${8 * r}u < u.T) {
    let lse${r} = select(0.0, m[${r}] + log(l[${r}]), l[${r}] > 0.0);
    ${to}[(base + i0 + ty + ${8 * r}u) * u.H + h] = ${to === 'lse' ? `lse${r}` : `vec2<f32>(lse${r}, 0.0)`};
  }`,
  )}
  ${storeRows(shape, 'acc', 'out', 'i0', 'h', (value, r) => `select(vec4<f32>(), ${value} / l[${r}], l[${r}] > 0.0)`)}
}
`;

/** stats[n, h] = (log-sum-exp, Δ) with Δ = Σ_j p_j·dp_j = dout · out (FlashAttention, appendix B.2). */
export const statsBody = /* wgsl */ `
@compute @workgroup_size(${FLAT_SIZE})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let id = flat_thread(group, groups, t);
  if (id >= u.N * H) { return; }
  var delta = 0.0;
  for (var d = id * D; d < (id + 1u) * D; d++) { delta += dout[d] * out[d]; }
  stats[id] = vec2<f32>(lse[id], delta);
}
`;

/** Makes and stores the Δ of its own rows, for the key gradient to read: the statistics need no pass of their own. */
const ownStats = /* wgsl */ `
  if (t < ${TILE}u && i0 + t < u.T) {
    let n = base + i0 + t;
    var delta = 0.0;
    for (var c = 0u; c < VECTORS; c++) { delta += dot(load_dout(n, h, c), load_out(n, h, c)); }
    tile_stats[t] = vec2<f32>(stats[n * u.H + h].x, delta);
    stats[n * u.H + h] = tile_stats[t];
  }
  workgroupBarrier();`;

/** Reads Δ from `stats`, or makes it from `out` and stores it there. */
export const queryGradBody = (shape: HeadShape, delta: 'read' | 'made') => /* wgsl */ `
${delta === 'made' ? `${loader(shape, 'out', 'u.H')}\nvar<workgroup> tile_stats: array<vec2<f32>, ${TILE}>;` : ''}
${loader(shape, 'q', 'u.H')}${loader(shape, 'k', 'u.HKV')}${loader(shape, 'v', 'u.HKV')}${loader(shape, 'dout', 'u.H')}
${storer(shape, 'dq', 'u.H')}
${tileFunctions}${branchFunctions}${codeFunctions}
${mainHead}
${accumulators(shape, 'acc')}
  ${queryTile}${delta === 'made' ? ownStats : ''}${queryTileLoop}
    var s = mat4x4<f32>();
    var dp = mat4x4<f32>();
    ${products(shape, 's', ['q', 'i0', 'h'], ['k', 'j0', 'g'])}
    ${products(shape, 'dp', ['dout', 'i0', 'h'], ['v', 'j0', 'g'])}
    let keys = vec4<u32>(j0 + tx) + vec4<u32>(0u, 8u, 16u, 24u);
    let key_codes = codes_of(base, keys);
    ${times4(
      (r) => /* wgsl */ `
    let seen${r} = sees(base, i0 + ty + ${8 * r}u, keys, key_codes);
    let stat${r} = ${delta === 'made' ? `tile_stats[ty + ${8 * r}u]` : `stats[(base + min(i0 + ty + ${8 * r}u, u.T - 1u)) * u.H + h]`};
    tile_p[(ty + ${8 * r}u) * 9u + tx] =
      select(vec4<f32>(), exp(s[${r}] - stat${r}.x) * (dp[${r}] - stat${r}.y), seen${r});`,
    )}
    ${accumulate(shape, 'acc', ['k', 'j0', 'g'])}
  }
  ${storeRows(shape, 'acc', 'dq', 'i0', 'h')}
}
`;

// Rows of the tile are keys and columns queries. Query tiles run forward from the diagonal until one begins in another
// example than the last key's.
export const keyGradBody = (shape: HeadShape) => /* wgsl */ `
${loader(shape, 'q', 'u.H')}${loader(shape, 'k', 'u.HKV')}${loader(shape, 'v', 'u.HKV')}${loader(shape, 'dout', 'u.H')}
${storer(shape, 'dk', 'u.HKV')}${storer(shape, 'dv', 'u.HKV')}
${tileFunctions}${branchFunctions}${codeFunctions}
${mainHead}
  let g = group.y;
  let j0 = group.x * ${TILE}u;
  let last_segment = code_of(base, min(j0 + ${TILE - 1}u, u.T - 1u)) >> 16u;
${accumulators(shape, 'dk_acc')}
${accumulators(shape, 'dv_acc')}
  for (var h = g * (u.H / u.HKV); h < (g + 1u) * (u.H / u.HKV); h++) {
    for (var tile = group.x; tile < tiles; tile++) {
      let i0 = tile * ${TILE}u;
      if (tile > group.x && (code_of(base, i0) >> 16u) != last_segment) { break; }
      var s = mat4x4<f32>();
      var dp = mat4x4<f32>();
      ${products(shape, 's', ['k', 'j0', 'g'], ['q', 'i0', 'h'])}
      ${products(shape, 'dp', ['v', 'j0', 'g'], ['dout', 'i0', 'h'])}
      let queries = vec4<u32>(i0 + tx) + vec4<u32>(0u, 8u, 16u, 24u);
      let query_codes = codes_of(base, queries);
      let last = vec4<u32>(u.T - 1u);
      let at = (vec4<u32>(base) + min(queries, last)) * u.H + h;
      let logs = vec4<f32>(stats[at.x].x, stats[at.y].x, stats[at.z].x, stats[at.w].x);
      let deltas = vec4<f32>(stats[at.x].y, stats[at.y].y, stats[at.z].y, stats[at.w].y);
      ${times4(
        (r) => /* wgsl */ `
      let key${r} = j0 + ty + ${8 * r}u;
      let seen${r} = (queries >= vec4<u32>(key${r})) & branch_sees(query_codes, vec4<u32>(code_of(base, key${r})));
      let p${r} = select(vec4<f32>(), exp(s[${r}] - logs), seen${r});
      tile_p[(ty + ${8 * r}u) * 9u + tx] = p${r};`,
      )}
      ${accumulate(shape, 'dv_acc', ['dout', 'i0', 'h'])}
      ${times4((r) => `tile_p[(ty + ${8 * r}u) * 9u + tx] = p${r} * (dp[${r}] - deltas);`)}
      ${accumulate(shape, 'dk_acc', ['q', 'i0', 'h'])}
    }
  }
  ${storeRows(shape, 'dk_acc', 'dk', 'j0', 'g')}
  ${storeRows(shape, 'dv_acc', 'dv', 'j0', 'g')}
}
`;
