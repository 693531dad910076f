import { Rng } from '../../../../base/rng.ts';
import { f32, i32, normals, type OpCase } from '../../testing.ts';
import { logitLossReference } from './logit-loss.reference.ts';

const SIZES = [
  { N: 1, V: 1, temperature: 1, scale: 1 },
  { N: 5, V: 64, temperature: 1, scale: 3 },
  { N: 9, V: 131, temperature: 0.7, scale: 3 },
  { N: 3, V: 1000, temperature: 1.5, scale: 8 },
  // Far from zero: the log-sum-exp must not overflow.
  { N: 2, V: 7, temperature: 1, scale: 200 },
];

export function logitLossCases(): OpCase<{ temperature: number }>[] {
  return SIZES.map(({ N, V, temperature, scale }) => {
    const rng = new Rng(11, N, V);
    return {
      name: `N=${N} V=${V} temperature ${temperature}, logits of size ${scale}`,
      inputs: [
        normals(rng, [N, V], scale),
        i32(
          [N],
          Array.from({ length: N }, (_, n) => (n % 4 === 3 ? -1 : rng.int(V))),
        ),
      ],
      attributes: { temperature },
    };
  });
}

/** The same, with `lse` and `entropy` of the reference; some rows have no gradient for one or both outputs. */
export function logitLossGradCases(): OpCase<{ temperature: number }>[] {
  return logitLossCases().map(({ name, inputs: [logits, targets], attributes }) => {
    const [N, V] = logits.shape;
    const [logp, entropy, lse] = [0, 1, 2].map(() => f32([N], new Float32Array(N)));
    logitLossReference(
      [logits.values, targets.values],
      [logp.values, entropy.values, lse.values],
      V,
      attributes.temperature,
    );
    const dlogp = normals(new Rng(12, N, V), [N]);
    const dentropy = normals(new Rng(13, N, V), [N]);
    if (N > 2) dentropy.values[1] = dlogp.values[2] = 0;
    return { name, attributes, inputs: [logits, targets, lse, entropy, dlogp, dentropy] };
  });
}
