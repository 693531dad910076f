/** The state machine of one row in WGSL: what RowMachine of rollout-step.reference.ts says, function by function. */
import { foldKeyWgsl, hash32Wgsl } from '../../../../base/rng.ts';
import {
  LANE,
  LANE_INTS,
  MODE,
  NOISE_HIT,
  NOISE_VALUE,
  PLANES,
  QUEUE_INTS,
  REQUEST,
  ROW,
  ROW_INTS,
  ROW_LANES,
  SETTING,
  TOTAL,
} from './rollout-step.layout.ts';

/** `const ROW_REQUEST = 0;` and so on. */
const constantsWgsl = (prefix: string, values: Readonly<Record<string, number>>): string =>
  Object.entries(values)
    .map(([name, value]) => {
      const upper = name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
      return `const ${prefix}_${upper} = ${value};\n`;
    })
    .join('');

const layoutWgsl =
  constantsWgsl('SETTING', SETTING) +
  constantsWgsl('TOTAL', TOTAL) +
  constantsWgsl('REQUEST', REQUEST) +
  constantsWgsl('ROW', ROW) +
  constantsWgsl('LANE', LANE) +
  constantsWgsl('MODE', MODE) +
  constantsWgsl('PLANE', Object.fromEntries(PLANES.map((plane, p) => [plane, p])));

/** RowMachine of the reference, function by function; the row at hand is in private variables. */
export const rowMachineWgsl = /* wgsl */ `${hash32Wgsl}${foldKeyWgsl}${layoutWgsl}
var<private> row: u32;
var<private> head: u32;
var<private> first: u32;
var<private> mode: i32;
var<private> asked: i32;
var<private> open: i32;
var<private> trunk: i32;
var<private> summary: i32;
var<private> count: i32;
var<private> truncated: i32;
var<private> blocks: i32;
var<private> critical: i32;

fn lane_at(lane: i32, field: u32) -> u32 { return row + ${ROW_LANES}u + u32(lane) * ${LANE_INTS}u + field; }
fn request_of(r: u32) -> i32 { return rows[r * ${ROW_INTS}u + ROW_REQUEST]; }
fn response_length() -> i32 { return count - queue[head + REQUEST_PROMPT_LENGTH]; }

fn load_row(r: u32) {
  let request = u32(request_of(r));
  row = r * ${ROW_INTS}u;
  head = (1u + request) * ${QUEUE_INTS}u;
  first = request * u.slots;
  mode = rows[row + ROW_MODE];
  asked = rows[row + ROW_ASKED];
  open = rows[row + ROW_OPEN];
  trunk = rows[row + ROW_TRUNK];
  summary = rows[row + ROW_SUMMARY];
  count = queue[head + REQUEST_COUNT];
  truncated = queue[head + REQUEST_TRUNCATED];
  blocks = queue[head + REQUEST_BLOCKS];
  critical = queue[head + REQUEST_CRITICAL];
}

fn store_row() {
  rows[row + ROW_MODE] = mode;
  rows[row + ROW_ASKED] = asked;
  rows[row + ROW_OPEN] = open;
  rows[row + ROW_TRUNK] = trunk;
  rows[row + ROW_SUMMARY] = summary;
  queue[head + REQUEST_COUNT] = count;
  queue[head + REQUEST_DONE] = select(0, 1, mode == MODE_DONE);
  queue[head + REQUEST_TRUNCATED] = truncated;
  queue[head + REQUEST_BLOCKS] = blocks;
  queue[head + REQUEST_CRITICAL] = critical;
  if (mode == MODE_DONE) { rows[row + ROW_REQUEST] = -1; }
}

fn truncate() {
  truncated = 1;
  mode = MODE_DONE;
}

fn push(token: i32, position: i32, branch: i32, lane: i32, own: bool, logp: f32) {
  if (u32(count) >= u.slots) {
    truncate();
    return;
  }
  let slot = first + u32(count);
  count++;
  records[slot] = vec4<i32>(token, position, branch, 2 * (lane + 1) + select(0, 1, own));
  logps[slot] = select(0.0, logp, own);
  if (lane < 0) { return; }
  rows[lane_at(lane, LANE_LAST)] = token;
  asked |= 1i << u32(lane);
}

fn push_trunk(token: i32, lane: i32, own: bool, logp: f32) {
  critical++;
  trunk++;
  push(token, trunk, 0, lane, own, logp);
}

fn push_path(path: i32, token: i32, lane: i32, own: bool, logp: f32) {
  let position = rows[lane_at(path, LANE_POSITION)] + 1;
  rows[lane_at(path, LANE_POSITION)] = position;
  push(token, position, 16 * blocks + path, lane, own, logp);
}

fn close_summary(own: bool, logp: f32) {
  mode = MODE_TRUNK;
  let last = response_length() + 1 >= settings[SETTING_MAX_TOKENS];
  push_trunk(settings[SETTING_SUMMARY_END_ID], select(0, -1, last), own, logp);
  if (last) { truncate(); }
}

fn advance_summary(token: i32, own: bool, logp: f32) {
  let end = settings[SETTING_SUMMARY_END_ID];
  if (token == end || token == settings[SETTING_EOS_ID]) {
    close_summary(own && token == end, logp);
    return;
  }
  summary++;
  let full = summary >= settings[SETTING_SUMMARY_TOKENS] || response_length() + 2 >= settings[SETTING_MAX_TOKENS];
  push_trunk(token, select(0, -1, full), own, logp);
  if (full) { close_summary(false, 0.0); }
}

fn before_path(path: i32) -> i32 { return trunk + (path - 1) * settings[SETTING_PATH_STRIDE]; }

fn join_paths() {
  var end = trunk;
  var longest = 0;
  for (var k = 1; k <= settings[SETTING_PATHS]; k++) {
    let last = rows[lane_at(k, LANE_POSITION)];
    end = max(end, last);
    longest = max(longest, last - before_path(k));
  }
  critical += longest;
  trunk = end;
  mode = MODE_SUMMARY;
  summary = 0;
  push_trunk(settings[SETTING_PARALLEL_END_ID], -1, false, 0.0);
  for (var i = 0; i < settings[SETTING_BEFORE_SUMMARY_COUNT]; i++) {
    push_trunk(settings[settings[SETTING_BEFORE_SUMMARY_START] + i], -1, false, 0.0);
  }
  push_trunk(settings[SETTING_SUMMARY_ID], 0, false, 0.0);
}

fn advance_path(lane: i32, token: i32, own: bool, logp: f32) {
  let end = settings[SETTING_PATH_END_ID];
  if (token == end || token == settings[SETTING_EOS_ID]) {
    push_path(lane, end, -1, own && token == end, logp);
    open &= ~(1i << u32(lane));
  } else {
    let length = rows[lane_at(lane, LANE_LENGTH)] + 1;
    rows[lane_at(lane, LANE_LENGTH)] = length;
    let full = length >= settings[SETTING_PATH_TOKENS] ||
      response_length() + 1 >= settings[SETTING_MAX_TOKENS] - settings[SETTING_RESERVE];
    push_path(lane, token, select(lane, -1, full), own, logp);
    if (full) {
      push_path(lane, end, -1, false, 0.0);
      open &= ~(1i << u32(lane));
    }
  }
  if (open == 0) { join_paths(); }
}

fn fork_paths() {
  mode = MODE_PATHS;
  blocks++;
  open = 0;
  for (var k = 1; k <= settings[SETTING_PATHS]; k++) {
    rows[lane_at(k, LANE_POSITION)] = before_path(k);
    rows[lane_at(k, LANE_LENGTH)] = 0;
    open |= 1i << u32(k);
    push_path(k, settings[SETTING_PATH_ID], k, false, 0.0);
  }
}

fn advance_trunk(token: i32, own: bool, logp: f32) {
  if (token == settings[SETTING_EOS_ID]) {
    push_trunk(token, -1, own, logp);
    mode = MODE_DONE;
  } else if (token == settings[SETTING_PARALLEL_ID]) {
    push_trunk(token, -1, own, logp);
    fork_paths();
  } else {
    let last = response_length() + 1 >= settings[SETTING_MAX_TOKENS];
    push_trunk(token, select(0, -1, last), own, logp);
    if (last) { truncate(); }
  }
}

fn advance(lane: i32) {
  var token = rows[lane_at(lane, LANE_SAMPLE)];
  var own = true;
  if (rows[lane_at(lane, LANE_LAST)] == settings[SETTING_NOISE_AFTER]) {
    let position = u32(select(rows[lane_at(lane, LANE_POSITION)], trunk, lane == 0)) + 1u;
    let key = fold_key(u32(queue[head + REQUEST_KEY]), u32(lane));
    if (bits_at(fold_key(key, ${NOISE_HIT}u), position) < u32(settings[SETTING_NOISE_BELOW])) {
      // floor(bits · count / 2^24) in two halves of 12 bits, since the product may not fit.
      let value = bits_at(fold_key(key, ${NOISE_VALUE}u), position);
      let choices = u32(settings[SETTING_NOISE_COUNT]);
      let choice = ((value >> 12u) * choices + (((value & 4095u) * choices) >> 12u)) >> 12u;
      token = settings[u32(settings[SETTING_NOISE_START]) + choice];
      own = false;
    }
  }
  let logp = bitcast<f32>(rows[lane_at(lane, LANE_LOGP)]);
  if (mode == MODE_PATHS) { advance_path(lane, token, own, logp); }
  else if (mode == MODE_SUMMARY) { advance_summary(token, own, logp); }
  else { advance_trunk(token, own, logp); }
}

fn step_row(r: u32) {
  if (request_of(r) < 0) { return; }
  load_row(r);
  let fed = rows[row + ROW_FED];
  let listed = rows[row + ROW_LISTED];
  let start = rows[row + ROW_START];
  for (var i = 0; i < listed; i++) {
    let lane = (records[first + u32(fed - listed + i)].w >> 1u) - 1;
    if (lane >= 0) {
      rows[lane_at(lane, LANE_SAMPLE)] = ids[start + i];
      rows[lane_at(lane, LANE_LOGP)] = bitcast<i32>(logp[start + i]);
    }
  }
  if (fed < count) { return; }
  let round = asked;
  asked = 0;
  for (var lane = 0; lane <= settings[SETTING_PATHS]; lane++) {
    if (((round >> u32(lane)) & 1) == 1) { advance(lane); }
  }
  store_row();
}

fn start_row(r: u32, request: i32) {
  row = r * ${ROW_INTS}u;
  let length = queue[(1u + u32(request)) * ${QUEUE_INTS}u + REQUEST_PROMPT_LENGTH];
  rows[row + ROW_REQUEST] = request;
  rows[row + ROW_MODE] = MODE_TRUNK;
  rows[row + ROW_FED] = 0;
  rows[row + ROW_ASKED] = 1;
  rows[row + ROW_OPEN] = 0;
  rows[row + ROW_TRUNK] = length - 1;
  rows[row + ROW_SUMMARY] = 0;
  rows[lane_at(0, LANE_LAST)] = records[u32(request) * u.slots + u32(length - 1)].x;
}

// How many lanes the row will take.
fn width_of(r: u32) -> i32 {
  let request = request_of(r);
  if (request < 0) { return 0; }
  let total = queue[(1u + u32(request)) * ${QUEUE_INTS}u + REQUEST_COUNT];
  return min(i32(u.W), total - rows[r * ${ROW_INTS}u + ROW_FED]);
}

fn banned_for(lane: i32) -> i32 {
  if (lane != 0 || mode != MODE_TRUNK) { return -1; }
  let room = settings[SETTING_MAX_TOKENS] - response_length() - 2 * settings[SETTING_RESERVE];
  let ban = settings[SETTING_PARALLEL] == 0 || blocks >= settings[SETTING_MAX_BLOCKS] || room < 0;
  return select(-1, settings[SETTING_PARALLEL_ID], ban);
}

fn write_lane(at: u32, record: vec3<i32>, slot: i32, key: u32, counter: i32, banned: i32) {
  lanes[PLANE_TOKENS * u.stride + at] = record.x;
  lanes[PLANE_POSITIONS * u.stride + at] = record.y;
  lanes[PLANE_BRANCHES * u.stride + at] = record.z;
  lanes[PLANE_SLOTS * u.stride + at] = slot;
  lanes[PLANE_KEYS * u.stride + at] = i32(key);
  lanes[PLANE_COUNTERS * u.stride + at] = counter;
  lanes[PLANE_BANNED * u.stride + at] = banned;
}

fn list_row(r: u32, at: i32) -> i32 {
  let width = width_of(r);
  if (request_of(r) < 0) { return at; }
  load_row(r);
  let fed = rows[row + ROW_FED];
  for (var i = 0; i < width; i++) {
    let slot = u32(fed + i);
    let record = records[first + slot];
    let lane = (record.w >> 1u) - 1;
    let key = fold_key(u32(queue[head + REQUEST_KEY]), u32(max(lane, 0)));
    write_lane(u32(at + i), record.xyz, i32(r * u.slots + slot), key, record.y + 1, banned_for(lane));
  }
  rows[row + ROW_FED] = fed + width;
  rows[row + ROW_LISTED] = width;
  rows[row + ROW_START] = at;
  return at + width;
}
`;
