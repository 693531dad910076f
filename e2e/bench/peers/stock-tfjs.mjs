/** A GPT-2 as one writes it with plain tfjs: LayerNorm, GELU, learned positions, tied head, tfjs's own Adam. */
import * as tf from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops';
import '@tensorflow/tfjs-core/dist/register_all_gradients';
import '@tensorflow/tfjs-backend-webgpu';
import { offer } from './peer.ts';

offer(async ({ layers: L, hidden: C, heads: H, length: T, batch: B, vocab: V }) => {
  await tf.setBackend('webgpu');
  await tf.ready();
  const D = C / H;
  const weights = [];
  const keep = (tensor) => {
    const variable = tf.variable(tensor);
    weights.push(variable);
    return variable;
  };
  const matrix = (...shape) => keep(tf.randomNormal(shape, 0, 0.02));
  const scale = () => ({ g: keep(tf.ones([C])), b: keep(tf.zeros([C])) });
  const wte = matrix(V, C);
  const wpe = matrix(T, C);
  const last = scale();
  const blocks = Array.from({ length: L }, () => ({
    n1: scale(),
    n2: scale(),
    qkv: matrix(C, 3 * C),
    o: matrix(C, C),
    w1: matrix(C, 4 * C),
    w2: matrix(4 * C, C),
  }));

  const norm = (x, { g, b }) => {
    const { mean, variance } = tf.moments(x, -1, true);
    return x.sub(mean).mul(variance.add(1e-5).rsqrt()).mul(g).add(b);
  };
  const gelu = (x) => x.mul(0.5).mul(tf.tanh(x.add(x.mul(x).mul(x).mul(0.044715)).mul(0.7978845608)).add(1));
  const mask = tf.linalg
    .bandPart(tf.ones([T, T]), -1, 0)
    .sub(1)
    .mul(1e9);
  const loss = (x, y) => {
    let h = tf.gather(wte, x.reshape([-1])).add(tf.tile(wpe, [B, 1])); // (N, C)
    for (const { n1, n2, qkv, o, w1, w2 } of blocks) {
      const heads = norm(h, n1).matMul(qkv).reshape([B, T, 3, H, D]).transpose([2, 0, 3, 1, 4]);
      const [q, k, v] = tf.unstack(heads); // (B, H, T, D)
      const a = tf.softmax(
        tf
          .matMul(q, k, false, true)
          .mul(1 / Math.sqrt(D))
          .add(mask),
      ); // (B, H, T, T)
      h = h.add(
        tf
          .matMul(a, v)
          .transpose([0, 2, 1, 3])
          .reshape([B * T, C])
          .matMul(o),
      );
      h = h.add(gelu(norm(h, n2).matMul(w1)).matMul(w2));
    }
    const logits = tf.matMul(norm(h, last), wte, false, true); // (N, V)
    return tf
      .logSoftmax(logits)
      .mul(tf.oneHot(y.reshape([-1]), V))
      .sum()
      .mul(-1 / (B * T))
      .asScalar();
  };
  const optimizer = tf.train.adam(1e-3, 0.9, 0.95, 1e-8);
  return {
    parameters: weights.reduce((sum, { size }) => sum + size, 0),
    tensors: () => tf.memory().numTensors,
    async step(tokens, targets) {
      const x = tf.tensor2d(tokens, [B, T], 'int32');
      const y = tf.tensor2d(targets, [B, T], 'int32');
      const value = tf.tidy(() => optimizer.minimize(() => loss(x, y), true));
      const [read] = await value.data();
      tf.dispose([value, x, y]);
      return read;
    },
  };
});
