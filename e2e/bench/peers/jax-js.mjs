/** A GPT-2 in jax-js, the whole step in one `jit`. It has no gradient for `take` inside of it: one-hot products. */
import { defaultDevice, init, jit, nn, numpy as np, random, tree, valueAndGrad } from '@jax-js/jax';
import { offer } from './peer.ts';

const BETA1 = 0.9;
const BETA2 = 0.95;
const DECAY = 0.1;

offer(async ({ layers: L, hidden: C, heads: H, length: T, batch: B, vocab: V }) => {
  const devices = await init();
  if (!devices.includes('webgpu')) throw new Error('jax-js found no WebGPU');
  defaultDevice('webgpu');
  let seed = 1;
  let parameters = 0;
  const matrix = (...shape) => {
    parameters += shape[0] * shape[1];
    return random.normal(random.key(seed++), shape).mul(0.02);
  };
  const scale = () => {
    parameters += C;
    return np.ones([C]);
  };
  let p = {
    wte: matrix(V, C),
    wpe: matrix(T, C),
    last: scale(),
    blocks: Array.from({ length: L }, () => ({
      n1: scale(),
      n2: scale(),
      wq: matrix(C, C),
      wk: matrix(C, C),
      wv: matrix(C, C),
      wo: matrix(C, C),
      w1: matrix(C, 4 * C),
      w2: matrix(4 * C, C),
    })),
  };

  // Every use of an array takes it up; `.ref` keeps it for another.
  const norm = (x, g) => nn.standardize(x, -1, { epsilon: 1e-5 }).mul(g);
  const lossOf = (p, ids, targets) => {
    let x = np
      .dot(nn.oneHot(ids.reshape([-1]), V), p.wte.ref)
      .reshape([-1, T, C])
      .add(p.wpe); // (B, T, C)
    for (const block of p.blocks) {
      const h = norm(x.ref, block.n1);
      const heads = (t) => t.reshape([-1, T, H, C / H]);
      const q = heads(np.dot(h.ref, block.wq));
      const k = heads(np.dot(h.ref, block.wk));
      const v = heads(np.dot(h, block.wv));
      const attended = nn.dotProductAttention(q, k, v, { isCausal: true }).reshape([-1, T, C]);
      x = x.add(np.dot(attended, block.wo));
      const m = norm(x.ref, block.n2);
      x = x.add(np.dot(nn.gelu(np.dot(m, block.w1)), block.w2));
    }
    const logits = np.dot(norm(x, p.last), np.transpose(p.wte)); // (B, T, V)
    return nn
      .logSoftmax(logits, -1)
      .mul(nn.oneHot(targets, V))
      .sum()
      .mul(-1 / (B * T));
  };
  const update = jit((p, m, v, ids, targets, lr, c1, c2) => {
    const [value, g] = valueAndGrad(lossOf)(tree.ref(p), ids, targets);
    const mean = tree.map((a, b) => a.mul(BETA1).add(b.mul(1 - BETA1)), m, tree.ref(g));
    const square = tree.map((a, b) => a.mul(BETA2).add(np.square(b).mul(1 - BETA2)), v, g);
    const next = tree.map(
      (w, a, b) =>
        w.ref
          .sub(
            a
              .div(c1.ref)
              .div(np.sqrt(b.div(c2.ref)).add(1e-8))
              .mul(lr.ref),
          )
          .sub(w.mul(lr.ref.mul(DECAY))),
      p,
      tree.ref(mean),
      tree.ref(square),
    );
    for (const scalar of [lr, c1, c2]) scalar.dispose?.();
    return [value, next, mean, square];
  });

  const zeros = () => tree.map((a) => np.zeros(a.shape), tree.ref(p));
  let m = zeros();
  let v = zeros();
  let steps = 0;
  return {
    parameters,
    async step(tokens, targets) {
      steps++;
      const ids = (values) => np.array(values, { dtype: np.int32 }).reshape([B, T]);
      const corrections = [BETA1, BETA2].map((beta) => np.array(1 - beta ** steps));
      let value;
      [value, p, m, v] = update(p, m, v, ids(tokens), ids(targets), np.array(1e-3), ...corrections);
      return value.jsAsync();
    },
  };
});
