/**
 * WGSL form of sample: one workgroup per row. Nothing is sorted. The cut of top-k and of top-p is found bit by bit as
 * the smallest score (as an ordered integer) above which fewer than k tokens, or less than the mass p, lie; a tie
 * that top-p cuts through is split by a second search over ids. The draw walks ids in order, in one stretch a thread.
 */
import { hash32Wgsl } from '../../../../base/rng.ts';
import { f32, flatGrid, groupReduceWgsl, read, u32, type Wgsl, write } from '../../wgsl.ts';
import type { SampleAttributes } from './sample.reference.ts';

const bodyFor = (threads: number) => /* wgsl */ `${hash32Wgsl}${groupReduceWgsl(threads)}
const NOTHING = -3e38;
var<workgroup> sums: array<f32, ${threads}>;
var<workgroup> lasts: array<i32, ${threads}>;

// The survivors so far: scores of at least \`cut\`, and of those equal to \`tie\` only ids up to \`tie_id\`.
struct Row { start: u32, banned: i32, largest: f32, cut: u32, tie: u32, tie_id: u32 }

// Integers in the order of the floats.
fn ordered(x: f32) -> u32 {
  let bits = bitcast<u32>(select(x, 0.0, x == 0.0));
  return select(bits | 0x80000000u, ~bits, (bits >> 31u) == 1u);
}
fn allowed(row: Row, v: u32) -> bool { return i32(v) != row.banned && logits[row.start + v] > NOTHING; }
fn weight(row: Row, v: u32) -> f32 { return exp((logits[row.start + v] - row.largest) * u.scale); }
fn alive(row: Row, v: u32) -> bool {
  let order = ordered(logits[row.start + v]);
  return allowed(row, v) && order >= row.cut && (order != row.tie || v <= row.tie_id);
}
fn kept(row: Row, v: u32) -> bool { return alive(row, v) && (u.min_p <= 0.0 || weight(row, v) >= u.min_p); }

// Number (or mass) of the survivors whose order is above \`order\`, or equal to it with an id below \`id\`.
fn above(row: Row, order: u32, id: u32, mass: bool, t: u32) -> f32 {
  var sum = 0.0;
  for (var v = t; v < u.V; v += ${threads}u) {
    let own = ordered(logits[row.start + v]);
    if (alive(row, v) && (own > order || (own == order && v < id))) { sum += select(1.0, weight(row, v), mass); }
  }
  return group_sum(sum, t);
}

// Smallest order above which less than \`limit\` lies: that of a token.
fn find_cut(row: Row, limit: f32, mass: bool, t: u32) -> u32 {
  var order = 0u;
  for (var bit = 0x80000000u; bit > 0u; bit = bit >> 1u) {
    if (above(row, order | (bit - 1u), 0u, mass, t) >= limit) { order = order | bit; }
  }
  return order;
}

@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let n = flat_group(group, groups);
  if (n >= u.N) { return; }
  var row = Row(n * u.V, banned[n], NOTHING, 0u, 0u, 0xffffffffu);

  // Log-sum-exp over all tokens, for the log-prob.
  var largest = f32(NOTHING);
  for (var v = t; v < u.V; v += ${threads}u) {
    largest = max(largest, logits[row.start + v]);
    if (allowed(row, v)) { row.largest = max(row.largest, logits[row.start + v]); }
  }
  largest = group_max(largest, t);
  row.largest = group_max(row.largest, t);
  var sum = 0.0;
  for (var v = t; v < u.V; v += ${threads}u) { sum += exp((logits[row.start + v] - largest) * u.scale); }
  let log_sum = log(group_sum(sum, t));

  var choice = -1;
  var chosen = false;
  if (u.greedy == 1u) {
    var first = f32(NOTHING); // minus the smallest id
    for (var v = t; v < u.V; v += ${threads}u) {
      if (allowed(row, v) && logits[row.start + v] == row.largest) { first = max(first, -f32(v)); }
    }
    choice = -i32(group_max(first, t));
    chosen = t == 0u;
  } else {
    if (u.top_k > 0u && u.top_k < u.V) { row.cut = find_cut(row, f32(u.top_k), false, t); }
    if (u.top_p < 1.0) {
      let limit = max(u.top_p, 1e-30) * above(row, 0u, 0u, true, t);
      let order = find_cut(row, limit, true, t);
      // Of the tokens equal to the cut, those with less than the limit before them stay.
      var id = 0u;
      for (var bit = 1u << (31u - countLeadingZeros(u.V)); bit > 0u; bit = bit >> 1u) {
        if (above(row, order, id | bit, true, t) < limit) { id = id | bit; }
      }
      row.cut = max(row.cut, order);
      row.tie = order;
      row.tie_id = id;
    }
    let stretch = (u.V + ${threads - 1}u) / ${threads}u;
    let begin = min(t * stretch, u.V);
    let end = min(begin + stretch, u.V);
    var own = 0.0;
    var last = -1;
    for (var v = begin; v < end; v++) {
      if (kept(row, v)) {
        own += weight(row, v);
        last = i32(v);
      }
    }
    sums[t] = own;
    lasts[t] = last;
    workgroupBarrier();
    var before = 0.0;
    var total = 0.0;
    for (var i = 0u; i < ${threads}u; i++) {
      if (i == t) { before = total; }
      total += sums[i];
      choice = max(choice, lasts[i]);
    }
    let threshold = uniform_at(u32(keys[n]), u32(counters[n])) * total;
    if (total > threshold) {
      // Exactly one stretch crosses the threshold.
      if (before <= threshold && before + own > threshold) {
        chosen = true;
        own = 0.0;
        for (var v = begin; v < end; v++) {
          if (!kept(row, v)) { continue; }
          own += weight(row, v);
          choice = i32(v);
          if (before + own > threshold) { break; }
        }
      }
    } else {
      chosen = t == 0u; // rounding: the last survivor
    }
  }
  if (chosen) {
    ids[n] = choice;
    logp[n] = (logits[row.start + u32(max(choice, 0))] - largest) * u.scale - log_sum;
  }
}
`;

// Every thread reads the sums of all stretches, so small vocabularies take fewer threads.
const SMALL = { name: 'sample-64', body: bodyFor(64) };
const LARGE = { name: 'sample-256', body: bodyFor(256) };
const SMALL_VOCABULARY = 1024;

/** [logits [N, V], keys, counters, banned (int32 [N])], {temperature, topK, topP, minP} → [ids int32 [N], logp [N]] */
export const sampleWgsl: Wgsl<SampleAttributes> = ([logits], _, { temperature, topK, topP, minP }) => {
  const [N, V] = logits.shape;
  const greedy = temperature === 0;
  return {
    passes: [
      {
        ...(V <= SMALL_VOCABULARY ? SMALL : LARGE),
        constants: {},
        bindings: [
          read('logits', { input: 0 }),
          read('keys', { input: 1 }, 'i32'),
          read('counters', { input: 2 }, 'i32'),
          read('banned', { input: 3 }, 'i32'),
          write('ids', { output: 0 }, 'i32'),
          write('logp', { output: 1 }),
        ],
        uniforms: [
          u32('N', N),
          u32('V', V),
          u32('greedy', greedy ? 1 : 0),
          f32('scale', greedy ? 1 : 1 / temperature),
          u32('top_k', topK),
          f32('top_p', topP),
          f32('min_p', minP),
        ],
        workgroups: flatGrid(N),
      },
    ],
  };
};
