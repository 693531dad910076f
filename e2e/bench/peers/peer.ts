/** What every peer's page offers to the bench: the same tokens, the same clock, the loss read after each step. */
import type { BenchShape } from '../report.ts';

export interface Trainer {
  parameters: number;
  /** One step on N = B·T tokens and what follows each; resolves to the loss before the update. */
  step(tokens: Int32Array, targets: Int32Array): Promise<number>;
  /** Tensors that exist, where the library tells. */
  tensors?(): number;
}

export interface Steps {
  losses: number[];
  /** Wall-clock milliseconds of each. */
  ms: number[];
}

/** Tokens of a step (0-based): each is its row's last plus 7, so there is something to learn. */
export function tokensOf(
  { batch, length, vocab }: BenchShape,
  step: number,
): Record<'tokens' | 'targets', Int32Array> {
  const ids = (shift: number) =>
    Int32Array.from({ length: batch * length }, (_, j) => ((j + shift) * 7 + step) % vocab);
  return { tokens: ids(0), targets: ids(1) };
}

/** Sets `globalThis.bench`, which the bench calls from outside. */
export function offer(make: (shape: BenchShape) => Promise<Trainer>): void {
  let trainer: Trainer;
  let shape: BenchShape;
  let done = 0;
  const bench = {
    async setup(wanted: BenchShape): Promise<number> {
      shape = wanted;
      trainer = await make(shape);
      return trainer.parameters;
    },
    async steps(count: number): Promise<Steps> {
      const losses: number[] = [];
      const ms: number[] = [];
      for (let i = 0; i < count; i++) {
        const { tokens, targets } = tokensOf(shape, done++);
        const started = performance.now();
        losses.push(await trainer.step(tokens, targets));
        ms.push(performance.now() - started);
      }
      return { losses, ms };
    },
    tensors: () => trainer.tensors?.() ?? null,
  };
  Object.assign(globalThis, { bench });
}
