/**
 * Token loss: linear head + log-softmax + gather + entropy. The logits of the whole batch never exist: rows go
 * through in chunks, and the backward pass makes each chunk's logits again.
 */
import { defineOp } from '../../op.ts';
import { type Tensor, tf } from '../../tfjs.ts';
import { linearInputGradOp, linearOp, linearWeightGradOp } from '../linear/linear.ts';
import { logitLossGradReference, logitLossReference } from './logit-loss.reference.ts';
import { logitLossGradWgsl, logitLossWgsl } from './logit-loss.wgsl.ts';

/** Most logits that exist at once: 4 M floats, 16 MB. */
const CHUNK_LOGITS = 1 << 22;

/** [logits [N, V], targets int32 [N]], {temperature} → [logp [N], entropy [N], lse [N]] */
export const logitLossOp = defineOp<{ temperature: number }>({
  name: 'logit-loss',
  outputs: ([, targets]) =>
    Array.from({ length: 3 }, () => ({ shape: targets.shape, dtype: 'float32' as const })),
  reference: (inputs, outputs, { temperature }, shapes) =>
    logitLossReference(inputs, outputs, shapes[0][1], temperature),
  wgsl: logitLossWgsl,
});

/** [logits [N, V], targets, lse, entropy, dlogp, dentropy (each [N])], {temperature} → [dlogits [N, V]] */
export const logitLossGradOp = defineOp<{ temperature: number }>({
  name: 'logit-loss-grad',
  outputs: ([logits]) => [{ shape: logits.shape, dtype: 'float32' }],
  reference: (inputs, outputs, { temperature }, shapes) =>
    logitLossGradReference(inputs, outputs, shapes[0][1], temperature),
  wgsl: logitLossGradWgsl,
});

interface Attributes {
  temperature: number;
  /** Rows per chunk. */
  chunk: number;
}

/** Calls `visit` with the first row and the number of rows of every chunk. */
function forChunks(N: number, chunk: number, visit: (start: number, rows: number) => void): void {
  for (let start = 0; start < N; start += chunk) visit(start, Math.min(chunk, N - start));
}

function rowsOf(x: Tensor, start: number, rows: number): Tensor {
  if (rows === x.shape[0]) return x;
  return x.rank === 1
    ? tf.slice1d(x as tf.Tensor1D, start, rows)
    : tf.slice2d(x as tf.Tensor2D, [start, 0], [rows, x.shape[1]!]);
}

function forward([x, w, targets]: Tensor[], { temperature, chunk }: Attributes): Tensor[] {
  const parts: Tensor[][] = [];
  forChunks(x.shape[0], chunk, (start, rows) => {
    const logits = linearOp([rowsOf(x, start, rows), w], {})[0]; // (rows, V)
    parts.push(logitLossOp([logits, rowsOf(targets, start, rows)], { temperature }));
    logits.dispose();
  });
  if (parts.length === 1) return parts[0];
  return [0, 1, 2].map((i) => tf.concat(parts.map((part) => part[i])));
}

function backward(
  [x, w, targets, lse, entropy, dlogp, dentropy]: Tensor[],
  { temperature, chunk }: Attributes,
): Tensor[] {
  const dx: Tensor[] = [];
  let dw: Tensor | null = null;
  forChunks(x.shape[0], chunk, (start, rows) => {
    const xs = rowsOf(x, start, rows);
    const logits = linearOp([xs, w], {})[0]; // (rows, V)
    const cut = [targets, lse, entropy, dlogp, dentropy].map((t) => rowsOf(t, start, rows));
    const dlogits = logitLossGradOp([logits, ...cut], { temperature })[0]; // (rows, V)
    logits.dispose();
    dx.push(linearInputGradOp([dlogits, w], {})[0]);
    const part: Tensor = linearWeightGradOp([dlogits, xs], {})[0];
    dlogits.dispose();
    dw = dw ? tf.add(dw, part) : part;
  });
  return [dx.length === 1 ? dx[0] : tf.concat(dx), dw!];
}

const outputSpecs = (N: number) =>
  Array.from({ length: 3 }, () => ({ shape: [N], dtype: 'float32' as const }));

function notPlain(): never {
  throw new Error('Internal error: token-loss is composed on every backend');
}

const tokenLossGradOp = defineOp<Attributes>({
  name: 'token-loss-grad',
  outputs: ([x, w]) => [
    { shape: x.shape, dtype: 'float32' },
    { shape: w.shape, dtype: 'float32' },
  ],
  reference: notPlain,
  composedCpu: backward,
  composedWasm: backward,
  composedWebgpu: backward,
});

/** [x [N, C], w [V, C], targets int32 [N]] → [logp [N], entropy [N], lse [N]] */
export const tokenLossOp = defineOp<Attributes>({
  name: 'token-loss',
  outputs: ([x]) => outputSpecs(x.shape[0]),
  reference: notPlain,
  composedCpu: forward,
  composedWasm: forward,
  composedWebgpu: forward,
  gradient: ([dlogp, dentropy], [x, w, targets], [, entropy, lse], attributes) => {
    const [dx, dw] = tokenLossGradOp([x, w, targets, lse, entropy, dlogp, dentropy], attributes);
    return [dx, dw, null];
  },
});

/**
 * Log-prob of each target and entropy of its distribution, of softmax(x·wᵀ / temperature).
 * @param x (N, C) hidden states after the final norm
 * @param w (V, C) head
 * @param targets int32 (N), −1 where there is none (its log-prob is then 0)
 */
export function tokenLoss(
  x: Tensor,
  w: Tensor,
  targets: Tensor,
  temperature = 1,
  chunk = Math.max(1, Math.floor(CHUNK_LOGITS / w.shape[0])),
): { logp: Tensor; entropy: Tensor } {
  const [logp, entropy] = tokenLossOp([x, w, targets], { temperature, chunk });
  return { logp, entropy };
}
