/** What a run tells while it goes: the one union that trainers yield and the page, the log and the tests consume. */
import type { BlockBehaviour } from '../reward/behaviour.ts';
import type { RolloutTree } from '../rollout/tree.ts';
import type { EvaluationReport } from './evaluate.ts';
import type { RailsState } from './guards-rails.ts';
import type { MetricName } from './metrics.ts';
import type { Recipe } from './recipe.ts';
import type { StageBehaviour } from './stage-behaviour.ts';

export type Metrics = Partial<Record<MetricName, number>>;

export interface StageSummary {
  name: string;
  kind: 'sft' | 'grpo';
  steps: number;
}

/** One line of `rollouts.jsonl`. */
export interface RolloutRecord {
  stage: string;
  step: number;
  prompt: string;
  /** Index of the problem in the step, and of the sample in its group. */
  group: number;
  sample: number;
  text: string;
  tree: RolloutTree;
  /** What each of its blocks does, in order. */
  blocks: BlockBehaviour[];
  answer: string | null;
  gold: string;
  rewards: Record<string, number>;
  reward: number;
  advantage: number;
}

/** A file of a saved model folder. */
export interface SavedFile {
  path: string;
  bytes: ArrayBuffer;
}

/** Everything that a run needs to go on exactly: random numbers come from counters, so there is no generator state. */
export interface SavedRun {
  recipe: Recipe;
  scale: number;
  /** Index of the stage and steps of it that are done. */
  stage: number;
  step: number;
  elapsedSeconds: number;
  /** Tokens seen so far. */
  tokens: number;
  /** AdamW steps of this stage that are done (a GRPO step may take several). */
  optimizerSteps: number;
  /** What promotion and guards of this stage have seen; absent between two stages. */
  rails?: RailsState;
  /** A safetensors file: the weights by name, the moments as `adamw.mean.<name>` and `adamw.square.<name>`. */
  state: ArrayBuffer;
}

export interface StepEvent {
  type: 'step';
  stage: string;
  stageIndex: number;
  kind: 'sft' | 'grpo';
  /** 1-based within the stage. */
  step: number;
  /** Since the run began, pauses left out. */
  timeSeconds: number;
  metrics: Metrics;
}

export type TrainEvent =
  | { type: 'run-started'; recipe: Recipe; stages: StageSummary[]; parameters: number; vocabulary: number }
  /** What a run needs besides its save to go on elsewhere; comes once, at the start. */
  | { type: 'base'; config: unknown; tokenizerJson: unknown; tokenizerConfigJson: unknown }
  | { type: 'stage-started'; index: number }
  | StepEvent
  /** The group that is being sampled now: one tree per sample, growing. */
  | {
      type: 'rollout-progress';
      stage: string;
      step: number;
      prompt: string;
      trees: RolloutTree[];
      done: boolean;
    }
  | { type: 'rollouts'; records: RolloutRecord[] }
  | {
      type: 'evaluation';
      stage: string;
      stageIndex: number;
      step: number;
      set: string;
      difficulty: string;
      metrics: Metrics;
      /** Scores at every k that was asked for, with intervals, and by difficulty. */
      report: EvaluationReport;
    }
  /** `behaviour`: how the stage's forks moved, over those of its steps that ran since the start or resume of the run. */
  | { type: 'checkpoint'; stage: string; files: SavedFile[]; behaviour: StageBehaviour }
  | { type: 'autosave'; saved: SavedRun }
  /** A sentence for the person: a stage promoted, a guard that found something, a curriculum that jumps. */
  | { type: 'notice'; message: string; level?: 'info' | 'warning'; stage?: string; step?: number }
  /** The stage went back to the end of this step (0: its start); what was logged after it will come again. */
  | { type: 'rollback'; stage: string; stageIndex: number; step: number }
  /** Nothing to tell: the driver may look at its commands. */
  | { type: 'tick' };
