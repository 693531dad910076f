/** Polypath's own training step, as `sft.ts` takes it. */
import { parameterCount } from '../../../src/engine/model/config.ts';
import { Decoder } from '../../../src/engine/model/decoder.ts';
import { openBackend } from '../../../src/engine/tensor/device.ts';
import { tf } from '../../../src/engine/tensor/tfjs.ts';
import { makeLearner } from '../../../src/engine/train/learner.ts';
import { AdamW } from '../../../src/engine/train/optimizer.ts';
import { oursConfig, oursSettings, oursWeights } from '../ours-model.ts';
import type { BenchShape } from '../report.ts';
import { offer, type Trainer } from './peer.ts';

export async function makeOurs(shape: BenchShape): Promise<Trainer> {
  const { backend, notice } = await openBackend('webgpu');
  if (backend !== 'webgpu') throw new Error(notice ?? 'no WebGPU');
  const config = oursConfig(shape);
  const model = new Decoder(config, oursWeights(config));
  const optimizer = new AdamW(model, oursSettings);
  const learner = makeLearner(model, optimizer, { temperature: 1, clip: null });
  const { batch: B, length: T } = shape;
  const N = B * T;
  const int = (of: (n: number) => number) => Int32Array.from({ length: N }, (_, n) => of(n));
  const fixed = {
    positions: int((n) => n % T),
    branches: int(() => 0),
    rows: int((n) => Math.floor(n / T)),
    slots: int((n) => n % T),
  };
  const mask = new Float32Array(N).fill(1);
  return {
    parameters: parameterCount(config),
    tensors: () => tf.memory().numTensors,
    async step(tokens, targets) {
      await learner.add({ batch: { B, T, tokens, targets, ...fixed }, mask, policy: null }, N);
      return (await learner.apply(oursSettings.learningRate)).loss;
    },
  };
}

offer(makeOurs);
