/**
 * A captured step: dispatches that are worked out once for given shapes and then replayed. The builder knows no device.
 * It calls ops by their WGSL forms, notes which values each dispatch touches, and lays temporaries out so that values
 * which are never alive together share memory; so memory and dispatches of a step can be told (and tested) without a
 * GPU. `plan-device.ts` turns a plan into pipelines and bind groups.
 */
import { assert } from '../../base/assert.ts';
import type { Slice } from './arena.ts';
import type { DeviceBuffer } from './device-buffer.ts';
import type { Op, TensorSpec, WgslPass } from './op.ts';

/** A tensor inside a plan: a temporary of the plan, or a piece of a buffer that someone else owns. */
export interface Value extends TensorSpec {
  readonly id: number;
  readonly bound: { buffer: DeviceBuffer; offset: number } | null;
}

export interface PlannedDispatch {
  pass: WgslPass;
  /** One a binding. */
  values: Value[];
}

const bytesOf = ({ shape }: { shape: readonly number[] }) => 4 * shape.reduce((a, b) => a * b, 1);

export class PlanBuilder {
  private readonly recorded: PlannedDispatch[] = [];
  private readonly kept = new Set<Value>();
  private values = 0;

  /** A temporary of the plan. Its contents are undefined until a dispatch writes it. */
  temporary(shape: readonly number[], dtype: TensorSpec['dtype'] = 'float32'): Value {
    return { id: this.values++, shape: [...shape], dtype, bound: null };
  }

  /** All or part of a buffer that outlives the plan. */
  bind(
    buffer: DeviceBuffer,
    shape: readonly number[],
    dtype: TensorSpec['dtype'] = 'float32',
    offset = 0,
  ): Value {
    assert(offset + bytesOf({ shape }) <= buffer.bytes, `${buffer.label} is too small for [${shape}]`);
    return { id: this.values++, shape: [...shape], dtype, bound: { buffer, offset } };
  }

  slice({ buffer, offset, shape }: Slice): Value {
    return this.bind(buffer, shape, 'float32', offset);
  }

  /** A temporary that no other may share memory with after its first use, so that it can be read back. */
  keep(value: Value): Value {
    this.kept.add(value);
    return value;
  }

  /** The same memory under another shape. */
  reshape(value: Value, shape: readonly number[]): Value {
    assert(bytesOf(value) === bytesOf({ shape }), `cannot see [${value.shape}] as [${shape}]`);
    return { ...value, shape: [...shape] };
  }

  /** The dispatches of one op; returns its outputs as temporaries. Ops that work in place write their inputs. */
  call<A>(op: Op<A>, inputs: readonly Value[], attributes: A): Value[] {
    const outputs = op.spec
      .outputs(inputs, attributes)
      .map(({ shape, dtype }) => this.temporary(shape, dtype));
    this.callInto(op, inputs, attributes, outputs);
    return outputs;
  }

  /** The same, with outputs that are there already. */
  callInto<A>(op: Op<A>, inputs: readonly Value[], attributes: A, outputs: readonly Value[]): void {
    const { spec } = op;
    assert(spec.wgsl, `op ${spec.name} has no WGSL form, so it cannot be part of a captured step`);
    const outputSpecs = spec.outputs(inputs, attributes);
    outputSpecs.forEach((output, i) => {
      assert(bytesOf(output) === bytesOf(outputs[i]), `output ${i} of ${spec.name} has another size`);
    });
    const plan = spec.wgsl(inputs, outputSpecs, attributes);
    const scratch = (plan.scratch ?? []).map(({ shape, dtype }) => this.temporary(shape, dtype));
    for (const pass of plan.passes) {
      if (pass.workgroups.includes(0)) continue;
      const values = pass.bindings.map(({ arg }) =>
        'input' in arg ? inputs[arg.input] : 'output' in arg ? outputs[arg.output] : scratch[arg.scratch],
      );
      for (const [i, value] of values.entries())
        assert(value, `binding ${pass.bindings[i].name} of pass ${pass.name} has no value`);
      this.recorded.push({ pass, values });
    }
  }

  /** The dispatches that matter: those that write what outlives the plan, or what such a dispatch needs. */
  get dispatches(): PlannedDispatch[] {
    const needed = new Set<number>([...this.kept].map(({ id }) => id));
    const live: PlannedDispatch[] = [];
    for (const dispatch of this.recorded.toReversed()) {
      const { pass, values } = dispatch;
      const matters = values.some(
        (value, i) => pass.bindings[i].access === 'read_write' && (value.bound || needed.has(value.id)),
      );
      if (!matters) continue;
      for (const value of values) if (!value.bound) needed.add(value.id);
      live.push(dispatch);
    }
    return live.reverse();
  }

  /** Which piece of memory each temporary gets. */
  layout(): TemporaryLayout {
    return layoutTemporaries(this.dispatches, new Set([...this.kept].map(({ id }) => id)));
  }
}

export interface TemporaryLayout {
  /** Bytes of each piece, largest first. */
  sizes: number[];
  /** Piece of each temporary, by its id. */
  pieceOf: Map<number, number>;
  bytes: number;
}

/**
 * Greedy, in the order of dispatches: a temporary takes the smallest free piece that holds it, or else makes the largest
 * free one grow, or else a new one; its piece is free again after the last dispatch that touches it.
 */
function layoutTemporaries(
  dispatches: readonly PlannedDispatch[],
  kept: ReadonlySet<number>,
): TemporaryLayout {
  const last = new Map<number, number>();
  dispatches.forEach(({ values }, i) => {
    for (const value of values) if (!value.bound) last.set(value.id, kept.has(value.id) ? Infinity : i);
  });
  const sizes: number[] = [];
  const free = new Set<number>();
  const pieceOf = new Map<number, number>();
  dispatches.forEach(({ values }, i) => {
    for (const value of values) {
      if (value.bound || pieceOf.has(value.id)) continue;
      const bytes = bytesOf(value);
      let best = -1;
      for (const piece of free) {
        if (best < 0) best = piece;
        else if (
          sizes[piece] >= bytes
            ? sizes[best] < bytes || sizes[piece] < sizes[best]
            : sizes[piece] > sizes[best]
        )
          best = piece;
      }
      if (best < 0) best = sizes.push(0) - 1;
      free.delete(best);
      sizes[best] = Math.max(sizes[best], bytes);
      pieceOf.set(value.id, best);
    }
    for (const value of values)
      if (!value.bound && last.get(value.id) === i) free.add(pieceOf.get(value.id)!);
  });
  const order = sizes.map((_, piece) => piece).sort((a, b) => sizes[b] - sizes[a]);
  const rank = new Map(order.map((piece, i) => [piece, i]));
  for (const [id, piece] of pieceOf) pieceOf.set(id, rank.get(piece)!);
  const sorted = order.map((piece) => sizes[piece]);
  return { sizes: sorted, pieceOf, bytes: sorted.reduce((a, b) => a + b, 0) };
}
