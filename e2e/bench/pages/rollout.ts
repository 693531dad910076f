/** Rollouts of ours, and an eager decode of the same model. Runs in the page. */
import { Decoder } from '../../../src/engine/model/decoder.ts';
import { openDevice } from '../../../src/engine/model/kernel-gate.ts';
import { capturedRollouts } from '../../../src/engine/rollout/captured-rollouts.ts';
import {
  type GenerateSettings,
  generate,
  type RolloutRequest,
} from '../../../src/engine/rollout/generate.ts';
import type { Rollout } from '../../../src/engine/rollout/row.ts';
import { pack, perSlot } from '../../../src/engine/train/batch.ts';
import { makeLearner } from '../../../src/engine/train/learner.ts';
import { AdamW } from '../../../src/engine/train/optimizer.ts';
import { PLAIN_TERMS } from '../../../src/engine/train/policy-loss.ts';
import { oursConfig, oursSettings, oursWeights } from '../ours-model.ts';
import type { BenchShape } from '../report.ts';
import { EagerDecode } from './eager-decode.ts';

/** Token ids of the tags, as a task's tokenizer would give them. */
const IDS = {
  bos: 1,
  eos: 2,
  pad: 0,
  parallel: 3,
  parallelEnd: 4,
  path: 5,
  pathEnd: 6,
  summary: 7,
  summaryEnd: 8,
  beforeSummary: [],
};

const SETTINGS: GenerateSettings = {
  paths: 2,
  maxBlocks: 2,
  pathTokens: 16,
  summaryTokens: 8,
  maxTokens: 80,
  parallel: true,
  noise: null,
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
};

/** Largest difference between log-probs of rollout and training pass. */
async function logProbGap(model: Decoder, rollouts: readonly Rollout[]): Promise<number> {
  const optimizer = new AdamW(model, oursSettings);
  const learner = makeLearner(model, optimizer, {
    temperature: 1,
    clip: { ...PLAIN_TERMS, clipLow: 0.2, clipHigh: 0.2, dualClip: null },
  });
  const batch = pack(
    rollouts.map(({ tokens, positions, branches, promptLength, sampled }) => ({
      tokens,
      positions,
      branches,
      promptLength,
      targets: sampled,
    })),
  );
  const old = perSlot(
    batch,
    rollouts.map(({ logp }) => logp),
  );
  const mask = perSlot(
    batch,
    rollouts.map(({ sampled }) => sampled),
  );
  await learner.add({ batch, mask, policy: { old, advantages: new Float32Array(old.length) } }, 1);
  const { differenceMax } = await learner.apply(0);
  learner.dispose();
  optimizer.dispose();
  return differenceMax;
}

export interface RolloutRound {
  /** Decode steps and response tokens of all rollouts. */
  steps: number;
  tokens: number;
  ms: number;
}

class RolloutBench {
  private last: Rollout[] = [];
  private ids: readonly number[];

  constructor(
    private readonly model: Decoder,
    private readonly eagerModel: EagerDecode,
    private readonly requests: number,
    lanes: number,
  ) {
    this.ids = Array(lanes).fill(10);
  }

  /** All rollouts of a round, which have keys of their own. */
  async rollouts(round: number): Promise<RolloutRound> {
    const requests: RolloutRequest[] = Array.from({ length: this.requests }, (_, i) => ({
      prompt: [1, 10, 11, 12, 13],
      key: 1000 * round + i,
    }));
    const captured = capturedRollouts(this.model)!;
    const before = captured.steps;
    const started = performance.now();
    const rows = generate(this.model, requests, SETTINGS, IDS);
    for (;;) {
      const next = await rows.next();
      if (!next.done) continue;
      this.last = next.value;
      break;
    }
    const ms = performance.now() - started;
    const tokens = this.last.reduce((sum, one) => sum + one.tokens.length - one.promptLength, 0);
    return { steps: captured.steps - before, tokens, ms };
  }

  async eager(steps: number): Promise<null> {
    for (let i = 0; i < steps; i++) this.ids = [...(await this.eagerModel.step(this.ids))];
    return null;
  }

  logProbGap(): Promise<number> {
    return logProbGap(this.model, this.last);
  }
}

let current: RolloutBench | null = null;
(globalThis as { bench?: unknown }).bench = {
  async setup(shape: BenchShape, requests: number): Promise<void> {
    const report = await openDevice('webgpu');
    if (report.backend !== 'webgpu') throw new Error(report.notice ?? 'no WebGPU');
    const config = { ...oursConfig(shape), maxPositions: 128 };
    const model = new Decoder(config, oursWeights(config));
    const lanes = requests * (SETTINGS.paths + 1);
    current = new RolloutBench(model, await EagerDecode.make(model, lanes), requests, lanes);
  },
  rollouts: (round: number) => current!.rollouts(round),
  eager: (steps: number) => current!.eager(steps),
  logProbGap: () => current!.logProbGap(),
};
