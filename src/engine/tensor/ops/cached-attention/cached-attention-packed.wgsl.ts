/**
 * WGSL form of packed cached-attention: rotate and store, then attend. Direct style of the second pass (heads of
 * vec4s): a thread for a lane and as many heads of one key head as registers hold.
 */
import { assert } from '../../../../base/assert.ts';
import type { WgslPass } from '../../op.ts';
import { flatGrid, kernelStyle, read, u32, type Wgsl, write } from '../../wgsl.ts';
import {
  MOST_VECTORS,
  own4,
  repeat,
  SIZE,
  softmaxState,
  softmaxStep,
} from '../rope-attention/attend.direct.ts';
import {
  branchFunctions,
  type HeadShape,
  headShape,
  headType,
} from '../rope-attention/rope-attention.tiles.ts';
import { overPairs, pairsOf } from '../rope-attention/rotate-packed.wgsl.ts';
import type { CachedAttentionAttributes } from './cached-attention.reference.ts';
import { attendForm } from './cached-attention.wgsl.ts';

const storeBody = overPairs(/* wgsl */ `
  let slot = lanes[2u * u.stride + n];
  if (slot < 0) { return; }
  if (head == 0u && pair == 0u) { cache_branches[slot] = lanes[u.stride + n]; }
  let a = qkv[packed];
  let b = qkv[packed + HALF];
  let angle = u32(lanes[n]) * HALF + pair;
  let c = cos_table[angle];
  let s = sin_table[angle];
  if (head < H) {
    let to = (n * H + head) * 2u * HALF + pair;
    qr[to] = (a * c - b * s) * SCALE;
    qr[to + HALF] = (b * c + a * s) * SCALE;
  } else if (head < H + HKV) {
    let to = (u32(slot) * HKV + head - H) * 2u * HALF + pair;
    cache_k[to] = a * c - b * s;
    cache_k[to + HALF] = b * c + a * s;
  } else {
    let to = (u32(slot) * HKV + head - H - HKV) * 2u * HALF + pair;
    cache_v[to] = a;
    cache_v[to + HALF] = b;
  }`);

const directBody = (shape: HeadShape, run: number) => /* wgsl */ `
${branchFunctions}
const HIDDEN = f32(-1e30);
@compute @workgroup_size(${SIZE})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let id = flat_group(group, groups) * ${SIZE}u + t;
  let shares = u.H / ${run}u;
  let n = id / shares;
  if (n >= u.N) { return; }
  let h = id % shares * ${run}u;
  let g = h / (u.H / u.HKV);
  let own = (n * u.H + h) * VECTORS;
  let lane_slot = lanes[2u * u.stride + n];
  if (lane_slot < 0) {
    for (var i = 0u; i < ${run}u * VECTORS; i++) { out[own + i] = vec4<f32>(); }
    return;
  }
  let slot = u32(lane_slot);
  let code = vec4<u32>(u32(lanes[u.stride + n]));
  ${own4(shape, run, (r, c) => `let q${r}_${c} = q[own + ${r * shape.vectors + c}u];`)}
  ${softmaxState(shape, run)}
  for (var first = slot / u.slots_per_row * u.slots_per_row; first <= slot; first += 4u) {
    let keys = vec4<u32>(first) + vec4<u32>(0u, 1u, 2u, 3u);
    let near = min(keys, vec4<u32>(slot));
    let codes = vec4<u32>(vec4<i32>(
      cache_branches[near.x], cache_branches[near.y], cache_branches[near.z], cache_branches[near.w]));
    let at = (near * u.HKV + g) * VECTORS;
    ${repeat(run, (r) => `let seen${r} = (keys <= vec4<u32>(slot)) & branch_sees(code, codes);`)}
    ${softmaxStep(shape, run)}
  }
  ${own4(shape, run, (r, c) => `out[own + ${r * shape.vectors + c}u] = acc${r}_${c} / l${r};`)}
}
`;

/** Heads of a direct thread: a divisor of those that share a key head, of 16 vec4s together at most. */
function headsPerThread(group: number, { vectors }: HeadShape): number {
  let run = 1;
  for (let d = 2; d <= group && d * vectors <= 16; d++) if (group % d === 0) run = d;
  return run;
}

const directBodies = new Map<string, string>();
function directForm(shape: HeadShape, run: number): { name: string; body: string } {
  const name = `cached-attention-direct-${shape.vectors}-${run}`;
  let body = directBodies.get(name);
  if (!body) {
    body = directBody(shape, run);
    directBodies.set(name, body);
  }
  return { name, body };
}

/** Text, size and uniforms of the attending pass. */
function attendPass(
  N: number,
  stride: number,
  { slotsPerRow, H, Hkv, D }: CachedAttentionAttributes,
): Omit<WgslPass, 'bindings'> {
  const shape = headShape(D);
  const uniforms = [u32('H', H), u32('HKV', Hkv), u32('slots_per_row', slotsPerRow), u32('stride', stride)];
  if (kernelStyle() === 'direct' && shape.aligned && shape.vectors <= MOST_VECTORS) {
    const run = headsPerThread(H / Hkv, shape);
    return {
      ...directForm(shape, run),
      constants: { VECTORS: shape.vectors },
      uniforms: [...uniforms, u32('N', N)],
      workgroups: flatGrid(Math.ceil((N * H) / run / SIZE)),
    };
  }
  assert(shape.vectors <= 64, `cached-attention takes heads of up to 256 numbers, not ${D}`);
  return {
    ...attendForm(shape, 'packed'),
    constants: { D, VECTORS: shape.vectors },
    uniforms,
    workgroups: [H, N, 1],
  };
}

/** [qkv, cacheK, cacheV, cacheBranches, cos, sin, lanes] → [out [N, H·D]] */
export const cachedAttentionPackedWgsl: Wgsl<CachedAttentionAttributes> = (inputs, [out], attributes) => {
  const N = inputs[0].shape[0];
  const stride = inputs[6].shape[1];
  const type = headType(headShape(attributes.D));
  const { type: pairs, ...pass } = pairsOf(N, attributes);
  return {
    scratch: [out],
    passes: [
      {
        ...pass,
        name: 'cached-attention-store',
        body: storeBody,
        bindings: [
          read('qkv', { input: 0 }, pairs),
          read('cos_table', { input: 4 }, pairs),
          read('sin_table', { input: 5 }, pairs),
          read('lanes', { input: 6 }, 'i32'),
          write('cache_k', { input: 1 }, pairs),
          write('cache_v', { input: 2 }, pairs),
          write('cache_branches', { input: 3 }, 'i32'),
          write('qr', { scratch: 0 }, pairs),
        ],
        uniforms: [u32('N', N), u32('stride', stride)],
      },
      {
        ...attendPass(N, stride, attributes),
        bindings: [
          read('q', { scratch: 0 }, type),
          read('k', { input: 1 }, type),
          read('v', { input: 2 }, type),
          read('cache_branches', { input: 3 }, 'i32'),
          read('lanes', { input: 6 }, 'i32'),
          write('out', { output: 0 }, type),
        ],
      },
    ],
  };
};
