/**
 * @genai-fi/nanogpt: its own model and its own trainer's step, called as its loop calls it. (Its loop cannot be paused
 * after each step, and its clock counts compilation; so our tokens go in from outside, through the engine of the tfjs
 * that it bundles.) Mixed precision is off: it gives NaN on software WebGPU.
 */
import { TeachableLLM, training } from '@genai-fi/nanogpt';
import { offer } from './peer.ts';

offer(async ({ layers: L, hidden: C, heads: H, length: T, batch: B, vocab: V }) => {
  await TeachableLLM.selectBackend('webgpu');
  const llm = TeachableLLM.create('char', {
    modelType: 'GenAI_NanoGPT_v2',
    vocabSize: V,
    blockSize: T,
    nLayer: L,
    nHead: H,
    nEmbed: C,
    mlpFactor: 4,
  });
  while (!['ready', 'awaitingTokens'].includes(llm.status)) {
    if (llm.status === 'error') throw new Error('nanogpt could not make its model');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const optimizer = {
    learningRate: 1e-3,
    beta1: 0.9,
    beta2: 0.95,
    epsilon: 1e-8,
    weightDecay: 0.1,
    warmupSteps: 0,
    decayEpochs: 100,
    epochSteps: 10_000,
    minLearningRate: 1e-3,
    lossScaling: 1,
  };
  const options = {
    ...optimizer,
    method: { type: 'pretraining' },
    batchSize: B,
    mixedPrecision: false,
    dropout: 0,
    metrics: [],
  };
  // A restored job has a trainer that does not run yet; what it restores is nothing.
  const log = { step: 0, totalTokens: 0, duration: 0, trainingMetrics: { loss: 0 } };
  const data = [{ id: 'bench', name: 'bench', conversational: false }];
  const adamw = new training.AdamWOptimizer(optimizer);
  const { trainer } = llm.training.restore(options, [log], adamw, data);
  trainer.configure(options);
  trainer.updateOptimizer(optimizer);
  const engine = globalThis._tfengine;
  return {
    parameters: llm.getNumParams(),
    tensors: () => engine.memory().numTensors,
    async step(tokens, targets) {
      const xs = engine.makeTensor(tokens, [B, T], 'int32');
      const ys = engine.makeTensor(targets, [B, T], 'int32');
      const value = trainer.trainStep({}, { xs, ys });
      const [read] = await value.data();
      for (const tensor of [value, xs, ys]) tensor.dispose();
      return read;
    },
  };
});
