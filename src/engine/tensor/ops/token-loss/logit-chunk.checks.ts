import { expect, test } from 'vitest';
import {
  expectClose,
  expectOpMatches,
  f32,
  type HostTensor,
  runOp,
  runReference,
  type Tolerance,
} from '../../testing.ts';
import { logitChunkGradOp, logitChunkOp, logitFinishOp } from './logit-chunk.ts';
import { logitLossCases, logitLossGradCases } from './logit-loss.cases.ts';
import { logitLossGradOp, logitLossOp } from './token-loss.ts';

/** Columns from … to of a matrix. */
function columns({ shape: [N, V], values }: HostTensor, from: number, to: number): HostTensor {
  const rows = Array.from({ length: N }, (_, n) => [...values.subarray(n * V + from, n * V + to)]);
  return f32([N, to - from], rows.flat());
}

/** Three pieces of uneven sizes, or one where there is one column. */
function piecesOf(V: number): [from: number, to: number][] {
  const cuts = [...new Set([0, Math.ceil(V / 4), Math.ceil(V / 2), V])];
  return cuts.slice(1).map((to, i) => [cuts[i], to]);
}

/** One test body for every backend: piece by piece gives what all logits at once give. */
export function logitChunkTests(tolerance: Tolerance, gradTolerance: Tolerance): void {
  test.each(logitLossCases())(
    'loss in pieces, $name',
    async ({ name, inputs: [logits, targets], attributes }) => {
      const [N, V] = logits.shape;
      let state = f32([N, 4], new Float32Array(4 * N));
      for (const [from, to] of piecesOf(V)) {
        const inputs = [columns(logits, from, to), targets, state];
        const call = { name: `${name}, piece ${from}`, inputs, attributes: { ...attributes, firstId: from } };
        await expectOpMatches(logitChunkOp, call, tolerance);
        state = f32([N, 4], (await runOp(logitChunkOp, call)).inputs[2]);
      }
      const whole = runReference(logitLossOp, { name, inputs: [logits, targets], attributes });
      const actual = await runOp(logitFinishOp, { name, inputs: [state, targets], attributes: {} });
      expect(actual.outputs).toHaveLength(3);
      actual.outputs.forEach((values, i) => {
        expectClose(values, whole.outputs[i], tolerance, `output ${i}`);
      });
    },
  );

  test.each(logitLossGradCases())('gradient in pieces, $name', async ({ name, inputs, attributes }) => {
    const [logits, ...rest] = inputs;
    const [N, V] = logits.shape;
    const whole = runReference(logitLossGradOp, { name, inputs, attributes }).outputs[0];
    for (const [from, to] of piecesOf(V)) {
      const { inputs: after } = await runOp(logitChunkGradOp, {
        name,
        inputs: [columns(logits, from, to), ...rest],
        attributes: { ...attributes, firstId: from },
      });
      const expected = columns({ shape: [N, V], dtype: 'float32', values: whole }, from, to);
      expectClose(after[0], expected.values, gradTolerance, `piece ${from}`);
    }
  });
}
