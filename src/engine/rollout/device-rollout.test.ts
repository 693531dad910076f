import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { foldKey, Rng, uniformAt } from '../../base/rng.ts';
import type { Decoder } from '../model/decoder.ts';
import { openBackend } from '../tensor/device.ts';
import { laneStride, PLANES, QUEUE_INTS, ROW_INTS } from '../tensor/ops/rollout-step/rollout-step.layout.ts';
import { rolloutStepReference } from '../tensor/ops/rollout-step/rollout-step.reference.ts';
import { rolloutStepOp } from '../tensor/ops/rollout-step/rollout-step.ts';
import { sample } from '../tensor/ops/sample/sample.ts';
import { type Tensor, tf } from '../tensor/tfjs.ts';
import { deviceRollout, deviceRollouts, progressOf, viewOf } from './device-rollout.ts';
import { IDS, randomModel, rollOut, SETTINGS } from './generate.golden.ts';
import type { GenerateSettings, RolloutRequest } from './generate.ts';
import { finishedRollout, type Rollout, Row, type RowSettings, slotsPerRowFor } from './row.ts';

/** A pretended sample: decided by key, counter and ban alone, as the sampler's is. */
type Pretend = (key: number, counter: number, banned: number) => { token: number; logp: number };

const { parallel, parallelEnd, path, pathEnd, summary, summaryEnd, eos } = IDS;
/** Weights by repetition: enough forks, few early ends. */
const TAGS = [parallel, parallel, parallel, pathEnd, pathEnd, summaryEnd, parallelEnd, path, summary, eos];
const WORDS = [10, 11, 12, 13, 14];

/** @param tags share of tags among the samples */
const pretending =
  (tags: number): Pretend =>
  (key, counter, banned) => {
    for (let salt = 0; ; salt++) {
      const rng = new Rng(key, counter, salt);
      const token = rng.pick(rng.next() < tags ? TAGS : WORDS);
      if (token !== banned) return { token, logp: -uniformAt(key, counter) };
    }
  };

/** What generate.ts does, with pretended samples. */
function runRow({ prompt, key }: RolloutRequest, settings: RowSettings, pretend: Pretend): Row {
  const row = new Row(prompt, key, settings, IDS);
  while (!row.done) {
    const feeds = row.feeds.filter(({ lane }) => lane >= 0);
    row.feeds = [];
    for (const { lane, position, banned } of feeds) {
      const { token, logp } = pretend(row.laneKey(lane), position + 1, banned);
      row.advance(lane, token, logp);
    }
  }
  return row;
}

/** The same on the int arrays, with all requests in one queue. */
function runArrays(
  requests: readonly RolloutRequest[],
  settings: RowSettings,
  pretend: Pretend,
  { R, W }: { R: number; W: number },
) {
  const slots = slotsPerRowFor(requests, settings, IDS);
  const arrays = deviceRollouts(requests, settings, IDS, { R, W, slots });
  const Q = requests.length;
  const stride = laneStride(R * W);
  const ids = new Int32Array(R * W);
  const logp = new Float32Array(R * W);
  const inputs = [...Object.values(arrays), ids, logp];
  const plane = (name: (typeof PLANES)[number]) =>
    arrays.lanes.subarray(PLANES.indexOf(name) * stride, PLANES.indexOf(name) * stride + R * W);
  const [cacheSlots, keys, counters, banned] = (['slots', 'keys', 'counters', 'banned'] as const).map(plane);
  for (let steps = 0; ; steps++) {
    if (steps > 20000) throw new Error('the rollouts do not end');
    rolloutStepReference(inputs, { R, Q, W, slots, stride });
    const { live, done } = progressOf(arrays.queue);
    expect(cacheSlots.findIndex((slot) => slot < 0)).toBe(live === R * W ? -1 : live);
    if (done === Q) break;
    // Row by row, and each row's slots one after the other (no `expect` a lane: this is the inner loop).
    for (let i = 1; i < live; i++) {
      const [before, slot] = [cacheSlots[i - 1], cacheSlots[i]];
      const sameRow = Math.floor(slot / slots) === Math.floor(before / slots);
      if (sameRow ? slot !== before + 1 : slot < before) throw new Error(`slot ${slot} after ${before}`);
    }
    // Lanes that are not live get nonsense: it must be ignored.
    ids.fill(IDS.eos);
    logp.fill(Number.NaN);
    for (let i = 0; i < live; i++) {
      const drawn = pretend(keys[i] >>> 0, counters[i], banned[i]);
      ids[i] = drawn.token;
      logp[i] = drawn.logp;
    }
  }
  expect(progressOf(arrays.queue)).toEqual({ started: Q, done: Q, live: 0 });
  return arrays;
}

function requestsOf(Q: number, seed: number): RolloutRequest[] {
  const rng = new Rng(seed);
  return Array.from({ length: Q }, (_, i) => ({
    key: foldKey(seed, i),
    prompt: [IDS.bos, ...Array.from({ length: rng.int(14) }, () => rng.pick([...WORDS, IDS.parallel]))],
  }));
}

describe('the int arrays hold the trees of Row, token for token', () => {
  const settings = fc.record({
    paths: fc.integer({ min: 1, max: 8 }),
    maxBlocks: fc.integer({ min: 0, max: 3 }),
    pathStride: fc.constantFrom(0, 0, 7, 50),
    pathTokens: fc.integer({ min: 1, max: 12 }),
    summaryTokens: fc.integer({ min: 1, max: 6 }),
    maxTokens: fc.integer({ min: 1, max: 200 }),
    parallel: fc.integer({ min: 0, max: 7 }).map((n) => n > 0),
    noise: fc.option(
      fc.record({
        after: fc.constantFrom(10, IDS.path, IDS.summary),
        replacements: fc.constantFrom([10], [11, 12, 13], [IDS.pathEnd, 14]),
        probability: fc.constantFrom(0, 0.3, 1),
      }),
    ),
  });

  test('on random settings, queues and samples', () => {
    let blocks = 0;
    let truncated = 0;
    fc.assert(
      fc.property(
        settings,
        fc.nat(1e6),
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 9 }),
        fc.constantFrom(0.1, 0.3, 0.6),
        (own, seed, R, Q, tags) => {
          const over: RowSettings = { ...SETTINGS, ...own };
          const requests = requestsOf(Q, seed);
          const pretend = pretending(tags);
          // Mostly paths + 1; any other width feeds the same tokens in other portions.
          const W = seed % 4 === 0 ? 1 + (seed % 5) : over.paths + 1;
          const arrays = runArrays(requests, over, pretend, { R, W });
          requests.forEach((request, q) => {
            const row = runRow(request, over, pretend);
            const expected = finishedRollout(row);
            expected.logp = expected.logp.map(Math.fround);
            expect(deviceRollout(arrays, q)).toEqual(expected);
            // The rollout above is in text order; the order of slots is Row's too.
            const view = viewOf(arrays, q);
            expect(Array.from(view.tokens)).toEqual(row.tokens);
            expect(Array.from(view.branches)).toEqual(row.branches);
            blocks += row.blocks;
            truncated += row.truncated ? 1 : 0;
          });
        },
      ),
      { numRuns: 250 },
    );
    expect(blocks).toBeGreaterThan(200);
    expect(truncated).toBeGreaterThan(100);
  });

  test('more rows than requests: the others stay idle', () => {
    const requests = requestsOf(2, 5);
    const arrays = runArrays(requests, SETTINGS, pretending(0.2), { R: 6, W: 3 });
    requests.forEach((request, q) => {
      const expected = finishedRollout(runRow(request, SETTINGS, pretending(0.2)));
      expect(Array.from(deviceRollout(arrays, q).tokens)).toEqual(Array.from(expected.tokens));
    });
  });
});

describe.each(['cpu', 'wasm'] as const)('with a model on %s', (backend) => {
  beforeAll(async () => {
    await openBackend(backend);
  });

  /** The decode loop as a plan will run it, with the live lanes only. */
  async function decodeAll(model: Decoder, requests: RolloutRequest[], settings: GenerateSettings) {
    const R = 2;
    const W = settings.paths + 1;
    const slots = slotsPerRowFor(requests, settings, IDS);
    const arrays = deviceRollouts(requests, settings, IDS, { R, W, slots });
    const stride = laneStride(R * W);
    const Q = requests.length;
    const int = (values: Int32Array, shape: number[]) => tf.tensor(values, shape, 'int32');
    const queue = int(arrays.queue, [1 + Q, QUEUE_INTS]);
    const records = int(arrays.records, [Q, slots, 4]);
    const logps = tf.tensor(arrays.logps, [Q, slots]);
    const lanes = int(arrays.lanes, [PLANES.length, stride]);
    const state = [
      int(arrays.settings, [arrays.settings.length]),
      int(arrays.rows, [R, ROW_INTS]),
      queue,
      records,
      logps,
      lanes,
    ];
    const cache = model.makeCache(R, slots);
    let drawn = { ids: tf.zeros([R * W], 'int32'), logp: tf.zeros([R * W]) };
    for (;;) {
      rolloutStepOp([...state, drawn.ids, drawn.logp], {});
      tf.dispose(drawn);
      const { live } = progressOf((await queue.data()) as Int32Array);
      if (live === 0) break;
      drawn = tf.tidy(() => {
        const plane = (name: (typeof PLANES)[number]) =>
          tf.reshape(tf.slice(lanes, [PLANES.indexOf(name), 0], [1, live]), [live]);
        const wanted = tf.range(0, live, 1, 'int32');
        const feeds = { positions: plane('positions'), branches: plane('branches'), slots: plane('slots') };
        const logits = model.decode(cache, plane('tokens'), feeds, wanted);
        const { ids, logp } = sample(
          logits,
          { keys: plane('keys'), counters: plane('counters'), banned: plane('banned') },
          settings,
        );
        const padded = (x: Tensor) => tf.pad(x, [[0, R * W - live]]);
        return { ids: padded(ids), logp: padded(logp) };
      });
    }
    const results = {
      queue: (await queue.data()) as Int32Array,
      records: (await records.data()) as Int32Array,
      logps: (await logps.data()) as Float32Array,
    };
    model.disposeCache(cache);
    tf.dispose(state);
    return requests.map((_, q) => deviceRollout(results, q));
  }

  test('two rows and a queue sample the same rollouts as generate', async () => {
    const model = randomModel(3);
    const noise = { after: 12, replacements: [13, 14], probability: 0.5 };
    const settings = { ...SETTINGS, paths: 3, maxBlocks: 3, maxTokens: 100, temperature: 1.3, noise };
    const keys = [3, 7922, 15841, 23760, 31679, 39598];
    const expected: Rollout[] = await rollOut(model, settings, keys);
    const prompts = [
      [1, 10, 11],
      [1, 12],
      [1, 3, 13, 14, 15],
    ];
    const requests = keys.map((key, i) => ({ key, prompt: prompts[i % 3] }));
    const actual = await decodeAll(model, requests, settings);
    expect(expected.some(({ blocks }) => blocks > 0)).toBe(true);
    actual.forEach(({ logp, ...rest }, q) => {
      const { logp: expectedLogp, ...expectedRest } = expected[q];
      expect(rest).toEqual(expectedRest);
      logp.forEach((value, t) => {
        expect(value).toBeCloseTo(expectedLogp[t], 5);
      });
    });
    model.dispose();
  });
});
