/** WGSL form of token-objective: one workgroup, so that all sums are made in a fixed order with two barriers. */
import { read, u32, type Wgsl, write } from '../../wgsl.ts';
import { LOG_RATIO_LIMIT } from './token-objective.reference.ts';

const THREADS = 64;
/** Places in `sums`. */
const SUMS = 9;
const LIMIT = `${LOG_RATIO_LIMIT}.0`;

/** @param logRatio WGSL of the log of the ratio: the token's own, or one that was worked out for its sequence */
const body = (logRatio: string) => /* wgsl */ `
var<workgroup> parts: array<array<f32, ${THREADS}>, ${SUMS}>;

@compute @workgroup_size(${THREADS})
fn main(@builtin(local_invocation_index) t: u32) {
  let kind = settings[0];
  let total = settings[1];
  let low = 1.0 - settings[2];
  let high = 1.0 + settings[3];
  let dual = settings[4];
  let bonus = settings[5];
  let beta = settings[6];
  let cap = settings[7];
  var own = array<f32, ${SUMS}>();
  for (var n = t; n < u.N; n += ${THREADS}u) {
    let m = info[n].z;
    var gradient = 0.0;
    dentropy[n] = -bonus * m / total;
    if (m != 0.0) {
      own[1] += entropy[n];
      own[2] += 1.0;
      own[0] -= bonus * m * entropy[n] / total;
      if (kind != 0.0) {
        let A = info[n].y;
        let difference = logp[n] - info[n].x;
        let log_ratio = ${logRatio};
        let ratio = exp(clamp(log_ratio, -${LIMIT}, ${LIMIT}));
        var loss = -A * ratio;
        var slope = -A * ratio;
        if (kind == 2.0) {
          slope = -A * min(ratio, cap);
          loss = slope * logp[n];
          if (A > 0.0 && ratio > cap) { own[4] += 1.0; }
        } else {
          let clipped = -A * clamp(ratio, low, high);
          if (clipped > loss) {
            loss = clipped;
            slope = 0.0;
          }
          if (A < 0.0 && dual > 0.0 && loss > -A * dual) {
            loss = -A * dual;
            slope = 0.0;
          }
          if (abs(log_ratio) > ${LIMIT}) { slope = 0.0; }
          if (A < 0.0 && ratio < low) { own[3] += 1.0; }
          if (A > 0.0 && ratio > high) { own[4] += 1.0; }
          if (A < 0.0 && dual > 0.0 && ratio > dual) { own[5] += 1.0; }
        }
        if (beta > 0.0) {
          let behind = info[n].w - logp[n];
          let e = min(behind, ${LIMIT});
          let kl = k3(e);
          loss += beta * kl;
          if (behind <= ${LIMIT}) { slope -= beta * (kl + e); }
          own[8] += kl;
        }
        own[0] += m * loss / total;
        gradient = m * slope / total;
        own[6] += abs(difference);
        own[7] = max(own[7], abs(difference));
      } else {
        own[0] -= m * logp[n] / total;
        gradient = -m / total;
      }
    }
    dlogp[n] = gradient;
  }
  for (var i = 0u; i < ${SUMS}u; i++) { parts[i][t] = own[i]; }
  workgroupBarrier();
  if (t < ${SUMS}u) {
    var sum = sums[t];
    for (var i = 0u; i < ${THREADS}u; i++) {
      let part = parts[t][i];
      sum = select(sum + part, max(sum, part), t == 7u);
    }
    sums[t] = sum;
  }
}

// exp(x) - x - 1, near 0 without the cancellation: policy and reference nearly agree most of the time.
fn k3(x: f32) -> f32 {
  let series = x * x * (0.5 + x * (0.16666667 + x * (0.041666668 + x * (0.008333334 + x * 0.0013888889))));
  return select(exp(x) - x - 1.0, series, abs(x) < 0.25);
}
`;

const TOKEN_BODY = body('difference');
const SEQUENCE_BODY = body('log_ratios[n]');

/** [logp, entropy, info, settings, sums, log-ratio?] → [dlogp, dentropy]; `sums` changes in place. */
export const tokenObjectiveWgsl: Wgsl<object> = ([logp, , , , , logRatio]) => ({
  passes: [
    {
      name: logRatio ? 'sequence-objective' : 'token-objective',
      constants: {},
      bindings: [
        read('logp', { input: 0 }),
        read('entropy', { input: 1 }),
        read('info', { input: 2 }, 'vec4<f32>'),
        read('settings', { input: 3 }),
        write('sums', { input: 4 }),
        write('dlogp', { output: 0 }),
        write('dentropy', { output: 1 }),
        ...(logRatio ? [read('log_ratios', { input: 5 })] : []),
      ],
      uniforms: [u32('N', logp.shape[0])],
      body: logRatio ? SEQUENCE_BODY : TOKEN_BODY,
      workgroups: [1, 1, 1],
    },
  ],
});
