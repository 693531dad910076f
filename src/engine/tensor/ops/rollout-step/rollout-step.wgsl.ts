/**
 * WGSL form of rollout-step: one workgroup, each thread a few rows, and two scans over the threads (rows that are free,
 * lanes that are taken), so that requests and lanes are handed out in the order of the rows.
 */
import type { WgslPass } from '../../op.ts';
import { kernelStyle, read, u32, write } from '../../wgsl.ts';
import { rowMachineWgsl } from './row-machine.wgsl.ts';

/** `scan(value, t)`: sum over the threads before this one, and over all of them. */
const scanWgsl = (threads: number) => /* wgsl */ `
var<workgroup> parts: array<i32, ${threads}>;
fn scan(value: i32, t: u32) -> vec2<i32> {
  workgroupBarrier(); // the scan before has been read
  parts[t] = value;
  workgroupBarrier();
  var sums = vec2<i32>();
  for (var i = 0u; i < ${threads}u; i++) { sums += vec2<i32>(select(0, parts[i], i < t), parts[i]); }
  return sums;
}`;

const bodyFor = (threads: number) => /* wgsl */ `${rowMachineWgsl}${scanWgsl(threads)}
@compute @workgroup_size(${threads})
fn main(@builtin(local_invocation_index) t: u32) {
  let share = (u.R + ${threads - 1}u) / ${threads}u;
  let begin = min(t * share, u.R);
  let end = min(begin + share, u.R);

  var free = 0;
  for (var r = begin; r < end; r++) {
    step_row(r);
    free += select(0, 1, request_of(r) < 0);
  }
  let next = queue[TOTAL_NEXT];
  let frees = scan(free, t);

  var request = next + frees.x;
  var width = 0;
  for (var r = begin; r < end; r++) {
    if (request_of(r) < 0) {
      if (request < i32(u.Q)) { start_row(r, request); }
      request++;
    }
    width += width_of(r);
  }
  let widths = scan(width, t);

  var at = widths.x;
  for (var r = begin; r < end; r++) { at = list_row(r, at); }
  for (var i = u32(widths.y) + t; i < u.R * u.W; i += ${threads}u) {
    write_lane(i, vec3<i32>(), -1, 0u, 0, -1);
  }
  // Every thread has read \`next\` before the second scan.
  if (t == 0u) {
    queue[TOTAL_NEXT] = min(next + frees.y, i32(u.Q));
    queue[TOTAL_DONE] = next - (i32(u.R) - frees.y);
    queue[TOTAL_LIVE] = widths.y;
  }
}
`;

/**
 * Rows are independent and their steps are chains of small reads. A graphics card hides that waiting behind other
 * threads; SwiftShader is quickest with one vector of threads (128 rows: 0.3 times the time of a single thread, 0.5
 * times that of 128 threads, barriers included).
 */
const bodies = { tiled: bodyFor(128), direct: bodyFor(4) };

/** [settings, rows, queue, records, logps, lanes, ids, logp] → nothing; all but settings, ids and logp change. */
export function rolloutStepWgsl({
  R,
  Q,
  W,
  slots,
  stride,
}: Record<'R' | 'Q' | 'W' | 'slots' | 'stride', number>): {
  passes: WgslPass[];
} {
  const style = kernelStyle();
  return {
    passes: [
      {
        name: style === 'tiled' ? 'rollout-step' : 'rollout-step-direct',
        constants: {},
        bindings: [
          read('settings', { input: 0 }, 'i32'),
          write('rows', { input: 1 }, 'i32'),
          write('queue', { input: 2 }, 'i32'),
          write('records', { input: 3 }, 'vec4<i32>'),
          write('logps', { input: 4 }),
          write('lanes', { input: 5 }, 'i32'),
          read('ids', { input: 6 }, 'i32'),
          read('logp', { input: 7 }),
        ],
        uniforms: [u32('R', R), u32('Q', Q), u32('W', W), u32('slots', slots), u32('stride', stride)],
        body: bodies[style],
        workgroups: [1, 1, 1],
      },
    ],
  };
}
