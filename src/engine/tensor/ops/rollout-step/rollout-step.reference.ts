import { foldKey, uniformAt } from '../../../../base/rng.ts';
import type { HostArray } from '../../tfjs.ts';
import {
  LANE,
  LANE_INTS,
  MODE,
  NOISE_HIT,
  NOISE_VALUE,
  PLANES,
  QUEUE_INTS,
  RECORD_INTS,
  REQUEST,
  ROW,
  ROW_INTS,
  ROW_LANES,
  SETTING,
  TOTAL,
} from './rollout-step.layout.ts';

const bits = new Int32Array(1);
const float = new Float32Array(bits.buffer);
const bitsOf = (x: number): number => {
  float[0] = x;
  return bits[0];
};
const floatOf = (x: number): number => {
  bits[0] = x;
  return float[0];
};

/** One row between two steps: the state machine of rollout/row.ts over the int arrays. The kernel says the same. */
class RowMachine {
  private readonly row: number;
  private head = 0;
  private first = 0;
  private mode = 0;
  private asked = 0;
  private open = 0;
  private trunk = 0;
  private summary = 0;
  private count = 0;
  private truncated = 0;
  private blocks = 0;
  private critical = 0;

  constructor(
    private readonly settings: HostArray,
    private readonly rows: HostArray,
    private readonly queue: HostArray,
    private readonly records: HostArray,
    private readonly logps: HostArray,
    private readonly slots: number,
    private readonly r: number,
  ) {
    this.row = r * ROW_INTS;
    this.load();
  }

  get request(): number {
    return this.rows[this.row + ROW.request];
  }

  private lane(lane: number, field: number): number {
    return this.row + ROW_LANES + lane * LANE_INTS + field;
  }

  private load(): void {
    if (this.request < 0) return;
    const { rows, queue, row } = this;
    this.head = (1 + this.request) * QUEUE_INTS;
    this.first = this.request * this.slots;
    this.mode = rows[row + ROW.mode];
    this.asked = rows[row + ROW.asked];
    this.open = rows[row + ROW.open];
    this.trunk = rows[row + ROW.trunk];
    this.summary = rows[row + ROW.summary];
    this.count = queue[this.head + REQUEST.count];
    this.truncated = queue[this.head + REQUEST.truncated];
    this.blocks = queue[this.head + REQUEST.blocks];
    this.critical = queue[this.head + REQUEST.critical];
  }

  private store(): void {
    const { rows, queue, row, head } = this;
    rows[row + ROW.mode] = this.mode;
    rows[row + ROW.asked] = this.asked;
    rows[row + ROW.open] = this.open;
    rows[row + ROW.trunk] = this.trunk;
    rows[row + ROW.summary] = this.summary;
    queue[head + REQUEST.count] = this.count;
    queue[head + REQUEST.done] = this.mode === MODE.done ? 1 : 0;
    queue[head + REQUEST.truncated] = this.truncated;
    queue[head + REQUEST.blocks] = this.blocks;
    queue[head + REQUEST.critical] = this.critical;
    if (this.mode === MODE.done) rows[row + ROW.request] = -1;
  }

  /** Takes the samples of its lanes and, when the round is complete, goes on. */
  step(ids: HostArray, logp: HostArray): void {
    if (this.request < 0) return;
    const { rows, row } = this;
    const fed = rows[row + ROW.fed];
    const listed = rows[row + ROW.listed];
    for (let i = 0; i < listed; i++) {
      const lane = (this.records[(this.first + fed - listed + i) * RECORD_INTS + 3] >> 1) - 1;
      if (lane < 0) continue;
      rows[this.lane(lane, LANE.sample)] = ids[rows[row + ROW.start] + i];
      rows[this.lane(lane, LANE.logp)] = bitsOf(logp[rows[row + ROW.start] + i]);
    }
    if (fed < this.count) return;
    // Lanes are asked in rising order, so this is the order in which they were fed.
    const round = this.asked;
    this.asked = 0;
    for (let lane = 0; lane <= this.settings[SETTING.paths]; lane++)
      if ((round >> lane) & 1) this.advance(lane);
    this.store();
  }

  start(request: number): void {
    const { rows, row } = this;
    rows[row + ROW.request] = request;
    rows[row + ROW.fed] = 0;
    this.head = (1 + request) * QUEUE_INTS;
    const length = this.queue[this.head + REQUEST.promptLength];
    rows[row + ROW.mode] = MODE.trunk;
    rows[row + ROW.asked] = 1;
    rows[row + ROW.open] = 0;
    rows[row + ROW.trunk] = length - 1;
    rows[row + ROW.summary] = 0;
    this.load();
    rows[this.lane(0, LANE.last)] = this.records[(this.first + length - 1) * RECORD_INTS];
  }

  /** Puts up to W tokens into the lane table from lane `at` on. @returns the first lane after them */
  list(at: number, W: number, lanes: HostArray, stride: number): number {
    if (this.request < 0) return at;
    const { rows, row, queue, head, records } = this;
    const fed = rows[row + ROW.fed];
    const listed = Math.min(W, this.count - fed);
    for (let i = 0; i < listed; i++) {
      const slot = fed + i;
      const [token, position, branch, mark] = records.subarray((this.first + slot) * RECORD_INTS);
      const lane = (mark >> 1) - 1;
      const values: Record<(typeof PLANES)[number], number> = {
        tokens: token,
        positions: position,
        branches: branch,
        slots: this.r * this.slots + slot,
        keys: foldKey(queue[head + REQUEST.key], Math.max(lane, 0)),
        counters: position + 1,
        banned: this.bannedFor(lane),
      };
      PLANES.forEach((plane, p) => {
        lanes[p * stride + at + i] = values[plane];
      });
    }
    rows[row + ROW.fed] = fed + listed;
    rows[row + ROW.listed] = listed;
    rows[row + ROW.start] = at;
    return at + listed;
  }

  private bannedFor(lane: number): number {
    const { settings } = this;
    if (lane !== 0 || this.mode !== MODE.trunk) return -1;
    const room = settings[SETTING.maxTokens] - this.responseLength - 2 * settings[SETTING.reserve];
    const ban = !settings[SETTING.parallel] || this.blocks >= settings[SETTING.maxBlocks] || room < 0;
    return ban ? settings[SETTING.parallelId] : -1;
  }

  private get responseLength(): number {
    return this.count - this.queue[this.head + REQUEST.promptLength];
  }

  private advance(lane: number): void {
    const { settings, rows } = this;
    let token = rows[this.lane(lane, LANE.sample)];
    let own = 1;
    if (rows[this.lane(lane, LANE.last)] === settings[SETTING.noiseAfter]) {
      const position = (lane === 0 ? this.trunk : rows[this.lane(lane, LANE.position)]) + 1;
      const key = foldKey(this.queue[this.head + REQUEST.key], lane);
      if (uniformAt(foldKey(key, NOISE_HIT), position) * 2 ** 24 < settings[SETTING.noiseBelow]) {
        const u = uniformAt(foldKey(key, NOISE_VALUE), position);
        token = settings[settings[SETTING.noiseStart] + Math.floor(u * settings[SETTING.noiseCount])];
        own = 0;
      }
    }
    const logp = floatOf(rows[this.lane(lane, LANE.logp)]);
    if (this.mode === MODE.paths) this.advancePath(lane, token, own, logp);
    else if (this.mode === MODE.summary) this.advanceSummary(token, own, logp);
    else this.advanceTrunk(token, own, logp);
  }

  private advanceTrunk(token: number, own: number, logp: number): void {
    const { settings } = this;
    if (token === settings[SETTING.eosId]) {
      this.pushTrunk(token, -1, own, logp);
      this.mode = MODE.done;
    } else if (token === settings[SETTING.parallelId]) {
      this.pushTrunk(token, -1, own, logp);
      this.fork();
    } else {
      const last = this.responseLength + 1 >= settings[SETTING.maxTokens];
      this.pushTrunk(token, last ? -1 : 0, own, logp);
      if (last) this.truncate();
    }
  }

  /** Position before <Path> of path k of the block that opens at the end of the trunk. */
  private beforePath(path: number): number {
    return this.trunk + (path - 1) * this.settings[SETTING.pathStride];
  }

  private fork(): void {
    const { settings, rows } = this;
    this.mode = MODE.paths;
    this.blocks++;
    this.open = 0;
    for (let k = 1; k <= settings[SETTING.paths]; k++) {
      rows[this.lane(k, LANE.position)] = this.beforePath(k);
      rows[this.lane(k, LANE.length)] = 0;
      this.open |= 1 << k;
      this.pushPath(k, settings[SETTING.pathId], k, 0, 0);
    }
  }

  private advancePath(lane: number, token: number, own: number, logp: number): void {
    const { settings, rows } = this;
    const end = settings[SETTING.pathEndId];
    if (token === end || token === settings[SETTING.eosId]) {
      this.pushPath(lane, end, -1, token === end ? own : 0, logp);
      this.open &= ~(1 << lane);
    } else {
      const length = ++rows[this.lane(lane, LANE.length)];
      const full =
        length >= settings[SETTING.pathTokens] ||
        this.responseLength + 1 >= settings[SETTING.maxTokens] - settings[SETTING.reserve];
      this.pushPath(lane, token, full ? -1 : lane, own, logp);
      if (full) {
        this.pushPath(lane, end, -1, 0, 0);
        this.open &= ~(1 << lane);
      }
    }
    if (this.open === 0) this.join();
  }

  private join(): void {
    const { settings, rows } = this;
    let end = this.trunk;
    let longest = 0;
    for (let k = 1; k <= settings[SETTING.paths]; k++) {
      const last = rows[this.lane(k, LANE.position)];
      end = Math.max(end, last);
      longest = Math.max(longest, last - this.beforePath(k));
    }
    this.critical += longest;
    this.trunk = end;
    this.mode = MODE.summary;
    this.summary = 0;
    this.pushTrunk(settings[SETTING.parallelEndId], -1, 0, 0);
    for (let i = 0; i < settings[SETTING.beforeSummaryCount]; i++)
      this.pushTrunk(settings[settings[SETTING.beforeSummaryStart] + i], -1, 0, 0);
    this.pushTrunk(settings[SETTING.summaryId], 0, 0, 0);
  }

  private advanceSummary(token: number, own: number, logp: number): void {
    const { settings } = this;
    const end = settings[SETTING.summaryEndId];
    if (token === end || token === settings[SETTING.eosId]) {
      this.closeSummary(token === end ? own : 0, logp);
      return;
    }
    this.summary++;
    const full =
      this.summary >= settings[SETTING.summaryTokens] ||
      this.responseLength + 2 >= settings[SETTING.maxTokens];
    this.pushTrunk(token, full ? -1 : 0, own, logp);
    if (full) this.closeSummary(0, 0);
  }

  private closeSummary(own: number, logp: number): void {
    this.mode = MODE.trunk;
    const last = this.responseLength + 1 >= this.settings[SETTING.maxTokens];
    this.pushTrunk(this.settings[SETTING.summaryEndId], last ? -1 : 0, own, logp);
    if (last) this.truncate();
  }

  private truncate(): void {
    this.truncated = 1;
    this.mode = MODE.done;
  }

  private pushTrunk(token: number, lane: number, own: number, logp: number): void {
    this.critical++;
    this.push(token, ++this.trunk, 0, lane, own, logp);
  }

  private pushPath(path: number, token: number, lane: number, own: number, logp: number): void {
    const position = ++this.rows[this.lane(path, LANE.position)];
    this.push(token, position, 16 * this.blocks + path, lane, own, logp);
  }

  private push(
    token: number,
    position: number,
    branch: number,
    lane: number,
    own: number,
    logp: number,
  ): void {
    // `slots` leaves room for all that a block may append; this only keeps a wrong number from doing harm.
    if (this.count >= this.slots) {
      this.truncate();
      return;
    }
    const slot = this.first + this.count++;
    this.records[slot * RECORD_INTS] = token;
    this.records[slot * RECORD_INTS + 1] = position;
    this.records[slot * RECORD_INTS + 2] = branch;
    this.records[slot * RECORD_INTS + 3] = 2 * (lane + 1) + own;
    this.logps[slot] = own ? logp : 0;
    if (lane < 0) return;
    this.rows[this.lane(lane, LANE.last)] = token;
    this.asked |= 1 << lane;
  }
}

/** One step of all rows; see `rolloutStepOp`. */
export function rolloutStepReference(
  [settings, rows, queue, records, logps, lanes, ids, logp]: readonly HostArray[],
  { R, Q, W, slots, stride }: { R: number; Q: number; W: number; slots: number; stride: number },
): void {
  const machines = Array.from(
    { length: R },
    (_, r) => new RowMachine(settings, rows, queue, records, logps, slots, r),
  );
  for (const machine of machines) machine.step(ids, logp);
  let next = queue[TOTAL.next];
  for (const machine of machines) if (machine.request < 0 && next < Q) machine.start(next++);
  let live = 0;
  for (const machine of machines) live = machine.list(live, W, lanes, stride);
  PLANES.forEach((plane, p) => {
    lanes.fill(plane === 'slots' || plane === 'banned' ? -1 : 0, p * stride + live, p * stride + R * W);
  });
  queue[TOTAL.next] = next;
  queue[TOTAL.done] = next - machines.filter(({ request }) => request >= 0).length;
  queue[TOTAL.live] = live;
}
