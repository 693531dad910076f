/**
 * Samples rollouts. On a GPU everything happens there (captured-rollouts.ts). Elsewhere, and as its slow truth, all rows
 * of a batch decode together, each with as many lanes as it has open paths, and the state machine (row.ts) runs here and
 * reads one token a lane and step.
 */
import { UserError } from '../../base/assert.ts';
import type { Decoder } from '../model/decoder.ts';
import { sample } from '../tensor/ops/sample/sample.ts';
import { tf } from '../tensor/tfjs.ts';
import type { SpecialIds } from '../tokenizer/tags.ts';
import { capturedRollouts } from './captured-rollouts.ts';
import {
  type Feed,
  finishedRollout,
  longestPrompt,
  positionsFor,
  type Rollout,
  Row,
  type RowSettings,
  type RowView,
  slotsPerRowFor,
} from './row.ts';

export interface GenerateSettings extends RowSettings {
  temperature: number;
  topK: number;
  topP: number;
  minP: number;
}

export interface RolloutRequest {
  /** Token ids, <bos> included. */
  prompt: readonly number[];
  /** Folded (seed, stage, step, prompt, sample): the same key draws the same rollout. */
  key: number;
}

/**
 * Yields the rows now and then (to draw them and to look at commands) and returns the finished rollouts in the order
 * of the requests. A caller that stops early must call `return()` on the generator.
 */
export function generate(
  model: Decoder,
  requests: readonly RolloutRequest[],
  settings: GenerateSettings,
  ids: SpecialIds,
): AsyncGenerator<readonly RowView[], Rollout[]> {
  const positions = positionsFor(requests, settings, ids);
  if (positions > model.config.maxPositions)
    throw new UserError(
      `A prompt of ${longestPrompt(requests)} tokens and a response of up to ${settings.maxTokens} need ${positions} positions, but ` +
        `the model has ${model.config.maxPositions}. Lower rollout.maxTokens${settings.pathStride ? ' or structure.pathStride' : ''} or use a model with more positions.`,
    );
  const captured = capturedRollouts(model);
  return captured
    ? captured.generate(requests, settings, ids)
    : generateStepByStep(model, requests, settings, ids);
}

/** The slow truth of `generate`, on any backend: yields after every decode step. */
export async function* generateStepByStep(
  model: Decoder,
  requests: readonly RolloutRequest[],
  settings: GenerateSettings,
  ids: SpecialIds,
): AsyncGenerator<readonly Row[], Rollout[]> {
  const slotsPerRow = slotsPerRowFor(requests, settings, ids);
  const rows = requests.map(({ prompt, key }) => new Row(prompt, key, settings, ids));
  const cache = model.makeCache(rows.length, slotsPerRow);
  try {
    for (;;) {
      const lanes: { row: Row; index: number; feed: Feed }[] = [];
      rows.forEach((row, index) => {
        for (const feed of row.feeds) lanes.push({ row, index, feed });
        row.feeds = [];
      });
      if (lanes.length === 0) break;
      const asked = lanes.filter(({ feed }) => feed.lane >= 0);
      const int = (values: number[]) => tf.tensor1d(Int32Array.from(values), 'int32');
      const inputs = {
        tokens: int(lanes.map(({ feed }) => feed.token)),
        positions: int(lanes.map(({ feed }) => feed.position)),
        branches: int(lanes.map(({ feed }) => feed.branch)),
        slots: int(lanes.map(({ feed, index }) => index * slotsPerRow + feed.slot)),
        wanted: int(lanes.flatMap(({ feed }, i) => (feed.lane >= 0 ? [i] : []))),
        keys: int(asked.map(({ row, feed }) => row.laneKey(feed.lane) | 0)),
        counters: int(asked.map(({ feed }) => feed.position + 1)),
        banned: int(asked.map(({ feed }) => feed.banned)),
      };
      const logits = model.decode(cache, inputs.tokens, inputs, inputs.wanted); // (M, V)
      const drawn = sample(logits, inputs, settings);
      const [tokens, logps] = await Promise.all([drawn.ids.data(), drawn.logp.data()]);
      tf.dispose([...Object.values(inputs), logits, drawn.ids, drawn.logp]);
      asked.forEach(({ row, feed }, i) => {
        row.advance(feed.lane, tokens[i], logps[i]);
      });
      yield rows;
    }
  } finally {
    model.disposeCache(cache);
  }
  return rows.map(finishedRollout);
}

/** Passes a generator's rows on as events and returns its result; stops it when the caller stops. */
export async function* mapRows<E>(
  rows: AsyncGenerator<readonly RowView[], Rollout[]>,
  toEvent: (rows: readonly RowView[]) => E,
): AsyncGenerator<E, Rollout[]> {
  try {
    for (;;) {
      const next = await rows.next();
      if (next.done) return next.value;
      yield toEvent(next.value);
    }
  } finally {
    await rows.return([]);
  }
}
