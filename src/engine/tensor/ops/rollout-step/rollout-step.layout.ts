/**
 * The int arrays of rollout-step: where everything lies, and how they look before the first step. Offsets are spelled
 * out once here; the reference uses them as they are and the kernel gets them as WGSL constants.
 */
import { assert } from '../../../../base/assert.ts';

/** Paths a block may have. */
export const MAX_PATHS = 8;

/** `settings` int32 [S]: these numbers, then the lists that they point at. A plan can be kept when they change. */
export const SETTING = {
  paths: 0,
  maxBlocks: 1,
  pathTokens: 2,
  summaryTokens: 3,
  maxTokens: 4,
  /** 0 bans `parallelId` altogether. */
  parallel: 5,
  /** Response tokens kept back for closing a block. */
  reserve: 6,
  noiseAfter: 7,
  /** Noise hits where 24 random bits are below this; 0 = no noise. */
  noiseBelow: 8,
  noiseCount: 9,
  noiseStart: 10,
  beforeSummaryCount: 11,
  beforeSummaryStart: 12,
  eosId: 13,
  parallelId: 14,
  parallelEndId: 15,
  pathId: 16,
  pathEndId: 17,
  summaryId: 18,
  summaryEndId: 19,
  /** Positions from the start of one path to that of the next. */
  pathStride: 20,
} as const;
const SETTING_INTS = 21;

/** `queue` int32 [1 + Q, QUEUE_INTS]: first the totals, then one line a request. */
export const TOTAL = {
  /** Requests taken from the queue. */
  next: 0,
  /** Requests that are done. */
  done: 1,
  /** Lanes in the table that are not idle. */
  live: 2,
} as const;
export const REQUEST = {
  key: 0,
  promptLength: 1,
  count: 2,
  done: 3,
  truncated: 4,
  blocks: 5,
  critical: 6,
} as const;
export const QUEUE_INTS = 8;

/** `rows` int32 [R, ROW_INTS]: what a row knows about the request that it decodes. */
export const ROW = {
  /** −1: none. */
  request: 0,
  mode: 1,
  /** Slots that are in the lane table or were. */
  fed: 2,
  /** Lanes of the table that are the row's, and the first of them. */
  listed: 3,
  start: 4,
  /** Bit k: a sample is asked for lane k in this round. */
  asked: 5,
  /** Bit k: path k is open. */
  open: 6,
  trunk: 7,
  summary: 8,
} as const;
/** From `ROW_LANES` on, for lane 0 (trunk, summary) and each path: `logp` holds the bits of a float. */
export const ROW_LANES = 9;
export const LANE = { last: 0, sample: 1, logp: 2, position: 3, length: 4 } as const;
export const LANE_INTS = 5;
export const ROW_INTS = ROW_LANES + (MAX_PATHS + 1) * LANE_INTS;

export const MODE = { trunk: 0, paths: 1, summary: 2, done: 3 } as const;

/**
 * `records` int32 [Q, slots, 4]: token, position, branch, 2 · (lane + 1) + sampled; lane −1 asks for no sample after the
 * token.
 */
export const RECORD_INTS = 4;

/**
 * `lanes` int32 [7, stride]: the lane table in the order of its planes. The stride is R·W rounded up to 64, so that
 * every plane starts at binding alignment.
 */
export const PLANES = ['tokens', 'positions', 'branches', 'slots', 'keys', 'counters', 'banned'] as const;
export const laneStride = (lanes: number): number => 64 * Math.ceil(lanes / 64);

/** Salts that keep the streams of noise apart from those of sampling (as in rollout/row.ts). */
export const NOISE_HIT = 0x4e01;
export const NOISE_VALUE = 0x4e02;

/** What rollouts need to know about tokens and budgets, in plain numbers. */
export interface RolloutStepSettings {
  paths: number;
  pathStride: number;
  maxBlocks: number;
  pathTokens: number;
  summaryTokens: number;
  maxTokens: number;
  parallel: boolean;
  reserve: number;
  noise: { after: number; replacements: readonly number[]; probability: number } | null;
  beforeSummary: readonly number[];
  eos: number;
  parallelId: number;
  parallelEnd: number;
  path: number;
  pathEnd: number;
  summary: number;
  summaryEnd: number;
}

/** @returns int32 [S] */
export function packSettings(s: RolloutStepSettings): Int32Array {
  assert(s.paths >= 1 && s.paths <= MAX_PATHS, `a block of ${s.paths} paths`);
  const replacements = s.noise?.replacements ?? [];
  const noiseStart = SETTING_INTS;
  const beforeSummaryStart = noiseStart + replacements.length;
  const values: Record<keyof typeof SETTING, number> = {
    paths: s.paths,
    maxBlocks: s.maxBlocks,
    pathTokens: s.pathTokens,
    summaryTokens: s.summaryTokens,
    maxTokens: s.maxTokens,
    parallel: s.parallel ? 1 : 0,
    reserve: s.reserve,
    noiseAfter: s.noise?.after ?? -1,
    // u < p with u = k / 2²⁴ is k < ⌈p · 2²⁴⌉.
    noiseBelow: Math.max(0, Math.min(2 ** 24, Math.ceil((s.noise?.probability ?? 0) * 2 ** 24))),
    noiseCount: replacements.length,
    noiseStart,
    beforeSummaryCount: s.beforeSummary.length,
    beforeSummaryStart,
    eosId: s.eos,
    parallelId: s.parallelId,
    parallelEndId: s.parallelEnd,
    pathId: s.path,
    pathEndId: s.pathEnd,
    summaryId: s.summary,
    summaryEndId: s.summaryEnd,
    pathStride: s.pathStride,
  };
  assert(values.noiseBelow === 0 || replacements.length > 0, 'noise without replacements');
  const packed = new Int32Array(beforeSummaryStart + s.beforeSummary.length);
  for (const [name, at] of Object.entries(SETTING)) packed[at] = values[name as keyof typeof SETTING];
  packed.set(replacements, noiseStart);
  packed.set(s.beforeSummary, beforeSummaryStart);
  return packed;
}

/** The arrays before the first step. */
export interface RolloutArrays {
  settings: Int32Array;
  rows: Int32Array;
  queue: Int32Array;
  records: Int32Array;
  logps: Float32Array;
  lanes: Int32Array;
}

/**
 * Q requests for R rows of `slots` cache slots, each of which feeds up to W tokens a step. Prompts are put down in the
 * records at once; the last token of each asks for a sample.
 */
export function rolloutArrays(
  requests: readonly { prompt: readonly number[]; key: number }[],
  settings: RolloutStepSettings,
  { R, W, slots }: { R: number; W: number; slots: number },
): RolloutArrays {
  const Q = requests.length;
  const rows = new Int32Array(R * ROW_INTS);
  for (let r = 0; r < R; r++) rows[r * ROW_INTS + ROW.request] = -1;
  const queue = new Int32Array((1 + Q) * QUEUE_INTS);
  const records = new Int32Array(Q * slots * RECORD_INTS);
  requests.forEach(({ prompt, key }, q) => {
    assert(
      prompt.length > 0 && prompt.length <= slots,
      `a prompt of ${prompt.length} tokens for ${slots} slots`,
    );
    const head = (1 + q) * QUEUE_INTS;
    queue[head + REQUEST.key] = key;
    queue[head + REQUEST.promptLength] = prompt.length;
    queue[head + REQUEST.count] = prompt.length;
    prompt.forEach((token, i) => {
      const mark = i === prompt.length - 1 ? 2 : 0;
      records.set([token, i, 0, mark], (q * slots + i) * RECORD_INTS);
    });
  });
  const stride = laneStride(R * W);
  const lanes = new Int32Array(PLANES.length * stride);
  lanes.fill(-1, PLANES.indexOf('slots') * stride, (PLANES.indexOf('slots') + 1) * stride);
  return {
    settings: packSettings(settings),
    rows,
    queue,
    records,
    logps: new Float32Array(Q * slots),
    lanes,
  };
}
