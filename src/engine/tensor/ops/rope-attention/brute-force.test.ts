/** The attention reference against a second truth that is written another way: a full T × T mask, plain softmax. */
import { expect, test } from 'vitest';
import { expectClose } from '../../testing.ts';
import { PADDING_SEGMENT } from './attend.reference.ts';
import { ropeAttentionCases } from './rope-attention.cases.ts';
import { ropeAttentionReference } from './rope-attention.reference.ts';

test.each(ropeAttentionCases())('$name', ({ inputs, attributes }) => {
  const { B, T, H, Hkv, D } = attributes;
  const [q, k, v, cos, sin, positions, branches] = inputs.map(({ values }) => values);
  const out = new Float32Array(B * T * H * D);
  const lse = new Float32Array(B * T * H);
  ropeAttentionReference([q, k, v, cos, sin, positions, branches], [out, lse], attributes);
  const rotated = (x: ArrayLike<number>, heads: number, n: number, h: number): number[] =>
    Array.from({ length: D }, (_, d) => {
      const half = D / 2;
      const at = (i: number) => x[(n * heads + h) * D + i];
      const angle = positions[n] * half + (d % half);
      return at(d) * cos[angle] + (d < half ? -at(d + half) : at(d - half)) * sin[angle];
    });
  const parts = (code: number) => ({ example: code >> 16, block: (code >> 4) & 0xfff, path: code & 15 });
  const sees = (i: number, j: number): boolean => {
    const [a, b] = [parts(branches[i]), parts(branches[j])];
    if (j > i || a.example !== b.example) return false;
    return !(a.block > 0 && a.block === b.block && a.path !== b.path);
  };
  let checked = 0;
  for (let i = 0; i < B * T; i++) {
    if (parts(branches[i]).example === PADDING_SEGMENT) {
      expect(Array.from(out.slice(i * H * D, (i + 1) * H * D))).toEqual(Array(H * D).fill(0));
      continue;
    }
    const row = Math.floor(i / T) * T;
    for (let h = 0; h < H; h++) {
      const kvHead = Math.floor(h / (H / Hkv));
      const query = rotated(q, H, i, h);
      const keys = Array.from({ length: T }, (_, t) => row + t).filter((j) => sees(i, j));
      const scores = keys.map(
        (j) => rotated(k, Hkv, j, kvHead).reduce((s, x, d) => s + x * query[d], 0) / Math.sqrt(D),
      );
      const total = scores.reduce((s, x) => s + Math.exp(x), 0);
      const expected = Array.from({ length: D }, (_, d) =>
        keys.reduce((s, j, n) => s + (Math.exp(scores[n]) / total) * v[(j * Hkv + kvHead) * D + d], 0),
      );
      const tolerance = { atol: 2e-5, rtol: 1e-4, why: 'float32 against doubles' };
      expectClose(
        out.slice((i * H + h) * D, (i * H + h + 1) * D),
        expected,
        tolerance,
        `token ${i}, head ${h}`,
      );
      expectClose([lse[i * H + h]], [Math.log(total)], tolerance, `lse of token ${i}`);
      checked++;
    }
  }
  expect(checked).toBeGreaterThan(0);
});
