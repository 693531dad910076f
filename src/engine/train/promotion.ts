/**
 * Curriculum: when a stage has taught what it can, and what a person should know about the order of the stages. Pure
 * functions of logged metrics and of the recipe; `run.ts` acts on them.
 */
import type { Metrics } from './events.ts';
import type { GrpoStage, Recipe, SftStage, Stage } from './recipe.ts';

/** What promotion looks at: the solve rate of RL rollouts, or the loss of supervised stages (lower is better). */
const measureOf = (stage: Stage, metrics: Metrics): number | undefined =>
  stage.kind === 'grpo' ? metrics.accuracy : metrics.loss;

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
const show = (value: number): string => value.toFixed(3);

/** The last values of the measure, oldest first; plain data, so that a save can hold it. */
export interface PromotionState {
  recent: number[];
}

/** Watches one stage. */
export class Promotion {
  private recent: number[];

  constructor(
    private readonly stage: Stage,
    state: PromotionState | null = null,
  ) {
    this.recent = [...(state?.recent ?? [])];
  }

  get state(): PromotionState {
    return { recent: [...this.recent] };
  }

  /** Solve rate over the window that promotion looks at (share), or null where it does not look at one. */
  get solveRate(): number | null {
    const { kind, promotion } = this.stage;
    if (kind !== 'grpo' || promotion.kind === 'steps' || this.recent.length === 0) return null;
    return mean(this.recent.slice(-promotion.window));
  }

  /** Takes in a step (1-based); returns why the stage may end now, or null. */
  see(step: number, metrics: Metrics): string | null {
    const { promotion, kind } = this.stage;
    if (promotion.kind === 'steps') return null;
    const value = measureOf(this.stage, metrics);
    if (value === undefined) return null;
    const { window, minSteps } = promotion;
    const kept = promotion.kind === 'plateau' ? 2 * window : window;
    this.recent = [...this.recent, value].slice(-kept);
    if (step < minSteps || this.recent.length < kept) return null;
    const last = mean(this.recent.slice(-window));
    if (promotion.kind === 'solve-rate')
      return last >= promotion.threshold
        ? `its solve rate was ${show(last)} over the last ${window} steps (asked: ${promotion.threshold})`
        : null;
    const before = mean(this.recent.slice(0, window));
    const gain = kind === 'grpo' ? last - before : before - last;
    if (gain >= promotion.minGain) return null;
    const name = kind === 'grpo' ? 'solve rate' : 'loss';
    return `its ${name} went from ${show(before)} to ${show(last)} between the last two windows of ${window} steps, a gain below ${promotion.minGain}`;
  }

  /** What to say when the stage ends for want of steps, or null if that is as planned. */
  fallShort(): string | null {
    const { promotion, name, steps } = this.stage;
    if (promotion.kind !== 'solve-rate' || this.recent.length === 0) return null;
    return (
      `Stage "${name}" used up its ${steps} steps with a solve rate of ${show(mean(this.recent))} over the last ` +
      `${this.recent.length}, below the ${promotion.threshold} asked for. The next stage may be too hard: give this ` +
      'one more steps or easier problems, or ask for less.'
    );
  }
}

/** Shares of big terms this far apart are a jump (default recipe, section 6.6: small terms only, then big ones, failed). */
const BIG_SHARE_JUMP = 0.5;
/** Share of big terms where all 31 values are equally likely. */
const UNIFORM_BIG = 21 / 31;

interface Shown {
  /** Most terms, and the largest share of big ones; −Infinity before anything was shown. */
  terms: number;
  big: number;
}

/**
 * Warnings about the order of the stages, each a sentence or two: an RL stage in parallel that no cold start precedes
 * (the paper: without it the model does not fork), longer problems than were shown in that form, or terms much bigger.
 */
export function curriculumWarnings(recipe: Recipe): { stage: string; message: string }[] {
  const warnings: { stage: string; message: string }[] = [];
  const nothing = (): Shown => ({ terms: Number.NEGATIVE_INFINITY, big: Number.NEGATIVE_INFINITY });
  // The path format does not extrapolate in length (default recipe, section 6.3), so each form counts for itself.
  const shown = { parallel: nothing(), any: nothing() };
  let coldStart = false;
  /** A dropped file holds nobody knows what. */
  let unknown = false;
  const see = (part: { terms: readonly number[]; bigShare: number | null }, parallel: boolean): void => {
    for (const of of parallel ? [shown.parallel, shown.any] : [shown.any]) {
      of.terms = Math.max(of.terms, ...part.terms);
      of.big = Math.max(of.big, part.bigShare ?? UNIFORM_BIG);
    }
  };
  for (const stage of recipe.stages) {
    if (stage.kind === 'sft') {
      const parts = documentsOf(stage);
      if (parts === null) unknown = true;
      for (const part of parts ?? []) see(part, part.kind === 'parallel');
      coldStart ||= parts === null || parts.some(({ kind }) => kind === 'parallel');
      continue;
    }
    const parallel = forks(stage);
    const warn = (message: string) => warnings.push({ stage: stage.name, message });
    if (parallel && !coldStart)
      warn(
        `Stage "${stage.name}" trains parallel thinking by RL, but no supervised stage before it shows parallel ` +
          'solutions. A model that never saw <Parallel> hardly ever forks, so there is nothing to reward. Put an SFT ' +
          'stage with parallel documents first, or start from a model that can already fork.',
      );
    const form = parallel ? shown.parallel : shown.any;
    const longest = Math.max(...stage.data.terms);
    const big = stage.data.bigShare ?? UNIFORM_BIG;
    if (!unknown && form.terms > 0 && longest > form.terms)
      warn(
        `Difficulty jumps in stage "${stage.name}": its problems have up to ${longest} terms, and no stage before ` +
          `showed ${parallel ? 'parallel ' : ''}solutions of more than ${form.terms}. Small models do not carry the ` +
          'form over to greater lengths. Add the longer problems to an earlier stage, or a stage in between.',
      );
    if (!unknown && shown.any.terms > 0 && big - shown.any.big > BIG_SHARE_JUMP)
      warn(
        `Difficulty jumps in stage "${stage.name}": ${percent(big)} of its terms are big, and at most ` +
          `${percent(shown.any.big)} in the stages before. Add some big terms to an earlier stage.`,
      );
    see(stage.data, parallel);
    coldStart ||= parallel;
  }
  return warnings;
}

const percent = (share: number): string => `${Math.round(100 * share)} %`;
const forks = ({ rollout }: GrpoStage): boolean => rollout.mode === 'parallel' && rollout.maxBlocks > 0;

/** The kinds of documents that a supervised stage draws, or null for a dropped file. */
function documentsOf({ data }: SftStage) {
  return data.source === 'task' ? data.mix.filter(({ weight }) => weight > 0) : null;
}
