/** WGSL form of token-objective: one workgroup, so that all sums are made in a fixed order with two barriers. */
import { read, u32, type Wgsl, write } from '../../wgsl.ts';
import { LOG_RATIO_LIMIT } from './token-objective.reference.ts';

const THREADS = 64;

const body = /* wgsl */ `
var<workgroup> parts: array<array<f32, ${THREADS}>, 8>;

@compute @workgroup_size(${THREADS})
fn main(@builtin(local_invocation_index) t: u32) {
  let policy = settings[0] != 0.0;
  let total = settings[1];
  let low = 1.0 - settings[2];
  let high = 1.0 + settings[3];
  let dual = settings[4];
  let bonus = settings[5];
  var own = array<f32, 8>();
  for (var n = t; n < u.N; n += ${THREADS}u) {
    let m = info[n].z;
    var gradient = 0.0;
    dentropy[n] = -bonus * m / total;
    if (m != 0.0) {
      own[1] += m * entropy[n];
      own[2] += 1.0;
      own[0] -= bonus * m * entropy[n] / total;
      if (policy) {
        let A = info[n].y;
        let difference = logp[n] - info[n].x;
        let ratio = exp(clamp(difference, -${LOG_RATIO_LIMIT}.0, ${LOG_RATIO_LIMIT}.0));
        let clipped = -A * clamp(ratio, low, high);
        var loss = -A * ratio;
        var slope = -A;
        if (clipped > loss) {
          loss = clipped;
          slope = 0.0;
        }
        if (A < 0.0 && dual > 0.0 && loss > -A * dual) {
          loss = -A * dual;
          slope = 0.0;
        }
        if (abs(difference) > ${LOG_RATIO_LIMIT}.0) { slope = 0.0; }
        own[0] += m * loss / total;
        gradient = m * slope * ratio / total;
        if (A < 0.0 && ratio < low) { own[3] += 1.0; }
        if (A > 0.0 && ratio > high) { own[4] += 1.0; }
        if (A < 0.0 && dual > 0.0 && ratio > dual) { own[5] += 1.0; }
        own[6] += abs(difference);
        own[7] = max(own[7], abs(difference));
      } else {
        own[0] -= m * logp[n] / total;
        gradient = -m / total;
      }
    }
    dlogp[n] = gradient;
  }
  for (var i = 0u; i < 8u; i++) { parts[i][t] = own[i]; }
  workgroupBarrier();
  if (t < 8u) {
    var sum = sums[t];
    for (var i = 0u; i < ${THREADS}u; i++) {
      let part = parts[t][i];
      sum = select(sum + part, max(sum, part), t == 7u);
    }
    sums[t] = sum;
  }
}
`;

/** [logp [N], entropy [N], info [N, 4], settings [8], sums [8]] → [dlogp [N], dentropy [N]]; sums change in place. */
export const tokenObjectiveWgsl: Wgsl<object> = ([logp]) => ({
  passes: [
    {
      name: 'token-objective',
      constants: {},
      bindings: [
        read('logp', { input: 0 }),
        read('entropy', { input: 1 }),
        read('info', { input: 2 }, 'vec4<f32>'),
        read('settings', { input: 3 }),
        write('sums', { input: 4 }),
        write('dlogp', { output: 0 }),
        write('dentropy', { output: 1 }),
      ],
      uniforms: [u32('N', logp.shape[0])],
      body,
      workgroups: [1, 1, 1],
    },
  ],
});
