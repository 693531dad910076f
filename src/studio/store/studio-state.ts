/** The page's state and how an engine event changes it: one pure function that never heard of React. */
import type {
  BackendName,
  DataRow,
  DatasetReport,
  DeviceReport,
  EngineEvent,
  KeptModel,
  ListedRun,
  LoadChoice,
  ModelReport,
  Recipe,
  RolloutRecord,
  RolloutStep,
  RolloutTree,
  RunRecord,
  RunState,
} from '../../worker/protocol.ts';
import { MetricLog } from './metric-log.ts';

export interface StageProgress {
  name: string;
  kind: 'sft' | 'grpo';
  steps: number;
  /** Steps that are done. */
  done: number;
  /** Row of the log at which the stage began, or −1. */
  firstRow: number;
  /** Seconds of the last steps, newest last. */
  recentSeconds: number[];
  /** Seconds and tokens of all its steps on this page. */
  seconds: number;
  tokens: number;
}

export interface EvaluationPoint {
  /** Rows in the log when it was made: its place on the axis. */
  row: number;
  stage: string;
  set: string;
  metrics: Readonly<Record<string, number | undefined>>;
}

/** Something that happened at a row of the log, told on the charts. */
export interface LogMark {
  row: number;
  text: string;
  kind: 'edit' | 'info' | 'warning';
}

export interface GrowingGroup {
  stage: string;
  step: number;
  prompt: string;
  trees: RolloutTree[];
  /** Rewards and advantages, once the group is judged. */
  records: RolloutRecord[];
}

/** A data set that runs can train on. */
export interface LoadedData {
  report: DatasetReport;
  /** How it was read; null for one of an earlier visit, whose file is not at hand. */
  choice: LoadChoice | null;
  /** It lies on disk and will be there at the next visit. */
  kept: boolean;
}

/** A run as a comparison sees it. */
export interface RunLog extends Pick<StudioState, 'log' | 'evaluations' | 'stages'> {
  record: RunRecord;
}

export interface StudioState {
  /** Where the person wants runs to be computed, those on a dropped file too. */
  compute: BackendName | 'auto';
  device: DeviceReport | null;
  run: RunState;
  /** Kernels of the GPU that are compiled so far, while some are waited for. */
  compiling: { done: number; all: number } | null;
  recipe: Recipe | null;
  parameters: number;
  stages: StageProgress[];
  /** Index of the stage that runs, or −1. */
  current: number;
  /** Changed in place; `version` says that it changed. */
  log: MetricLog;
  version: number;
  evaluations: EvaluationPoint[];
  marks: readonly LogMark[];
  group: GrowingGroup | null;
  /** Rollouts of the last step. */
  records: RolloutRecord[];
  /** Runs on disk, newest first; null before the list was asked for. */
  kept: readonly ListedRun[] | null;
  /** What runs on disk logged, by id, of those that were asked for to be compared. */
  logs: ReadonlyMap<string, RunLog>;
  /** The run on disk that the page shows, and the steps of it that have rollouts there. */
  shown: { id: string; rolloutSteps: readonly RolloutStep[] } | null;
  /** When the run that goes was last saved on disk: its stage and step. */
  saved: { stage: number; step: number } | null;
  /** The newest first. */
  datasets: readonly LoadedData[];
  /** Files that could not be taken as they were read. */
  refused: readonly Extract<EngineEvent, { type: 'data-refused' }>[];
  /** Files that are being read. */
  loading: readonly Extract<EngineEvent, { type: 'data-progress' }>[];
  /** Rows of a data set that are looked at. */
  rows: { name: string; from: number; rows: readonly DataRow[]; total: number } | null;
  model: ModelReport | null;
  /** A model that is being downloaded, read or kept. */
  modelProgress: Extract<EngineEvent, { type: 'model-progress' }> | null;
  keptModels: readonly KeptModel[];
  /** What went wrong, oldest first, until it is closed or the person tries again. */
  errors: readonly string[];
  /** What the page has yet to tell. */
  notices: readonly string[];
}

export function initialState(): StudioState {
  return {
    compute: 'auto',
    device: null,
    run: 'idle',
    compiling: null,
    recipe: null,
    parameters: 0,
    stages: [],
    current: -1,
    log: new MetricLog(),
    version: 0,
    evaluations: [],
    marks: [],
    group: null,
    records: [],
    kept: null,
    logs: new Map(),
    shown: null,
    saved: null,
    datasets: [],
    refused: [],
    loading: [],
    rows: null,
    model: null,
    modelProgress: null,
    keptModels: [],
    errors: [],
    notices: [],
  };
}

/** Steps from which speed and remaining time are estimated. */
const RECENT = 20;

export function reduce(state: StudioState, event: EngineEvent): StudioState {
  switch (event.type) {
    case 'ready':
      return { ...state, device: event.device };
    case 'state':
      return { ...state, run: event.state, errors: event.state === 'loading' ? [] : state.errors };
    case 'run-started':
      return {
        ...state,
        recipe: event.recipe,
        parameters: event.parameters,
        stages: event.stages.map((stage) => ({
          ...stage,
          done: 0,
          firstRow: -1,
          recentSeconds: [],
          seconds: 0,
          tokens: 0,
        })),
        current: -1,
        log: new MetricLog(),
        version: state.version + 1,
        evaluations: [],
        marks: [],
        group: null,
        records: [],
        shown: null,
        saved: null,
        errors: [],
      };
    case 'stage-started':
      return {
        ...state,
        current: event.index,
        stages: state.stages.map((stage, i) => {
          if (i < event.index) return { ...stage, done: stage.steps };
          return i === event.index ? { ...stage, firstRow: state.log.length } : stage;
        }),
      };
    case 'step': {
      state.log.append({
        ...event.metrics,
        step: event.step,
        stage: event.stageIndex,
        time: event.timeSeconds,
      });
      const stages = state.stages.slice();
      const stage = stages[event.stageIndex];
      if (stage) {
        const seconds = event.metrics.step_time ?? 0;
        stages[event.stageIndex] = {
          ...stage,
          done: event.step,
          recentSeconds: [...stage.recentSeconds, seconds].slice(-RECENT),
          seconds: stage.seconds + seconds,
          tokens: stage.tokens + seconds * (event.metrics['perf/tokens_per_second'] ?? 0),
        };
      }
      return { ...state, stages, version: state.version + 1 };
    }
    case 'rollout-progress': {
      const { stage, step, prompt, trees } = event;
      return { ...state, group: { stage, step, prompt, trees, records: [] } };
    }
    case 'rollouts': {
      const own = event.records.filter((record) => record.group === 0);
      const group = state.group && { ...state.group, trees: own.map((record) => record.tree), records: own };
      return { ...state, records: event.records, group };
    }
    case 'evaluation': {
      const { stage, set, metrics } = event;
      const point = { row: state.log.length, stage, set, metrics };
      return { ...state, evaluations: [...state.evaluations, point], version: state.version + 1 };
    }
    case 'rollback': {
      const own = (row: number) => state.log.column('stage')[row] === event.stageIndex;
      while (state.log.length > 0 && own(state.log.length - 1) && state.log.last('step') > event.step)
        state.log.dropLast();
      const stages = state.stages.map((stage, i) =>
        i === event.stageIndex ? { ...stage, done: event.step } : stage,
      );
      const evaluations = state.evaluations.filter(({ row }) => row <= state.log.length);
      const marks = withMark(state, 'warning', `back to step ${event.step} of ${event.stage}`);
      return { ...state, stages, evaluations, marks, version: state.version + 1 };
    }
    case 'history': {
      const { record, events, rolloutSteps } = event;
      const replayed = (events as EngineEvent[]).reduce(reduce, { ...state, stages: [] });
      // What was told then is not news; a run without an event has a recipe at least.
      return {
        ...replayed,
        recipe: record.recipe,
        notices: state.notices,
        errors: state.errors,
        shown: { id: record.id, rolloutSteps },
        saved: record.saved,
        version: state.version + 1,
      };
    }
    case 'runs':
      return { ...state, kept: event.runs };
    case 'saved':
      return { ...state, saved: { stage: event.stage, step: event.step } };
    case 'run-log': {
      const { log, evaluations, stages } = (event.events as EngineEvent[]).reduce(reduce, initialState());
      const { record } = event;
      return { ...state, logs: new Map(state.logs).set(record.id, { record, log, evaluations, stages }) };
    }
    // Whoever asked for them waits for them.
    case 'bundled':
    case 'stored-rollouts':
    case 'ask-started':
    case 'ask-view':
    case 'ask-result':
    case 'ask-done':
    case 'ask-problem':
      return state;
    case 'dataset': {
      const { report, choice, kept } = event;
      return {
        ...state,
        datasets: [
          { report, choice, kept },
          ...state.datasets.filter((one) => one.report.name !== report.name),
        ],
        refused: state.refused.filter(({ name }) => name !== report.name),
        rows: state.rows?.name === report.name ? null : state.rows,
      };
    }
    case 'data-refused':
      return { ...state, refused: [event, ...state.refused.filter(({ name }) => name !== event.name)] };
    case 'data-progress':
      return { ...state, loading: [...state.loading.filter(({ job }) => job !== event.job), event] };
    case 'data-done':
      return { ...state, loading: state.loading.filter(({ job }) => job !== event.job) };
    case 'data-sets': {
      // What lies on disk may have been loaded or deleted in another tab.
      const onDisk = new Set(event.sets.map(({ name }) => name));
      const here = state.datasets.filter(({ report, kept }) => !kept || onDisk.has(report.name));
      const known = new Set(here.map(({ report }) => report.name));
      const others = event.sets.filter(({ name }) => !known.has(name)).reverse();
      return {
        ...state,
        datasets: [...here, ...others.map(({ report }) => ({ report, choice: null, kept: true }))],
      };
    }
    case 'data-deleted':
      return {
        ...state,
        datasets: state.datasets.filter(({ report }) => report.name !== event.name),
        rows: state.rows?.name === event.name ? null : state.rows,
      };
    case 'data-rows': {
      const { name, from, rows, total } = event;
      return { ...state, rows: { name, from, rows, total } };
    }
    case 'model':
      return { ...state, model: event.report, modelProgress: null };
    case 'model-progress':
      return { ...state, modelProgress: event.done < event.all ? event : null };
    case 'models':
      return { ...state, keptModels: event.models };
    case 'error':
      return withError(state, event.message);
    case 'compiling':
      return { ...state, compiling: event.done < event.all ? { done: event.done, all: event.all } : null };
    case 'notice': {
      const ofStep =
        'step' in event && event.step ? withMark(state, event.level ?? 'info', event.message) : state.marks;
      return { ...state, notices: [...state.notices, event.message], marks: ofStep };
    }
    // Files are for the disk, not for the page's memory.
    case 'checkpoint':
    case 'autosave':
    case 'exported':
      return state;
    default:
      return event satisfies never;
  }
}

/** The marks with one more at the newest row. */
function withMark({ marks, log }: StudioState, kind: LogMark['kind'], text: string): LogMark[] {
  return [...marks, { row: Math.max(0, log.length - 1), text, kind }];
}

/** Said once, however often it happens. */
export function withError(state: StudioState, message: string): StudioState {
  return state.errors.includes(message) ? state : { ...state, errors: [...state.errors, message] };
}

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;

/** Seconds a step of this stage takes, from its last steps; null before the first. */
export function secondsPerStep(stage: StageProgress): number | null {
  return stage.recentSeconds.length > 0 ? mean(stage.recentSeconds) : null;
}

/** Seconds per step, of the stage itself or of the last one of its kind that ran; null where nothing is known. */
export function expectedSecondsPerStep(
  stage: StageProgress,
  stages: readonly StageProgress[],
): number | null {
  const like = stages.findLast(({ kind, recentSeconds }) => kind === stage.kind && recentSeconds.length > 0);
  return secondsPerStep(stage) ?? (like ? secondsPerStep(like) : null);
}

/** Seconds until the stage ends; null where nothing is known. */
export function stageEta(stage: StageProgress, stages: readonly StageProgress[]): number | null {
  const seconds = expectedSecondsPerStep(stage, stages);
  return seconds === null ? null : seconds * (stage.steps - stage.done);
}

/**
 * Seconds until the run ends. `whole` is false where a kind of stage is yet to be met: then it takes longer than that.
 * Null before the first step.
 */
export function runEta(stages: readonly StageProgress[]): { seconds: number; whole: boolean } | null {
  const left = stages.filter((stage) => stage.done < stage.steps).map((stage) => stageEta(stage, stages));
  if (!stages.some(({ recentSeconds }) => recentSeconds.length > 0)) return null;
  return {
    seconds: left.reduce<number>((sum, seconds) => sum + (seconds ?? 0), 0),
    whole: !left.includes(null),
  };
}
