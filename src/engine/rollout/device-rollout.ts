/**
 * Rollouts whose state machine runs on the device (tensor/ops/rollout-step): requests and settings become its arrays, and
 * its arrays become rollouts, token for token those of `Row`.
 */
import {
  QUEUE_INTS,
  RECORD_INTS,
  REQUEST,
  type RolloutArrays,
  type RolloutStepSettings,
  rolloutArrays,
  TOTAL,
} from '../tensor/ops/rollout-step/rollout-step.layout.ts';
import type { SpecialIds } from '../tokenizer/tags.ts';
import type { RolloutRequest } from './generate.ts';
import { type Rollout, type RowSettings, type RowView, slackSlots, textOrder } from './row.ts';

function stepSettings(settings: RowSettings, ids: SpecialIds): RolloutStepSettings {
  const { paths, maxBlocks, pathTokens, summaryTokens, maxTokens, parallel, noise } = settings;
  const { eos, parallelEnd, path, pathEnd, summary, summaryEnd, beforeSummary } = ids;
  return {
    paths,
    pathStride: settings.pathStride ?? 0,
    maxBlocks,
    pathTokens,
    summaryTokens,
    maxTokens,
    parallel,
    noise,
    reserve: slackSlots(paths, beforeSummary.length),
    beforeSummary,
    eos,
    parallelId: ids.parallel,
    parallelEnd,
    path,
    pathEnd,
    summary,
    summaryEnd,
  };
}

/**
 * All arrays before the first step, for R rows that decode at once and feed up to W tokens each a step (paths + 1 feeds a
 * fork in one go).
 */
export const deviceRollouts = (
  requests: readonly RolloutRequest[],
  settings: RowSettings,
  ids: SpecialIds,
  shape: { R: number; W: number; slots: number },
): RolloutArrays => rolloutArrays(requests, stepSettings(settings, ids), shape);

/** How far all requests are: taken from the queue, done, and lanes of the next step. */
export interface DeviceProgress {
  started: number;
  done: number;
  live: number;
}

export const progressOf = (queue: Int32Array): DeviceProgress => ({
  started: queue[TOTAL.next],
  done: queue[TOTAL.done],
  live: queue[TOTAL.live],
});

type Results = Pick<RolloutArrays, 'queue' | 'records' | 'logps'>;

const requestAt = (queue: Int32Array, request: number, field: number) =>
  queue[(1 + request) * QUEUE_INTS + field];
const slotsOf = ({ queue, records }: Pick<Results, 'queue' | 'records'>) =>
  records.length / RECORD_INTS / (queue.length / QUEUE_INTS - 1);

/** One request as it is: enough to draw it. Tokens and branches in the order of slots, prompt included. */
export function viewOf(
  results: Pick<Results, 'queue' | 'records'>,
  request: number,
): Omit<RowView, 'prompt'> & { promptLength: number; tokens: Int32Array; branches: Int32Array } {
  const { queue, records } = results;
  const first = request * slotsOf(results);
  const field = (at: number) =>
    Int32Array.from(
      { length: requestAt(queue, request, REQUEST.count) },
      (_, slot) => records[(first + slot) * RECORD_INTS + at],
    );
  return {
    promptLength: requestAt(queue, request, REQUEST.promptLength),
    tokens: field(0),
    branches: field(2),
    done: requestAt(queue, request, REQUEST.done) === 1,
  };
}

/** A finished request in text order, as `finishedRollout` gives it. */
export function deviceRollout(results: Results, request: number): Rollout {
  const { queue, records, logps } = results;
  const first = request * slotsOf(results);
  const header = (field: number) => requestAt(queue, request, field);
  const { branches, promptLength } = viewOf(results, request);
  const order = textOrder(branches).map((slot) => first + slot);
  const field = (at: number) => order.map((slot) => records[slot * RECORD_INTS + at]);
  return {
    tokens: field(0),
    positions: field(1),
    branches: field(2),
    sampled: Uint8Array.from(field(3), (mark) => mark & 1),
    logp: Float32Array.from(order, (slot) => logps[slot]),
    promptLength,
    truncated: header(REQUEST.truncated) === 1,
    blocks: header(REQUEST.blocks),
    critical: header(REQUEST.critical),
  };
}
