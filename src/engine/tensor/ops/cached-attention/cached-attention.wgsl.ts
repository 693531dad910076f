/**
 * WGSL form of cached-attention: store rotated keys (and rotate queries), store values and branch codes, attend. In
 * the last pass one workgroup works for one lane and head: 64 threads score 256 keys at a time (4 each) and then share
 * the head's vec4s and the keys among themselves to add up values.
 */
import { assert } from '../../../../base/assert.ts';
import type { WgslPass } from '../../op.ts';
import { elementGrid, FLAT_SIZE, groupReduceWgsl, read, u32, type Wgsl, write } from '../../wgsl.ts';
import {
  branchFunctions,
  type HeadShape,
  headShape,
  headType,
  loader,
  storer,
  times4,
} from '../rope-attention/rope-attention.tiles.ts';
import type { CachedAttentionAttributes } from './cached-attention.reference.ts';

const threadHead = /* wgsl */ `
@compute @workgroup_size(${FLAT_SIZE})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let id = flat_thread(group, groups, t);`;

const storeKeysBody = /* wgsl */ `${threadHead}
  let pair = id % HALF;
  let head = (id / HALF) % (H + HKV);
  let n = id / (HALF * (H + HKV));
  if (n >= u.N) { return; }
  let angle = u32(positions[n]) * HALF + pair;
  let c = cos_table[angle];
  let s = sin_table[angle];
  if (head < H) {
    let at = (n * H + head) * 2u * HALF + pair;
    let a = q[at] * f32(SCALE);
    let b = q[at + HALF] * f32(SCALE);
    qr[at] = a * c - b * s;
    qr[at + HALF] = b * c + a * s;
  } else {
    let at = (n * HKV + head - H) * 2u * HALF + pair;
    let to = (u32(slots[n]) * HKV + head - H) * 2u * HALF + pair;
    cache_k[to] = k[at] * c - k[at + HALF] * s;
    cache_k[to + HALF] = k[at + HALF] * c + k[at] * s;
  }
}
`;

const storeValuesBody = /* wgsl */ `${threadHead}
  let n = id / WIDTH;
  if (n >= u.N) { return; }
  let slot = u32(slots[n]);
  cache_v[slot * WIDTH + id % WIDTH] = v[id];
  if (id % WIDTH == 0u) { cache_branches[slot] = branches[n]; }
}
`;

const LANES = {
  apart:
    'fn slot_of(n: u32) -> i32 { return slots[n]; }\nfn code_of(n: u32) -> u32 { return u32(branches[n]); }',
  packed: /* wgsl */ `
fn slot_of(n: u32) -> i32 { return lanes[2u * u.stride + n]; }
fn code_of(n: u32) -> u32 { return u32(lanes[u.stride + n]); }`,
};

/** Branch codes and slots come in bindings of their own, or as planes 1 and 2 of `lanes`. A lane without slot is idle. */
const attendBody = (shape: HeadShape, from: keyof typeof LANES) => /* wgsl */ `
${LANES[from]}
${loader(shape, 'q', 'u.H')}${loader(shape, 'k', 'u.HKV')}${loader(shape, 'v', 'u.HKV')}
${storer(shape, 'out', 'u.H')}${branchFunctions}${groupReduceWgsl(64)}
const HIDDEN = -1e30;
const SHARES = 64u / VECTORS;
var<workgroup> query: array<vec4<f32>, VECTORS>;
var<workgroup> weights: array<f32, 256>;
var<workgroup> parts: array<vec4<f32>, 64>;

fn score(key: u32, head: u32) -> f32 {
  var sum = 0.0;
  for (var c = 0u; c < VECTORS; c++) { sum += dot(query[c], load_k(key, head, c)); }
  return sum;
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let h = group.x;
  let n = group.y;
  let g = h / (u.H / u.HKV);
  if (slot_of(n) < 0) {
    if (t < VECTORS) { store_out(n, h, t, vec4<f32>()); }
    return;
  }
  let slot = u32(slot_of(n));
  let code = vec4<u32>(code_of(n));
  if (t < VECTORS) { query[t] = load_q(n, h, t); }
  workgroupBarrier();
  var m = f32(HIDDEN);
  var l = 0.0;
  var acc = vec4<f32>();
  for (var first = slot / u.slots_per_row * u.slots_per_row; first <= slot; first += 256u) {
    let keys = vec4<u32>(first + t) + vec4<u32>(0u, 64u, 128u, 192u);
    let near = min(keys, vec4<u32>(slot));
    let codes = vec4<u32>(vec4<i32>(
      cache_branches[near.x], cache_branches[near.y], cache_branches[near.z], cache_branches[near.w]));
    let seen = (keys <= vec4<u32>(slot)) & branch_sees(code, codes);
    var s = vec4<f32>(HIDDEN);
    ${times4((i) => `if (seen[${i}]) { s[${i}] = score(keys[${i}], g); }`)}
    let largest = max(m, group_max(max(max(s.x, s.y), max(s.z, s.w)), t));
    let shrink = exp(m - largest);
    m = largest;
    let p = select(vec4<f32>(), exp(s - m), seen);
    l = l * shrink + p.x + p.y + p.z + p.w;
    ${times4((i) => `weights[t + ${64 * i}u] = p[${i}];`)}
    workgroupBarrier();
    acc *= shrink;
    if (t < VECTORS * SHARES) {
      let count = min(256u, slot - first + 1u);
      for (var i = t / VECTORS; i < count; i += SHARES) {
        acc += weights[i] * load_v(first + i, g, t % VECTORS);
      }
    }
    workgroupBarrier();
  }
  parts[t] = acc;
  let total = group_sum(l, t);
  if (t < VECTORS) {
    var sum = vec4<f32>();
    for (var i = 0u; i < SHARES; i++) { sum += parts[i * VECTORS + t]; }
    store_out(n, h, t, sum / total);
  }
}
`;

/** Bodies are made once per variant. */
const bodies = new Map<string, string>();

/** Name and text of the attending pass. */
export function attendForm(shape: HeadShape, from: keyof typeof LANES): { name: string; body: string } {
  const name = `cached-attention${from === 'packed' ? '-packed' : ''}${shape.aligned ? '' : '-unaligned'}`;
  let body = bodies.get(name);
  if (!body) {
    body = attendBody(shape, from);
    bodies.set(name, body);
  }
  return { name, body };
}

/** [q, k, v, cacheK, cacheV, cacheBranches, cos, sin, positions, branches, slots] → [out [N, H·D]] */
export const cachedAttentionWgsl: Wgsl<CachedAttentionAttributes> = ([q], _, attributes) => {
  const { slotsPerRow, H, Hkv, D } = attributes;
  const N = q.shape[0];
  const shape = headShape(D);
  const type = headType(shape);
  assert(shape.vectors <= 64, `cached-attention takes heads of up to 256 numbers, not ${D}`);
  const passes: WgslPass[] = [
    {
      name: 'cached-attention-keys',
      constants: { H, HKV: Hkv, HALF: D / 2, SCALE: 1 / Math.sqrt(D) },
      bindings: [
        read('q', { input: 0 }),
        read('k', { input: 1 }),
        read('cos_table', { input: 6 }),
        read('sin_table', { input: 7 }),
        read('positions', { input: 8 }, 'i32'),
        read('slots', { input: 10 }, 'i32'),
        write('cache_k', { input: 3 }),
        write('qr', { scratch: 0 }),
      ],
      uniforms: [u32('N', N)],
      body: storeKeysBody,
      workgroups: elementGrid((N * (H + Hkv) * D) / 2),
    },
    {
      name: 'cached-attention-values',
      constants: { WIDTH: Hkv * D },
      bindings: [
        read('v', { input: 2 }),
        read('branches', { input: 9 }, 'i32'),
        read('slots', { input: 10 }, 'i32'),
        write('cache_v', { input: 4 }),
        write('cache_branches', { input: 5 }, 'i32'),
      ],
      uniforms: [u32('N', N)],
      body: storeValuesBody,
      workgroups: elementGrid(N * Hkv * D),
    },
    {
      ...attendForm(shape, 'apart'),
      constants: { D, VECTORS: shape.vectors },
      bindings: [
        read('q', { scratch: 0 }, type),
        read('k', { input: 3 }, type),
        read('v', { input: 4 }, type),
        read('cache_branches', { input: 5 }, 'i32'),
        read('branches', { input: 9 }, 'i32'),
        read('slots', { input: 10 }, 'i32'),
        write('out', { output: 0 }, type),
      ],
      uniforms: [u32('H', H), u32('HKV', Hkv), u32('slots_per_row', slotsPerRow)],
      workgroups: [H, N, 1],
    },
  ];
  return { passes, scratch: [q] };
};
