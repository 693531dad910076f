/**
 * Everything that crosses between the page and the engine's worker, as two discriminated unions. Arrays travel as
 * transferables. The studio imports types and texts of the engine only through this file.
 */
import type { DatasetReport, RowIssue } from '../engine/data/report.ts';
import type { RolloutTree, Segment } from '../engine/rollout/tree.ts';
import type {
  RolloutRecord,
  SavedFile,
  SavedRun,
  StageSummary,
  StepEvent,
  TrainEvent,
} from '../engine/train/events.ts';
import type { Recipe, Stage } from '../engine/train/recipe.ts';

export {
  type ArmResult,
  type Experiment,
  type ExperimentReport,
  experimentReport,
  isExperiment,
  type PlannedRun,
  parseExperiment,
  plannedRuns,
  type SeedMean,
} from '../engine/train/experiment.ts';
export { METRICS, type MetricName } from '../engine/train/metrics.ts';
export { helpFor, type Knob, parseRecipe } from '../engine/train/recipe.ts';
export type {
  DatasetReport,
  Recipe,
  RolloutRecord,
  RolloutTree,
  RowIssue,
  SavedRun,
  Segment,
  Stage,
  StageSummary,
  StepEvent,
};
export type ExportedFile = SavedFile;

export type BackendName = 'webgpu' | 'wasm' | 'cpu';

export interface StartOptions {
  /** Multiplies every step count (at least one step stays). */
  scale: number;
  /** An autosave to go on from. */
  resume?: SavedRun;
}

export type Command =
  /** `auto` takes WebGPU where there is an adapter, else wasm. */
  | { type: 'init'; backend: BackendName | 'auto' }
  | { type: 'start'; recipe: unknown; options: StartOptions }
  | { type: 'pause' }
  | { type: 'resume' }
  /** One optimizer step, then pause again. */
  | { type: 'step' }
  | { type: 'stop' }
  /** Asks for the current model as a Hugging Face folder. */
  | { type: 'export' }
  | { type: 'drop'; files: File[] };

/** What the engine runs on, in words for the page. */
export interface DeviceReport {
  backend: BackendName;
  /** Adapter or runtime, e.g. "nvidia · ampere" or "WebAssembly SIMD". */
  name: string;
  /** Set when the backend is not what the user would expect, and why. */
  notice: string | null;
  /** WebGPU runs in software (SwiftShader and the like). */
  software: boolean;
  features: string[];
  /** Style of the WebGPU kernels, and how many of them were compared with their slow truths before use. */
  kernels?: { style: 'tiled' | 'direct'; checked: number };
}

export interface ModelReport {
  architecture: string;
  parameters: number;
  /** Whether the folder has a tokenizer with the six tags, without which no run can start from it. */
  usable: boolean;
  /** What the person should know, in a sentence. */
  message: string;
}

export type RunState = 'idle' | 'loading' | 'running' | 'paused' | 'stopped' | 'finished' | 'failed';

export type EngineEvent =
  | { type: 'ready'; device: DeviceReport }
  | { type: 'state'; state: RunState }
  /** Kernels of the GPU are being compiled: the first steps of a shape wait for them. */
  | { type: 'compiling'; done: number; all: number }
  | Exclude<TrainEvent, { type: 'tick' }>
  | { type: 'exported'; files: ExportedFile[] }
  | { type: 'dataset'; report: DatasetReport }
  /** A model folder was dropped: recipes with `model.source: "dropped"` start from it. */
  | { type: 'model'; report: ModelReport }
  /** A sentence for the person: names the thing, the reason and the way out. */
  | { type: 'error'; message: string; fatal: boolean }
  | { type: 'notice'; message: string };
