import { Rng } from '../../../../base/rng.ts';
import { f32, type OpCase } from '../../testing.ts';

/** Ratios inside and outside both clips, log-ratios beyond the limit, tokens outside the mask, more than one a thread. */
export function tokenObjectiveCases(): OpCase<object>[] {
  return [
    { name: 'cross-entropy', N: 70, settings: [0, 31, 0, 0, 0] },
    { name: 'cross-entropy of one token', N: 1, settings: [0, 1, 0, 0, 0] },
    { name: 'surrogate with dual clip', N: 201, settings: [1, 140, 0.2, 0.28, 3] },
    { name: 'surrogate', N: 65, settings: [1, 40, 0.2, 0.2, 0, 0.01] },
  ].map(({ name, N, settings }) => {
    const rng = new Rng(18, N);
    const old = f32(
      [N],
      Array.from({ length: N }, () => -3 * rng.next()),
    );
    const logp = f32(
      [N],
      Array.from(old.values, (value, n) => value + (n === 7 ? -25 : n % 3 === 0 ? 0 : 0.6 * rng.normal())),
    );
    const info = Array.from(old.values, (value, n) => [
      value,
      rng.normal(),
      n > 0 && rng.next() < 0.3 ? 0 : 1,
      99, // unused
    ]).flat();
    const entropy = f32(
      [N],
      Array.from({ length: N }, () => rng.next()),
    );
    const sums = [0.5, 1, 2, 3, 4, 5, 6, 0.01];
    return {
      name,
      inputs: [
        logp,
        entropy,
        f32([N, 4], info),
        f32(
          [8],
          Array.from({ length: 8 }, (_, i) => settings[i] ?? 0),
        ),
        f32([8], sums),
      ],
      attributes: {},
    };
  });
}
