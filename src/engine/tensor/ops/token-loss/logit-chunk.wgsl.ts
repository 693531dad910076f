/** WGSL forms of the token loss by pieces of the vocabulary. */
import { f32, flatGrid, groupReduceWgsl, kernelStyle, read, u32, type Wgsl, write } from '../../wgsl.ts';
import type { LogitChunk } from './logit-chunk.ts';
import { logitGradPass } from './logit-loss.wgsl.ts';

const THREADS = 64;
const ROWS = 16;

/** `sum`, `max` over the threads that share a row; nothing to do where a thread has a row to itself. */
const chunkBody = (direct: boolean) => /* wgsl */ `${direct ? '' : groupReduceWgsl(THREADS)}
@compute @workgroup_size(${direct ? ROWS : THREADS})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  ${direct ? `let n = flat_group(group, groups) * ${ROWS}u + t;` : 'let n = flat_group(group, groups);'}
  if (n >= u.N) { return; }
  let first = ${direct ? '0u' : 't'};
  let step = ${direct ? '1u' : `${THREADS}u`};
  let row = n * u.R;
  var largest = -3e38;
  for (var v = first; v < u.R; v += step) { largest = max(largest, logits[row + v] * u.scale); }
  ${direct ? '' : 'largest = group_max(largest, t);'}
  var before = vec4<f32>(-3e38, 0.0, 0.0, 0.0);
  if (u.first_id > 0u) { before = state[n]; }
  largest = max(largest, before.x);
  var sum = 0.0;
  var weighted = 0.0;
  for (var v = first; v < u.R; v += step) {
    let shifted = logits[row + v] * u.scale - largest;
    let e = exp(shifted);
    sum += e;
    weighted += e * shifted;
  }
  ${direct ? '' : 'sum = group_sum(sum, t);\n  weighted = group_sum(weighted, t);'}
  ${direct ? '' : 'if (t > 0u) { return; }'}
  if (before.y > 0.0) {
    let down = before.x - largest;
    sum += before.y * exp(down);
    weighted += (before.z + before.y * down) * exp(down);
  }
  let own = targets[n] - i32(u.first_id);
  var hit = before.w;
  if (own >= 0 && own < i32(u.R)) { hit = logits[row + u32(own)] * u.scale; }
  state[n] = vec4<f32>(largest, sum, weighted, hit);
}
`;

const TILED = { name: 'logit-chunk', body: chunkBody(false) };
const DIRECT = { name: 'logit-chunk-direct', body: chunkBody(true) };

/** [logits [N, R], targets int32 [N], state [N, 4]] → nothing; state changes in place. */
export const logitChunkWgsl: Wgsl<LogitChunk> = ([logits], _, { temperature, firstId }) => {
  const [N, R] = logits.shape;
  const direct = kernelStyle() === 'direct';
  return {
    passes: [
      {
        ...(direct ? DIRECT : TILED),
        constants: {},
        bindings: [
          read('logits', { input: 0 }),
          read('targets', { input: 1 }, 'i32'),
          write('state', { input: 2 }, 'vec4<f32>'),
        ],
        uniforms: [u32('N', N), u32('R', R), u32('first_id', firstId), f32('scale', 1 / temperature)],
        workgroups: flatGrid(direct ? Math.ceil(N / ROWS) : N),
      },
    ],
  };
};

const finishBody = /* wgsl */ `
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let n = id.x;
  if (n >= u.N) { return; }
  let s = state[n];
  let log_sum = log(s.y);
  lse[n] = s.x + log_sum;
  entropy[n] = log_sum - s.z / s.y;
  logp[n] = select(0.0, s.w - s.x - log_sum, targets[n] >= 0);
}
`;

/** [state [N, 4], targets int32 [N]] → [logp [N], entropy [N], lse [N]] */
export const logitFinishWgsl: Wgsl<object> = ([, targets]) => {
  const N = targets.shape[0];
  return {
    passes: [
      {
        name: 'logit-finish',
        constants: {},
        bindings: [
          read('state', { input: 0 }, 'vec4<f32>'),
          read('targets', { input: 1 }, 'i32'),
          write('logp', { output: 0 }),
          write('entropy', { output: 1 }),
          write('lse', { output: 2 }),
        ],
        uniforms: [u32('N', N)],
        body: finishBody,
        workgroups: [Math.ceil(N / 64), 1, 1],
      },
    ],
  };
};

/** [logits [N, R], targets, lse, entropy, dlogp, dentropy (each [N])] → nothing; logits change in place. */
export const logitChunkGradWgsl: Wgsl<LogitChunk> = ([logits], _, { temperature, firstId }) => ({
  passes: [logitGradPass(logits.shape, { temperature, firstId, inPlace: true })],
});
