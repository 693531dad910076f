import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { foldKey, Rng } from '../../../../base/rng.ts';
import { requireWebGpu } from '../../testing.ts';
import { tf } from '../../tfjs.ts';
import { kernelStyle, setKernelStyle } from '../../wgsl.ts';
import {
  laneStride,
  PLANES,
  QUEUE_INTS,
  ROW_INTS,
  type RolloutStepSettings,
  rolloutArrays,
  TOTAL,
} from './rollout-step.layout.ts';
import { rolloutStepReference } from './rollout-step.reference.ts';
import { rolloutStepOp } from './rollout-step.ts';

const SETTINGS: RolloutStepSettings = {
  paths: 2,
  maxBlocks: 2,
  pathTokens: 6,
  summaryTokens: 4,
  maxTokens: 60,
  parallel: true,
  pathStride: 0,
  reserve: 9,
  noise: null,
  beforeSummary: [9],
  eos: 2,
  parallelId: 3,
  parallelEnd: 4,
  path: 5,
  pathEnd: 6,
  summary: 7,
  summaryEnd: 8,
};
const WORDS = [10, 11, 12];
const TAGS = [2, 3, 3, 5, 6, 8];

interface Case {
  name: string;
  settings: RolloutStepSettings;
  R: number;
  Q: number;
  W: number;
  /** Cache slots a row; enough where not told. */
  slots?: number;
}

const cases: Case[] = [
  { name: 'two paths, a queue', settings: SETTINGS, R: 3, Q: 7, W: 3 },
  {
    name: 'eight paths with noise',
    settings: {
      ...SETTINGS,
      paths: 8,
      maxTokens: 120,
      pathStride: 40,
      reserve: 22,
      beforeSummary: [9, 13],
      noise: { after: 10, replacements: [11, 12, 6], probability: 0.5 },
    },
    R: 2,
    Q: 3,
    W: 9,
  },
  { name: 'more rows than requests, narrow', settings: { ...SETTINGS, maxTokens: 31 }, R: 5, Q: 2, W: 1 },
  { name: 'too few slots: rows end there', settings: SETTINGS, R: 2, Q: 5, W: 3, slots: 21 },
  { name: 'more rows than threads', settings: { ...SETTINGS, maxTokens: 4 }, R: 150, Q: 310, W: 2 },
];

/** Runs kernel and reference side by side on the same samples until all requests are done. @returns blocks seen */
async function runCase({
  settings,
  R,
  Q,
  W,
  slots = 8 + settings.maxTokens + settings.reserve,
}: Case): Promise<number> {
  const rng = new Rng(R, Q, W);
  const requests = Array.from({ length: Q }, (_, q) => ({
    key: foldKey(5, q),
    prompt: [1, ...Array.from({ length: rng.int(8) }, () => rng.pick(WORDS))],
  }));
  const {
    settings: packed,
    rows,
    queue,
    records,
    logps,
    lanes,
  } = rolloutArrays(requests, settings, { R, W, slots });
  const stride = laneStride(R * W);
  const host = [packed, rows, queue, records, logps, lanes];
  const shapes = [
    [packed.length],
    [R, ROW_INTS],
    [1 + Q, QUEUE_INTS],
    [Q, slots, 4],
    [Q, slots],
    [PLANES.length, stride],
  ];
  const device = host.map((values, i) =>
    tf.tensor(values.slice(), shapes[i], values instanceof Int32Array ? 'int32' : 'float32'),
  );
  const ids = new Int32Array(R * W);
  const logp = new Float32Array(R * W);
  const banned = lanes.subarray(PLANES.indexOf('banned') * stride);
  for (let steps = 0; queue[TOTAL.done] < Q; steps++) {
    expect(steps).toBeLessThan(1000);
    const samples = [tf.tensor1d(ids.slice(), 'int32'), tf.tensor1d(logp.slice())];
    rolloutStepOp([...device, ...samples], {});
    rolloutStepReference([...host, ids, logp], { R, Q, W, slots, stride });
    const actual = await Promise.all(device.map((tensor) => tensor.data()));
    // Copies and integers only: equal to the bit.
    actual.forEach((values, i) => {
      if (values.some((value, at) => value !== host[i][at]))
        expect(Array.from(values)).toEqual(Array.from(host[i]));
    });
    tf.dispose(samples);
    for (let n = 0; n < R * W; n++) {
      do ids[n] = rng.pick(rng.next() < 0.3 ? TAGS : WORDS);
      while (ids[n] === banned[n]);
      logp[n] = -rng.next();
    }
  }
  tf.dispose(device);
  return requests.reduce((sum, _, q) => sum + queue[(1 + q) * QUEUE_INTS + 5], 0);
}

describe.skipIf(!(await requireWebGpu()))('rollout-step on WebGPU equals its reference', () => {
  describe.each(['tiled', 'direct'] as const)('%s', (style) => {
    const before = kernelStyle();
    beforeAll(() => setKernelStyle(style));
    afterAll(() => setKernelStyle(before));

    test.each(cases)('$name', async (c) => {
      const blocks = await runCase(c);
      if (c.settings.maxTokens >= 60 && !c.slots) expect(blocks).toBeGreaterThan(0);
    });
  });
});
