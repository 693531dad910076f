/**
 * The fork/join state machine of rollouts between two decode steps, on the device: takes what was sampled, lets every
 * row go on, gives finished rows the next request, and lists the tokens of the next decode step. The machine is that of
 * rollout/row.ts, token for token; what the ints mean stands in rollout-step.layout.ts.
 */
import { assert } from '../../../../base/assert.ts';
import { defineOp, type TensorSpec } from '../../op.ts';
import { laneStride, PLANES, QUEUE_INTS, RECORD_INTS, ROW_INTS } from './rollout-step.layout.ts';
import { rolloutStepReference } from './rollout-step.reference.ts';
import { rolloutStepWgsl } from './rollout-step.wgsl.ts';

/** R rows, Q requests, W tokens a row and step, cache slots a row, ints from plane to plane of the lane table. */
export function rolloutStepShape([, rows, queue, records, , lanes, ids]: readonly {
  shape: readonly number[];
}[]) {
  const R = rows.shape[0];
  const Q = queue.shape[0] - 1;
  const W = ids.shape[0] / R;
  const [, slots] = records.shape;
  const stride = lanes.shape[1];
  assert(
    rows.shape[1] === ROW_INTS &&
      queue.shape[1] === QUEUE_INTS &&
      records.shape[0] === Q &&
      records.shape[2] === RECORD_INTS &&
      Number.isInteger(W) &&
      lanes.shape[0] === PLANES.length &&
      stride === laneStride(R * W),
    'rollout-step: shapes do not fit',
  );
  return { R, Q, W, slots, stride };
}

/**
 * [settings int32 [S], rows int32 [R, ROW_INTS], queue int32 [1 + Q, QUEUE_INTS], records int32 [Q, slots, 4],
 * logps [Q, slots], lanes int32 [7, stride], ids int32 [R·W], logp [R·W]] → nothing: rows, queue, records, logps and
 * lanes change in place. `ids` and `logp` are the samples of the lanes as the last call listed them; those of idle lanes
 * and of lanes that ask for none are ignored. The first call, on the arrays of `rolloutArrays`, only loads requests.
 *
 * Live lanes come first, row by row and in the order of their slots. Idle lanes have slot −1 and ban nothing.
 */
export const rolloutStepOp = defineOp<object>({
  name: 'rollout-step',
  outputs: () => [],
  reference: (inputs, _, __, shapes) =>
    rolloutStepReference(inputs, rolloutStepShape(shapes.map((shape) => ({ shape })))),
  wgsl: (inputs: readonly TensorSpec[]) => rolloutStepWgsl(rolloutStepShape(inputs)),
});
