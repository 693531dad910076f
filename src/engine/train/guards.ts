/**
 * Guard rails: detectors of a run that goes wrong, as pure functions of logged metrics. Each compares a moving average
 * over `guards.window` steps with the best one of the stage so far, so it needs no tuning to a task and stays silent on
 * a model that never could. What then happens (warn, stop, roll back) is the recipe's choice; `run.ts` does it.
 */
import type { Metrics } from './events.ts';
import type { MetricName } from './metrics.ts';
import type { GrpoStage, Stage } from './recipe.ts';

export type GuardName = 'nan' | 'reward' | 'entropy' | 'format' | 'exploration';
export type GuardAction = 'off' | 'warn' | 'stop' | 'rollback';

/** What was found. */
export interface Trouble {
  guard: GuardName;
  action: GuardAction;
  /** The first step of the stage (1-based) that was bad. */
  since: number;
  /** What happened and since when: a sentence. */
  what: string;
  /** What to try: a sentence. */
  advice: string;
}

/** A model that solves nearly everything has no need of entropy left. */
const SOLVED = 0.95;
/** A stage that never forked more often than this has no exploration to lose. */
const EXPLORES = 0.1;

type GrpoGuards = GrpoStage['guards'];

interface Fall {
  guard: Exclude<GuardName, 'nan'>;
  metric: MetricName;
  /** Below this the average is bad; −Infinity where nothing is. */
  limit(best: number, guards: GrpoGuards): number;
  what(average: string, best: string, guards: GrpoGuards): string;
  advice(stage: GrpoStage): string;
}

const FALLS: readonly Fall[] = [
  {
    guard: 'reward',
    metric: 'reward',
    limit: (best, guards) => best - guards.rewardDrop,
    what: (average, best) => `Reward collapse: the mean reward fell from ${best} to ${average}`,
    advice: (stage) =>
      `Try a lower learning rate (now ${stage.learningRate}), more prompts per step (now ${stage.promptsPerStep}) or a tighter gradient clip (now ${stage.maxGradNorm}).`,
  },
  {
    guard: 'entropy',
    metric: 'entropy',
    limit: (_, guards) => guards.entropyFloor,
    what: (average, _, guards) =>
      `Entropy collapse: the model hardly varies its answers any more; entropy is ${average} nats, below ${guards.entropyFloor}`,
    advice: (stage) =>
      `Try a lower learning rate (now ${stage.learningRate}), a higher upper clip (now ${stage.clipHigh}) or harder problems.`,
  },
  {
    guard: 'format',
    metric: 'parallel/valid_ratio',
    limit: (best, guards) => best - guards.formatDrop,
    what: (average, best) =>
      `Loss of the format: the share of valid responses fell from ${best} to ${average}`,
    advice: (stage) =>
      `Look at the rollouts. Try a lower learning rate (now ${stage.learningRate}), a longer response limit (now ${stage.rollout.maxTokens}), or more supervised steps first.`,
  },
  {
    guard: 'exploration',
    metric: 'parallel/ratio',
    limit: (best, guards) =>
      best >= EXPLORES ? best * (1 - guards.explorationDrop) : Number.NEGATIVE_INFINITY,
    what: (average, best) =>
      average === '0.000'
        ? `Loss of exploration: the model stopped forking; its parallel ratio was ${best}`
        : `Loss of exploration: the parallel ratio fell from ${best} to ${average}`,
    advice: () =>
      'Try the alternating reward, which pays for parallel thinking in some steps, or leave fork-free solutions out of the cold start.',
  },
];

/** What a detector remembers of one metric; plain data without infinities, so that a save can hold it. */
interface FallState {
  recent: number[];
  steps: number[];
  /** Best average of a full window so far. */
  best: number | null;
  /** First step of the present row of bad values. */
  since: number | null;
  /** Has spoken, and not recovered since. */
  fired: boolean;
}

export type GuardState = Partial<Record<GuardName, FallState>>;

const fresh = (): FallState => ({ recent: [], steps: [], best: null, since: null, fired: false });
const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
const show = (value: number): string => value.toFixed(3);

/** Watches one stage. */
export class Guards {
  private states: GuardState;

  constructor(
    private readonly stage: Stage,
    state: GuardState = {},
  ) {
    this.states = structuredClone(state);
  }

  get state(): GuardState {
    return structuredClone(this.states);
  }

  /** Takes in a step (1-based); returns what is newly wrong, the gravest first. A trouble is told once until it is over. */
  see(step: number, metrics: Metrics): Trouble[] {
    const broken = notFinite(this.stage, step, metrics);
    if (broken) return [broken];
    const { stage } = this;
    if (stage.kind !== 'grpo') return [];
    return FALLS.flatMap((fall): Trouble[] => {
      const action = stage.guards[fall.guard];
      const value = metrics[fall.metric];
      // A step in which no group differed has no entropy to tell.
      if (action === 'off' || value === undefined) return [];
      this.states[fall.guard] ??= fresh();
      const found = look(this.states[fall.guard]!, fall, stage.guards, step, value);
      if (found === null) return [];
      if (fall.guard === 'entropy' && (metrics.accuracy ?? 0) >= SOLVED) {
        this.states.entropy!.fired = false;
        return [];
      }
      const { average, best, since } = found;
      return [
        {
          guard: fall.guard,
          action,
          since,
          what: `${fall.what(show(average), show(best), stage.guards)} (mean of ${stage.guards.window} steps) in stage "${stage.name}", since step ${since}.`,
          advice: fall.advice(stage),
        },
      ];
    }).sort((a, b) => GRAVITY[b.action] - GRAVITY[a.action]);
  }
}

const GRAVITY: Readonly<Record<GuardAction, number>> = { off: 0, warn: 1, stop: 2, rollback: 3 };

/** One value more for a detector; what it found, once. */
function look(state: FallState, fall: Fall, guards: GrpoGuards, step: number, value: number) {
  state.recent = [...state.recent, value].slice(-guards.window);
  state.steps = [...state.steps, step].slice(-guards.window);
  if (state.recent.length < guards.window) return null;
  const average = mean(state.recent);
  state.best = Math.max(state.best ?? average, average);
  const limit = fall.limit(state.best, guards);
  state.since = value < limit ? (state.since ?? step) : null;
  if (average >= limit) {
    state.fired = false;
    return null;
  }
  if (state.fired) return null;
  state.fired = true;
  return { average, best: state.best, since: state.since ?? state.steps[0] };
}

/** A loss or gradient that is not a number. */
function notFinite(stage: Stage, step: number, metrics: Metrics): Trouble | null {
  for (const name of ['loss', 'grad_norm'] as const) {
    const value = metrics[name];
    if (value !== undefined && !Number.isFinite(value))
      return {
        guard: 'nan',
        action: stage.guards.nan,
        since: step,
        what: `${name} became ${value} in stage "${stage.name}", step ${step}.`,
        advice: `Try a lower learning rate (now ${stage.learningRate}) or a longer warm-up (now ${stage.warmupSteps} steps).`,
      };
  }
  return null;
}

/** Whether the stage needs copies of its state in memory, to go back to or to leave behind when it stops. */
export function keepsCopies(stage: Stage): boolean {
  if (stage.guards.nan === 'rollback') return true;
  if (stage.kind !== 'grpo') return false;
  const { reward, entropy, format, exploration } = stage.guards;
  return [reward, entropy, format, exploration].some((action) => action === 'stop' || action === 'rollback');
}
