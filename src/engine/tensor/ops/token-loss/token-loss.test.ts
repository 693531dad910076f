import { beforeAll, describe, expect, test } from 'vitest';
import { Rng } from '../../../../base/rng.ts';
import { openBackend } from '../../device.ts';
import { expectGradient } from '../../differences.ts';
import { expectClose, i32, normals } from '../../testing.ts';
import { tf } from '../../tfjs.ts';
import { tokenLoss, tokenLossOp } from './token-loss.ts';

const [N, C, V] = [11, 6, 9];
const rng = new Rng(8);
const targets = i32(
  [N],
  Array.from({ length: N }, (_, n) => (n % 4 === 3 ? -1 : rng.int(V))),
);
const inputs = [normals(rng, [N, C]), normals(rng, [V, C]), targets];

describe.each(['cpu', 'wasm'] as const)('token-loss on %s', (backend) => {
  beforeAll(async () => {
    await openBackend(backend);
  });

  test.each([1, 3, 11, 100])('chunks of %i rows: gradients of log-prob and entropy', (chunk) =>
    expectGradient(
      tokenLossOp,
      { name: `chunk ${chunk}`, inputs, attributes: { temperature: 0.7, chunk } },
      { inputs: [0, 1], outputs: [0, 1], tolerance: 1e-2 },
    ),
  );

  test('chunks change nothing, and rows without a target have log-prob 0', async () => {
    const [x, w] = inputs.slice(0, 2).map(({ values, shape }) => tf.tensor(values.slice(), shape));
    const t = tf.tensor1d(targets.values as Int32Array, 'int32');
    const whole = tokenLoss(x, w, t, 0.7);
    const parts = tokenLoss(x, w, t, 0.7, 4);
    const tolerance = { atol: 1e-6, rtol: 1e-6, why: 'products of other heights may sum in another order' };
    for (const key of ['logp', 'entropy'] as const)
      expectClose(await parts[key].data(), await whole[key].data(), tolerance, key);
    const logp = await whole.logp.data();
    targets.values.forEach((target, n) => {
      if (target < 0) expect(logp[n]).toBe(0);
      else expect(logp[n]).toBeLessThan(0);
    });
    tf.dispose([x, w, t, ...Object.values(whole), ...Object.values(parts)]);
  });
});
