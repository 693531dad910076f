/**
 * Everything that crosses between the page and the engine's worker, as two discriminated unions. Arrays travel as
 * transferables. The studio imports types and texts of the engine only through this file.
 */
import type { Column, DatasetReport, RowIssue } from '../engine/data/report.ts';
import type { DataRow } from '../engine/data/rows.ts';
import type { Mapping } from '../engine/data/shapes/shapes.ts';
import type { NamedBlob } from '../engine/model/blobs.ts';
import type { RolloutTree, Segment } from '../engine/rollout/tree.ts';
import type { AskResult, AskView } from '../engine/train/ask.ts';
import type { AskMode } from '../engine/train/ask-mode.ts';
import type { AskLimits } from '../engine/train/ask-setup.ts';
import type {
  RolloutRecord,
  SavedFile,
  SavedRun,
  StageSummary,
  StepEvent,
  TrainEvent,
} from '../engine/train/events.ts';
import type { Recipe, Stage } from '../engine/train/recipe.ts';
import type { DataCommand, DataEvent, LoadChoice } from './data/data-protocol.ts';
import type { StoredData } from './data/data-store.ts';
import type { KeptModel } from './model-store.ts';
import type { RunRecord } from './run-store/run-store.ts';

export { ISSUE_REASONS, REPAIRS } from '../engine/data/report.ts';
export { isModelFile } from '../engine/model/blobs.ts';
export { ASK_KNOBS } from '../engine/train/ask-mode.ts';
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
  seedMean,
} from '../engine/train/experiment.ts';
export { METRICS, type MetricName } from '../engine/train/metrics.ts';
export { helpFor, type Knob, parseRecipe } from '../engine/train/recipe.ts';
export type {
  AskLimits,
  AskMode,
  AskResult,
  AskView,
  Column,
  DataRow,
  DatasetReport,
  KeptModel,
  LoadChoice,
  Mapping,
  NamedBlob,
  Recipe,
  RolloutRecord,
  RolloutTree,
  RowIssue,
  RunRecord,
  SavedRun,
  Segment,
  Stage,
  StageSummary,
  StepEvent,
  StoredData,
};
export type ExportedFile = SavedFile;

export type BackendName = 'webgpu' | 'wasm' | 'cpu';

export interface StartOptions {
  /** Multiplies every step count (at least one step stays). */
  scale: number;
  /** An autosave to go on from. */
  resume?: SavedRun;
  /** Keep the run on disk, so that it survives a reload (the page does; a headless run keeps its own folder). */
  store?: boolean;
}

/** A run on disk as the list shows it. */
export interface ListedRun extends RunRecord {
  /** It runs now, in this tab or in another one. */
  going: 'here' | 'elsewhere' | null;
  /** Stages of which its model is kept. */
  checkpoints: string[];
}

/** The engine's worker and the one that reads data take their own. */
export type Command = EngineCommand | DataCommand;

export type EngineCommand =
  /** `auto` takes WebGPU where there is an adapter, else wasm. */
  | { type: 'init'; backend: BackendName | 'auto' }
  | { type: 'start'; recipe: unknown; options: StartOptions }
  | { type: 'pause' }
  | { type: 'resume' }
  /** One optimizer step, then pause again. */
  | { type: 'step' }
  | { type: 'stop' }
  /** Saves the run at the end of its step, whatever the clock says: the page is being left. */
  | { type: 'save' }
  | { type: 'list-runs' }
  /** Shows a run: its log, as the events that it had. */
  | { type: 'open-run'; id: string }
  /** Goes on with a run from its last good save. */
  | { type: 'resume-run'; id: string }
  | { type: 'delete-run'; id: string }
  | { type: 'describe-run'; id: string; name?: string; notes?: string }
  /** Asks for what a run logged, to compare it with others. */
  | { type: 'read-log'; id: string }
  /** Asks for a run as one file, without its data; rollouts quote problems of them. */
  | { type: 'bundle-run'; id: string; rollouts: boolean }
  /** Takes a bundle in. */
  | { type: 'unbundle-run'; file: NamedBlob }
  /** Makes the model at the end of a stage of a run the one that recipes with `model.source: "dropped"` start from. */
  | { type: 'open-checkpoint'; id: string; stage: string }
  /** Asks for that model as a Hugging Face folder. */
  | { type: 'export-checkpoint'; id: string; stage: string }
  /** Asks for the rollouts of one step of a run on disk. */
  | { type: 'read-rollouts'; id: string; stage: string; step: number }
  /** Asks for the current model as a Hugging Face folder. */
  | { type: 'export' }
  /** Files of a model. */
  | { type: 'drop'; files: NamedBlob[] }
  /** A data set (bytes of its table) that is not on disk. */
  | { type: 'put-data'; name: string; bytes: ArrayBuffer }
  | { type: 'forget-data'; name: string }
  /** Asks for the list of kept models. */
  | { type: 'models' }
  /** Downloads a model of the Hub (`owner/name[@revision]`), or opens it where it is kept. The token stays in memory. */
  | { type: 'hub-model'; name: string; revision?: string; token?: string }
  /** Makes a kept model the one that recipes with `model.source: "dropped"` start from. */
  | { type: 'open-model'; id: string }
  | { type: 'delete-model'; id: string }
  /** Ends the download or import that is going on. */
  | { type: 'cancel-model' }
  /** Asks a model a question, in one way after another. While a run goes, only between two of its steps. */
  | ({ type: 'ask' } & AskRequest)
  | { type: 'stop-asking' }
  /** Asks for a problem that the model was trained for. */
  | { type: 'draw-question'; id: string; model: AskModel; seed: number };

/** A model that can be asked. */
export type AskModel =
  /** Of the run that goes, or went last on this page. */
  | { from: 'run' }
  | { from: 'checkpoint'; id: string; stage: string }
  /** The one that was loaded last on the Models screen. */
  | { from: 'loaded' }
  /** A folder that is served with the page under models/. */
  | { from: 'shipped'; name: string };

export interface AskRequest {
  /** The page's own; its answers carry it. */
  id: string;
  model: AskModel;
  question: string;
  /** The right answer, where the person knows it. */
  gold: string | null;
  modes: readonly AskMode[];
  limits: Partial<AskLimits>;
  /** Votes cost what the parallel response cost, where it and a sequential one are asked before. */
  equalTokens: boolean;
  /** The same seed draws the same responses. */
  seed: number;
}

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
  /** `owner/name` of the Hub, or the name of what was dropped. */
  name: string;
  source: 'dropped' | 'hub';
  format: 'huggingface' | 'gguf' | 'llama2c';
  architecture: string;
  parameters: number;
  /** Tokens, those that were added included. */
  vocabulary: number;
  layers: number;
  /** Bytes of the weights as they were stored. */
  bytes: number;
  chatTemplate: boolean;
  /** Tokens that the model lacked and was given. */
  tagsAdded: readonly string[];
  notes: readonly string[];
  /** Whether the folder has a tokenizer with the six tags, without which no run can start from it. */
  usable: boolean;
  /** What the person should know, in a sentence. */
  message: string;
}

export type RunState = 'idle' | 'loading' | 'running' | 'paused' | 'stopped' | 'finished' | 'failed';

/** A step of which rollouts are on disk. */
export interface RolloutStep {
  stage: string;
  step: number;
  count: number;
}

/** The events that a log keeps. */
export type HistoryEvent = Exclude<
  TrainEvent,
  { type: 'tick' | 'base' | 'rollout-progress' | 'rollouts' | 'checkpoint' | 'autosave' }
>;

export type EngineEvent =
  | { type: 'ready'; device: DeviceReport }
  | { type: 'state'; state: RunState }
  /** Kernels of the GPU are being compiled: the first steps of a shape wait for them. */
  | { type: 'compiling'; done: number; all: number }
  | Exclude<TrainEvent, { type: 'tick' | 'base' }>
  /** All runs on disk, newest first. */
  | { type: 'runs'; runs: ListedRun[] }
  /** What a run on disk has been so far, in place of what the page shows. */
  | { type: 'history'; record: RunRecord; events: HistoryEvent[]; rolloutSteps: RolloutStep[] }
  | { type: 'run-log'; record: RunRecord; events: HistoryEvent[] }
  | { type: 'bundled'; id: string; name: string; zip: Blob }
  | { type: 'stored-rollouts'; id: string; stage: string; step: number; records: RolloutRecord[] }
  /** A save of the run is whole on disk. */
  | { type: 'saved'; id: string; stage: number; step: number }
  | { type: 'exported'; files: ExportedFile[] }
  | DataEvent
  /** A model was loaded: of dropped ones, recipes with `model.source: "dropped"` start from it. */
  | { type: 'model'; report: ModelReport }
  /** Bytes of a model that is being downloaded, read or kept for the next visit. */
  | { type: 'model-progress'; phase: 'download' | 'read' | 'keep'; name: string; done: number; all: number }
  /** The models that are kept in the browser, the newest first. */
  | { type: 'models'; models: KeptModel[] }
  /** How a question is asked: the prompts, and whose answers are looked for (null: free text). */
  | {
      type: 'ask-started';
      id: string;
      prompts: { plain: string; parallel: string };
      task: string | null;
      maxTokens: number;
      temperature: number;
    }
  /** What is being written in one of its ways. */
  | { type: 'ask-view'; id: string; column: number; view: AskView }
  | { type: 'ask-result'; id: string; column: number; mode: AskMode; result: AskResult }
  | { type: 'ask-done'; id: string; stopped: boolean; failure: string | null }
  | { type: 'ask-problem'; id: string; question: string; answer: string }
  /** A sentence for the person: names the thing, the reason and the way out. */
  | { type: 'error'; message: string; fatal: boolean }
  | { type: 'notice'; message: string };
