import { Rng } from '../../../../base/rng.ts';
import { f32, type OpCase } from '../../testing.ts';
import { OBJECTIVE_SIZE, OBJECTIVE_SUMS_SIZE } from './token-objective.ts';

/** [kind, total, ε_low, ε_high, dual clip, entropy bonus, β, cap]; what is left out is 0. */
const CASES: { name: string; N: number; settings: number[]; T?: number }[] = [
  { name: 'cross-entropy', N: 70, settings: [0, 31] },
  { name: 'cross-entropy of one token', N: 1, settings: [0, 1] },
  { name: 'surrogate with dual clip', N: 201, settings: [1, 140, 0.2, 0.28, 3] },
  { name: 'surrogate with entropy bonus', N: 65, settings: [1, 40, 0.2, 0.2, 0, 0.01] },
  { name: 'surrogate with KL and entropy bonus', N: 130, settings: [1, 77, 0.2, 0.28, 3, 0.02, 0.04] },
  { name: 'CISPO', N: 90, settings: [2, 50, 0, 0, 0, 0, 0, 1.5] },
  { name: 'CISPO with KL', N: 67, settings: [2, 50, 0, 0, 0, 0.01, 0.1, 5] },
  { name: 'surrogate of sequences', N: 7 * 19, T: 19, settings: [1, 7, 0.1, 0.15, 0] },
  {
    name: 'surrogate of long sequences with KL',
    N: 3 * 80,
    T: 80,
    settings: [1, 3, 0.05, 0.08, 3, 0.01, 0.04],
  },
];

/** Ratios inside and outside all clips, log-ratios beyond the limit, tokens that do not count, more than one a thread. */
export function tokenObjectiveCases(): OpCase<object>[] {
  return CASES.map(({ name, N, settings, T }) => {
    const rng = new Rng(18, N);
    const list = (of: (n: number) => number) => Array.from({ length: N }, (_, n) => of(n));
    const old = f32(
      [N],
      list(() => -3 * rng.next()),
    ).values;
    const logp = list((n) => old[n] + (n === 7 ? -25 : n % 3 === 0 ? 0 : 0.6 * rng.normal()));
    // Tokens of a sequence share advantage and weight.
    const row = (n: number) => (T ? Math.floor(n / T) : n);
    const advantages = list(() => rng.normal());
    const info = list((n) => n).flatMap((n) => {
      const counts = n === 0 || rng.next() > 0.3;
      const weight = T ? 1 / (2 + (row(n) % 4)) : 1;
      const ahead = n === 11 ? (settings[0] === 2 ? 30 : -30) : n % 5 === 0 ? 0 : 0.5 * rng.normal();
      const reference = logp[n] + ahead;
      return [old[n], advantages[row(n)], counts ? weight : 0, reference];
    });
    const logRatios = list((n) => 0.15 * Math.sin(row(n)) + (row(n) === 2 ? -21 : 0));
    return {
      name,
      inputs: [
        f32([N], logp),
        f32(
          [N],
          list(() => rng.next()),
        ),
        f32([N, 4], info),
        f32(
          [OBJECTIVE_SIZE],
          Array.from({ length: OBJECTIVE_SIZE }, (_, i) => settings[i] ?? 0),
        ),
        f32([OBJECTIVE_SUMS_SIZE], [0.5, 1, 2, 3, 4, 5, 6, 0.01, 7]),
        ...(T ? [f32([N], logRatios)] : []),
      ],
      attributes: {},
    };
  });
}

/** Rows shorter and longer than a workgroup, one of them without a token that counts. */
export function sequenceRatioCases(): OpCase<{ T: number }>[] {
  return [
    { name: 'one slot', B: 1, T: 1 },
    { name: 'short rows', B: 5, T: 23 },
    { name: 'long rows', B: 3, T: 150 },
  ].map(({ name, B, T }) => {
    const N = B * T;
    const rng = new Rng(19, N);
    const old = Array.from({ length: N }, () => -3 * rng.next());
    const logp = old.map((value) => value + 0.4 * rng.normal());
    const info = old.flatMap((value, n) => [
      value,
      rng.normal(),
      n >= T && n < 2 * T ? 0 : rng.next() < 0.3 ? 0 : 0.25,
      99, // not read
    ]);
    return { name, inputs: [f32([N], logp), f32([N, 4], info)], attributes: { T } };
  });
}
