import { test } from 'vitest';
import { requireWebGpu } from './testing.ts';
import { tf } from './tfjs.ts';
import { counters } from './webgpu-runner.ts';
import { parseModelConfig } from '../model/config.ts';
import { initialWeights } from '../model/init.ts';
import { Decoder } from '../model/decoder.ts';
import { AdamW, GradientSum } from '../train/optimizer.ts';
import { tokenLoss } from './ops/token-loss/token-loss.ts';
import { openBackend } from './device.ts';
await requireWebGpu();
const count: any = { dispatch: 0, submit: 0, pass: 0, buffer: 0, bindGroup: 0, write: 0, pipeline: 0 };
function hook(proto: any, name: string, key: string) { const f = proto[name]; proto[name] = function (...a: any[]) { count[key]++; return f.apply(this, a); }; }
hook(GPUComputePassEncoder.prototype, 'dispatchWorkgroups', 'dispatch');
hook(GPUQueue.prototype, 'submit', 'submit'); hook(GPUQueue.prototype, 'writeBuffer', 'write');
hook(GPUCommandEncoder.prototype, 'beginComputePass', 'pass');
hook(GPUDevice.prototype, 'createBuffer', 'buffer'); hook(GPUDevice.prototype, 'createBindGroup', 'bindGroup'); hook(GPUDevice.prototype, 'createComputePipeline', 'pipeline');
for (const backend of ['webgpu', 'wasm'] as const) for (const L of [1, 2]) test(`step ${backend} L=${L}`, async () => {
  await openBackend(backend);
  const config = parseModelConfig({ model_type: 'llama', vocab_size: 64, hidden_size: 64, intermediate_size: 176, num_hidden_layers: L, num_attention_heads: 4, num_key_value_heads: 4, max_position_embeddings: 128 });
  const model = new Decoder(config, initialWeights(config, { embeddingStd: 0.1, headStd: 0.1 }, 1));
  const opt = new AdamW(model, { beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0.1, maxGradNorm: 1, decayNorms: false } as any);
  const B = 4, T = 32, N = B * T;
  const c = (f: (n: number) => number) => tf.tensor1d(Int32Array.from({ length: N }, (_, n) => f(n)), 'int32');
  for (let s = 0; s < 6; s++) {
    for (const k in count) count[k] = 0;
    const own = counters.dispatches;
    const t0 = performance.now();
    const tokens = c(n => (n * 7 + s) % 64), positions = c(n => n % T), branches = c(() => 0), targets = c(n => (n * 7 + 7 + s) % 64);
    const g = new GradientSum(model);
    const loss = g.add(() => tf.div(tf.neg(tf.sum(tokenLoss(model.hidden({ B, T, tokens, positions, branches }), model.head, targets).logp)), N));
    const grads = g.take();
    const p = opt.apply(grads, 1e-3);
    const t1 = performance.now();
    await p; const l = (await loss.data())[0];
    const t2 = performance.now();
    tf.dispose([tokens, positions, branches, targets, loss]);
    console.log(s, 'loss', l.toFixed(4), 'js', (t1 - t0).toFixed(1), 'ms', (t2 - t0).toFixed(1), 'own', counters.dispatches - own, JSON.stringify(count), tf.memory().numTensors);
  }
});
