import { beforeAll, describe, expect, test } from 'vitest';
import { openBackend } from '../../device.ts';
import { expectOpMatches, runReference } from '../../testing.ts';
import { sequenceRatioOp } from './sequence-ratio.ts';
import { sequenceRatioCases, tokenObjectiveCases } from './token-objective.cases.ts';
import { OBJECTIVE_SUMS_SIZE, tokenObjectiveOp } from './token-objective.ts';

const exact = { atol: 0, rtol: 0, why: 'the host kernel is the reference itself' };

describe.each(['cpu', 'wasm'] as const)('token-objective on %s', (backend) => {
  beforeAll(async () => {
    await openBackend(backend);
  });
  test.each(tokenObjectiveCases())('$name', (c) => expectOpMatches(tokenObjectiveOp, c, exact));
  test.each(sequenceRatioCases())('sequence ratio, $name', (c) => expectOpMatches(sequenceRatioOp, c, exact));
});

/** Cases in which the loss of a token is a function of its own log-prob, and CISPO's weight hardly moves. */
const own = tokenObjectiveCases().filter(({ inputs }) => inputs.length === 5 && inputs[3].values[0] !== 2);

test.each(own)('the gradient is that of the loss, $name', (c) => {
  const [logp] = c.inputs;
  const h = 1e-3;
  const { outputs } = runReference(tokenObjectiveOp, c);
  const lossAt = (n: number, shift: number) => {
    const values = Float32Array.from(logp.values);
    values[n] += shift;
    const inputs = [
      { ...logp, values },
      ...c.inputs.slice(1, 4),
      { ...c.inputs[4], values: new Float32Array(OBJECTIVE_SUMS_SIZE) },
    ];
    return runReference(tokenObjectiveOp, { ...c, inputs }).inputs[4][0];
  };
  let checked = 0;
  for (let n = 0; n < logp.values.length; n++) {
    const up = (lossAt(n, h) - lossAt(n, 0)) / h;
    const down = (lossAt(n, 0) - lossAt(n, -h)) / h;
    if (Math.abs(up - down) > 2e-3) continue; // a kink of the clip
    expect(outputs[0][n]).toBeCloseTo((up + down) / 2, 2);
    checked++;
  }
  expect(checked).toBeGreaterThan(0.9 * logp.values.length);
});

test('a row without a token that counts has ratio 1', () => {
  const [, rows] = sequenceRatioCases();
  const { outputs } = runReference(sequenceRatioOp, rows);
  expect(Array.from(outputs[0].subarray(23, 46))).toEqual(Array(23).fill(0));
  expect(new Set(outputs[0]).size).toBe(5);
});
