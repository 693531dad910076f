/**
 * How an op of ours becomes a tfjs kernel: one specification with a slow truth (plain loops over host arrays, used on
 * `cpu` and `wasm`), an optional faster `wasm` form made of tfjs kernels, a WGSL form on `webgpu`, and a gradient.
 * tfjs sees kernels `polypath/<name>` with an array of inputs; its tape does the rest.
 */
import { assert } from '../../base/assert.ts';
import {
  type DType,
  type HostArray,
  hostAllocate,
  hostViews,
  type Tensor,
  type TensorInfo,
  tf,
} from './tfjs.ts';

export interface TensorSpec {
  shape: number[];
  dtype: DType;
}

/** What a binding of a WGSL pass is bound to. */
export type Argument = { input: number } | { output: number } | { scratch: number };

/**
 * One dispatch. `constants` become WGSL `const` declarations *and* the shader key, so that no number can be in the
 * source and missing from the key (a trap of tfjs: its key does not include shapes).
 */
export interface WgslPass {
  name: string;
  constants: Readonly<Record<string, number>>;
  bindings: readonly {
    name: string;
    arg: Argument;
    /** Element type of the runtime-sized array, e.g. 'f32', 'i32', 'vec4<f32>'. */
    type: string;
    access: 'read' | 'read_write';
  }[];
  /** Values that may change from call to call without a new pipeline, as fields of the struct `u`. */
  uniforms: readonly { name: string; type: 'u32' | 'i32' | 'f32'; value: number }[];
  /** WGSL functions; must hold the entry point `main` with its @compute and @workgroup_size attributes. */
  body: string;
  workgroups: readonly [number, number, number];
}

export interface OpSpec<Attributes> {
  name: string;
  outputs(inputs: readonly TensorSpec[], attributes: Attributes): TensorSpec[];
  /** The slow truth. Outputs arrive zeroed. An op that works in place writes its inputs. */
  reference(
    inputs: readonly HostArray[],
    outputs: readonly HostArray[],
    attributes: Attributes,
    shapes: readonly (readonly number[])[],
  ): void;
  /** Form on cpu made of other ops, for ops that have no loop of their own. */
  composedCpu?(inputs: Tensor[], attributes: Attributes): Tensor[];
  /** Faster form on wasm, made of tfjs ops (run outside the tape). */
  composedWasm?(inputs: Tensor[], attributes: Attributes): Tensor[];
  /** Form on webgpu made of tfjs ops, for ops without a WGSL kernel of ours. */
  composedWebgpu?(inputs: Tensor[], attributes: Attributes): Tensor[];
  /** WGSL passes, run in order; `scratch` lists temporary buffers. */
  wgsl?(
    inputs: readonly TensorSpec[],
    outputs: readonly TensorSpec[],
    attributes: Attributes,
  ): { passes: WgslPass[]; scratch?: TensorSpec[] };
  /** Gradients of the inputs, given those of the outputs; null where none is wanted (integers, say). */
  gradient?(
    dys: Tensor[],
    inputs: Tensor[],
    outputs: Tensor[],
    attributes: Attributes,
  ): (Tensor | (() => Tensor) | null)[];
}

export type Op<Attributes> = ((inputs: Tensor[], attributes: Attributes) => Tensor[]) & {
  spec: OpSpec<Attributes>;
};

/** Runs WGSL passes on the WebGPU backend; set by device.ts so that Node never loads WebGPU code. */
export type WgslRunner = (
  backend: unknown,
  inputs: TensorInfo[],
  outputs: TensorSpec[],
  plan: { passes: WgslPass[]; scratch?: TensorSpec[] },
) => TensorInfo[];
let wgslRunner: WgslRunner | null = null;
export function setWgslRunner(runner: WgslRunner): void {
  wgslRunner = runner;
}

type KernelArguments = { inputs: Record<string, TensorInfo>; backend: unknown; attrs: { a: unknown } };

const specOf = (info: TensorInfo): TensorSpec => ({ shape: info.shape, dtype: info.dtype as DType });

/**
 * Runs a form made of tfjs ops inside a kernel. The engine passes the caller's Tensors as inputs and keeps the tape
 * off inside kernels, and it takes Tensors for outputs as well as TensorInfo, so nothing has to be converted.
 */
function composed<A>(
  form: (inputs: Tensor[], attributes: A) => Tensor[],
  infos: TensorInfo[],
  attributes: A,
): TensorInfo[] {
  return tf.tidy(() => form(infos as Tensor[], attributes));
}

/** Registers the op on every backend and returns the function that calls it. */
export function defineOp<Attributes>(spec: OpSpec<Attributes>): Op<Attributes> {
  const kernelName = `polypath/${spec.name}`;

  const host =
    (name: 'cpu' | 'wasm') =>
    ({ inputs, backend, attrs }: KernelArguments): TensorInfo[] => {
      const infos = Object.values(inputs);
      const attributes = attrs.a as Attributes;
      const form = name === 'wasm' ? spec.composedWasm : spec.composedCpu;
      if (form) return composed(form, infos, attributes);
      const outputs = spec
        .outputs(infos.map(specOf), attributes)
        .map(({ shape, dtype }) => hostAllocate(backend, name, shape, dtype));
      const outputViews = hostViews(backend, name, outputs);
      for (const view of outputViews) view.fill(0);
      spec.reference(
        hostViews(backend, name, infos),
        outputViews,
        attributes,
        infos.map((info) => info.shape),
      );
      return outputs;
    };

  const webgpu = ({ inputs, backend, attrs }: KernelArguments): TensorInfo[] => {
    const infos = Object.values(inputs);
    const attributes = attrs.a as Attributes;
    if (!spec.wgsl) {
      assert(spec.composedWebgpu, `op ${spec.name} has no WebGPU form`);
      return composed(spec.composedWebgpu, infos, attributes);
    }
    assert(wgslRunner, 'the WebGPU backend is not set up');
    const inputSpecs = infos.map(specOf);
    const outputSpecs = spec.outputs(inputSpecs, attributes);
    return wgslRunner(backend, infos, outputSpecs, spec.wgsl(inputSpecs, outputSpecs, attributes));
  };

  for (const [backendName, kernelFunc] of [
    ['cpu', host('cpu')],
    ['wasm', host('wasm')],
    ['webgpu', webgpu],
  ] as const) {
    tf.registerKernel({ kernelName, backendName, kernelFunc: kernelFunc as unknown as tf.KernelFunc });
  }

  const gradient = spec.gradient;
  if (gradient) {
    tf.registerGradient({
      kernelName,
      saveAllInputs: true,
      // Outputs are few and most backward passes want them.
      outputsToSave: Array.from({ length: 8 }, () => true),
      gradFunc: (dy, saved, attrs) => {
        const count = (attrs as unknown as { count: number }).count;
        const inputs = (saved as Tensor[]).slice(0, count);
        const outputs = (saved as Tensor[]).slice(count);
        const dys = Array.isArray(dy) ? dy : [dy];
        const results = gradient(dys, inputs, outputs, (attrs as unknown as { a: Attributes }).a);
        return Object.fromEntries(
          results.map((result, i) => [
            String(i),
            () => {
              assert(result, `op ${spec.name} has no gradient for input ${i}`);
              // tfjs disposes what the closure made inside its tidy unless it is the result itself: hand out a clone.
              return typeof result === 'function' ? result() : result.clone();
            },
          ]),
        );
      },
    });
  }

  const op = ((inputs: Tensor[], attributes: Attributes) => {
    const outputs = tf
      .engine()
      .runKernel(
        kernelName,
        inputs as unknown as tf.NamedTensorMap,
        { a: attributes, count: inputs.length } as unknown as tf.NamedAttrMap,
      ) as Tensor | Tensor[];
    return Array.isArray(outputs) ? outputs : [outputs];
  }) as Op<Attributes>;
  op.spec = spec;
  return op;
}
