/** WGSL form of logit-loss (one workgroup per row) and of its gradient (one thread per logit). */
import type { WgslPass } from '../../op.ts';
import {
  elementGrid,
  FLAT_SIZE,
  f32,
  flatGrid,
  groupReduceWgsl,
  kernelStyle,
  read,
  u32,
  type Wgsl,
  write,
} from '../../wgsl.ts';

const lossBody = (threads: number) => /* wgsl */ `${groupReduceWgsl(threads)}
@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let n = flat_group(group, groups);
  if (n >= u.N) { return; }
  let row = n * u.V;
  var largest = -3e38;
  for (var v = t; v < u.V; v += ${threads}u) { largest = max(largest, logits[row + v]); }
  largest = group_max(largest, t);
  var sum = 0.0;
  var weighted = 0.0;
  for (var v = t; v < u.V; v += ${threads}u) {
    let shifted = (logits[row + v] - largest) * u.scale;
    let e = exp(shifted);
    sum += e;
    weighted += e * shifted;
  }
  sum = group_sum(sum, t);
  weighted = group_sum(weighted, t);
  if (t == 0u) {
    let log_sum = log(sum);
    lse[n] = log_sum + largest * u.scale;
    // H = log Σe^s − Σ p·s with s the shifted logits: all terms are positive, so nothing cancels.
    entropy[n] = log_sum - weighted / sum;
    let target_id = targets[n];
    logp[n] = 0.0;
    if (target_id >= 0) { logp[n] = (logits[row + u32(target_id)] - largest) * u.scale - log_sum; }
  }
}
`;

const gradBody = (to: 'logits' | 'dlogits') => /* wgsl */ `
@compute @workgroup_size(${FLAT_SIZE})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let i = flat_thread(group, groups, t);
  let n = i / u.V;
  if (n >= u.N) { return; }
  let target_id = targets[n];
  let a = select(0.0, dlogp[n], target_id >= 0);
  let log_p = logits[i] * u.scale - lse[n];
  let p = exp(log_p);
  let hit = select(0.0, 1.0, i32(u.first_id + i % u.V) == target_id);
  ${to}[i] = u.scale * (a * (hit - p) - dentropy[n] * p * (log_p + entropy[n]));
}
`;

/** Threads of a workgroup in the direct style, where each has a row to itself. */
const ROWS = 16;

const directLossBody = /* wgsl */ `
@compute @workgroup_size(${ROWS})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let n = flat_group(group, groups) * ${ROWS}u + t;
  if (n >= u.N) { return; }
  let row = n * u.V;
  var largest = -3e38;
  for (var v = 0u; v < u.V; v++) { largest = max(largest, logits[row + v]); }
  var sum = 0.0;
  var weighted = 0.0;
  for (var v = 0u; v < u.V; v++) {
    let shifted = (logits[row + v] - largest) * u.scale;
    let e = exp(shifted);
    sum += e;
    weighted += e * shifted;
  }
  let log_sum = log(sum);
  lse[n] = log_sum + largest * u.scale;
  entropy[n] = log_sum - weighted / sum;
  let target_id = targets[n];
  logp[n] = 0.0;
  if (target_id >= 0) { logp[n] = (logits[row + u32(target_id)] - largest) * u.scale - log_sum; }
}
`;

const DIRECT = { name: 'logit-loss-direct', body: directLossBody };
const SMALL = { name: 'logit-loss-32', body: lossBody(32) };
const LARGE = { name: 'logit-loss-256', body: lossBody(256) };
const SMALL_VOCABULARY = 512;

/** [logits [N, V], targets int32 [N]], {temperature} → [logp [N], entropy [N], lse [N]] */
export const logitLossWgsl: Wgsl<{ temperature: number }> = ([logits], _, { temperature }) => {
  const [N, V] = logits.shape;
  return {
    passes: [
      {
        ...(kernelStyle() === 'direct' ? DIRECT : V <= SMALL_VOCABULARY ? SMALL : LARGE),
        constants: {},
        bindings: [
          read('logits', { input: 0 }),
          read('targets', { input: 1 }, 'i32'),
          write('logp', { output: 0 }),
          write('entropy', { output: 1 }),
          write('lse', { output: 2 }),
        ],
        uniforms: [u32('N', N), u32('V', V), f32('scale', 1 / temperature)],
        workgroups: flatGrid(kernelStyle() === 'direct' ? Math.ceil(N / ROWS) : N),
      },
    ],
  };
};

const GRAD = { name: 'logit-loss-grad', body: gradBody('dlogits') };
const GRAD_IN_PLACE = { name: 'logit-chunk-grad', body: gradBody('logits') };

/** The gradient's pass for logits (N, V) of ids firstId …; in place of the logits, or into output 0. */
export function logitGradPass(
  [N, V]: readonly number[],
  { temperature, firstId, inPlace }: { temperature: number; firstId: number; inPlace: boolean },
): WgslPass {
  return {
    ...(inPlace ? GRAD_IN_PLACE : GRAD),
    constants: {},
    bindings: [
      inPlace ? write('logits', { input: 0 }) : read('logits', { input: 0 }),
      read('targets', { input: 1 }, 'i32'),
      read('lse', { input: 2 }),
      read('entropy', { input: 3 }),
      read('dlogp', { input: 4 }),
      read('dentropy', { input: 5 }),
      ...(inPlace ? [] : [write('dlogits', { output: 0 })]),
    ],
    uniforms: [u32('N', N), u32('V', V), u32('first_id', firstId), f32('scale', 1 / temperature)],
    workgroups: elementGrid(N * V),
  };
}

/** [logits [N, V], targets, lse, entropy, dlogp, dentropy (each [N])], {temperature} → [dlogits [N, V]] */
export const logitLossGradWgsl: Wgsl<{ temperature: number }> = ([logits], _, { temperature }) => ({
  passes: [logitGradPass(logits.shape, { temperature, firstId: 0, inPlace: false })],
});
