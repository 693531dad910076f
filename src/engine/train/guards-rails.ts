/**
 * What keeps one stage on its rails: promotion and guards, copies of its state in memory, and the way back to one.
 * `run.ts` asks after each step what to do. A copy is a save (`SavedRun`), so going back is what resuming is: weights,
 * moments and step counts are restored exactly, and random numbers hang on the step alone.
 */
import { assert } from '../../base/assert.ts';
import { tensorShapes } from '../model/config.ts';
import type { Decoder, WeightArray } from '../model/decoder.ts';
import { readFloatTensors } from '../model/safetensors.ts';
import { tf } from '../tensor/tfjs.ts';
import type { Metrics, SavedRun } from './events.ts';
import { type GuardState, Guards, keepsCopies, type Trouble } from './guards.ts';
import type { AdamW } from './optimizer.ts';
import { Promotion, type PromotionState } from './promotion.ts';
import type { Stage } from './recipe.ts';

/** What a save holds of a stage's rails: plain data. */
export interface RailsState {
  promotion: PromotionState;
  guards: GuardState;
  /** Times the stage went back; each halved the learning rate. */
  rollbacks: number;
}

export type Verdict = {
  /** Sentences for the person. */
  notices: { level: 'info' | 'warning'; message: string }[];
} & ({ next: 'go-on' | 'promote' | 'roll-back' } | { next: 'stop'; reason: string });

export class Rails {
  private promotion: Promotion;
  private guards: Guards;
  private rollbacks: number;
  private copies: SavedRun[] = [];
  /** The copy to go back to, once a verdict says so; also the one that a stopped run leaves behind. */
  private goodCopy: SavedRun | null = null;
  private promoted = false;

  constructor(
    private readonly planned: Stage,
    state: RailsState | null = null,
  ) {
    this.promotion = new Promotion(planned, state?.promotion);
    this.guards = new Guards(planned, state?.guards);
    this.rollbacks = state?.rollbacks ?? 0;
  }

  get state(): RailsState {
    return { promotion: this.promotion.state, guards: this.guards.state, rollbacks: this.rollbacks };
  }

  /** The stage as the recipe has it, with the learning rate that rollbacks left of it. */
  get stage(): Stage {
    const { planned, rollbacks } = this;
    return rollbacks === 0 ? planned : { ...planned, learningRate: planned.learningRate * 0.5 ** rollbacks };
  }

  /** Moving solve rate that promotion looks at, or null where it looks at none. */
  get solveRate(): number | null {
    return this.promotion.solveRate;
  }

  wantsCopy(step: number): boolean {
    return keepsCopies(this.planned) && step % this.planned.guards.copyEvery === 0;
  }

  /** Keeps as many copies as it takes for the oldest to be from before a trouble that a window hid. */
  keep(saved: SavedRun): void {
    const { guards } = this.planned;
    const window = 'window' in guards ? guards.window : 1;
    this.copies = [...this.copies, saved].slice(-(2 + Math.ceil((2 * window) / guards.copyEvery)));
  }

  /** After each step (1-based). */
  see(step: number, metrics: Metrics): Verdict {
    const troubles = this.guards.see(step, metrics);
    const [worst] = troubles;
    const notices: Verdict['notices'] = troubles
      .filter((trouble) => trouble !== worst || trouble.action === 'warn')
      .map(({ what, advice }) => ({ level: 'warning', message: `${what} The run goes on. ${advice}` }));
    if (worst && worst.action !== 'warn') return this.act(worst, notices);
    const reason = this.promotion.see(step, metrics);
    if (reason !== null && step < this.planned.steps) {
      this.promoted = true;
      const { name, steps } = this.planned;
      notices.push({
        level: 'info',
        message: `Stage "${name}" ended at step ${step} of ${steps}: ${reason}.`,
      });
    }
    return { notices, next: this.promoted ? 'promote' : 'go-on' };
  }

  private act(trouble: Trouble, notices: Verdict['notices']): Verdict {
    const { what, advice, since } = trouble;
    const { name, learningRate, guards } = this.planned;
    // What a step samples shows the weights of the step before, so the first bad one tells of an update one earlier.
    this.goodCopy = this.copies.findLast((copy) => copy.step < since - 1) ?? this.copies[0] ?? null;
    const spent = this.rollbacks >= guards.maxRollbacks;
    if (trouble.action === 'rollback' && this.goodCopy && !spent) {
      const rate = learningRate * 0.5 ** (this.rollbacks + 1);
      notices.push({
        level: 'warning',
        message:
          `${what} The run went back to step ${this.goodCopy.step} of the stage and goes on with half the learning ` +
          `rate, ${rate} (rollback ${this.rollbacks + 1} of at most ${guards.maxRollbacks}). ${advice}`,
      });
      return { notices, next: 'roll-back' };
    }
    const why =
      trouble.action === 'rollback'
        ? `Stage "${name}" has used its rollbacks (${this.rollbacks} of at most ${guards.maxRollbacks}), so the run stopped`
        : 'The run stopped';
    const save = this.goodCopy
      ? `it left a save of step ${this.goodCopy.step} of the stage`
      : 'its last save is from before';
    return { notices, next: 'stop', reason: `${what} ${why}; ${save}. ${advice} Then go on from the save.` };
  }

  /** The state to leave behind when the run stops, or null without copies. */
  get lastGood(): SavedRun | null {
    return this.goodCopy;
  }

  /** Puts model, optimizer and rails back to the good copy. @returns its step */
  goBack(model: Decoder, optimizer: AdamW): number {
    const copy = this.goodCopy!;
    const arrays = readFloatTensors(copy.state, 'the copy in memory');
    restoreWeights(model, arrays);
    optimizer.restore(arrays, copy.optimizerSteps);
    this.promotion = new Promotion(this.planned, copy.rails?.promotion);
    this.guards = new Guards(this.planned, copy.rails?.guards);
    this.rollbacks++;
    this.copies = this.copies.filter(({ step }) => step <= copy.step);
    this.goodCopy = null;
    return copy.step;
  }

  /** What to say when the stage is over, or null. */
  fallShort(): string | null {
    return this.promoted ? null : this.promotion.fallShort();
  }
}

/** Overwrites every weight where it lies, as captured steps point at the buffers. */
export function restoreWeights(model: Decoder, arrays: ReadonlyMap<string, WeightArray>): void {
  model.device?.backend.flush();
  for (const [name, shape] of tensorShapes(model.config)) {
    const array = arrays.get(name);
    assert(array, `the copy has no ${name}`);
    const { data } = array;
    const weight = model.weights.get(name);
    if (!model.device) {
      const tensor = tf.tensor(data.slice(), [...shape], 'float32');
      weight!.assign(tensor);
      tensor.dispose();
    } else if (weight) model.device.backend.overwrite(weight.dataId, data);
    else model.device.model.write(model.device.backend.device, name, data);
  }
}
