/**
 * An experiment on the page: its arms and seeds are runs like any other, started one after the other, and the table
 * grows with each. What was stopped goes on with the runs that are not done.
 */
import { create } from 'zustand';
import {
  type ArmResult,
  type EngineEvent,
  type Experiment,
  type ExperimentReport,
  experimentReport,
  type PlannedRun,
  parseExperiment,
  plannedRuns,
  type Recipe,
} from '../../worker/protocol.ts';

export interface ArmRun extends PlannedRun {
  state: 'waiting' | 'running' | 'done' | 'failed';
}

export interface ExperimentState {
  experiment: Experiment | null;
  runs: readonly ArmRun[];
  results: readonly ArmResult[];
  report: ExperimentReport | null;
}

const NONE: ExperimentState = { experiment: null, runs: [], results: [], report: null };
export const useExperiment = create<ExperimentState>(() => NONE);

/** What an experiment document asks for; fails with a sentence before anything runs. */
export async function planExperiment(
  document: unknown,
  load: (file: string) => Promise<unknown>,
): Promise<{ experiment: Experiment; runs: ArmRun[] }> {
  const experiment = parseExperiment(document);
  const runs = await plannedRuns(experiment, load);
  return { experiment, runs: runs.map((run) => ({ ...run, state: 'waiting' })) };
}

/** The part of the page's commands that running an experiment needs. */
export interface Runner {
  start(recipe: unknown): void;
  onEvent(listener: (event: EngineEvent) => void): () => void;
}

/** One run from start to end: its evaluations, or how else it ended. */
function runOne(
  { start, onEvent }: Runner,
  recipe: Recipe,
): Promise<{ ended: 'finished' | 'failed' | 'stopped'; history: ArmResult['history'] }> {
  return new Promise((resolve) => {
    const history: ArmResult['history'][number][] = [];
    const end = onEvent((event) => {
      if (event.type === 'evaluation') {
        const { stage, step, set, metrics } = event;
        history.push({ stage, step, set, metrics });
      }
      if (event.type !== 'state') return;
      if (event.state === 'finished' || event.state === 'failed' || event.state === 'stopped') {
        end();
        resolve({ ended: event.state, history });
      }
    });
    start(recipe);
  });
}

/** Runs what is not done yet; a run that fails does not keep the others from running, Stop ends the whole. */
export async function runExperiment(
  planned: { experiment: Experiment; runs: readonly ArmRun[] },
  runner: Runner,
): Promise<void> {
  const { setState, getState } = useExperiment;
  const same = JSON.stringify(getState().experiment) === JSON.stringify(planned.experiment);
  if (!same) setState({ ...NONE, ...planned });
  const mark = (i: number, state: ArmRun['state']) =>
    setState(({ runs }) => ({ runs: runs.map((run, k) => (k === i ? { ...run, state } : run)) }));
  for (const [i, { arm, seed, recipe, state }] of getState().runs.entries()) {
    if (state === 'done') continue;
    mark(i, 'running');
    const { ended, history } = await runOne(runner, recipe);
    if (ended === 'stopped') {
      mark(i, 'waiting');
      return;
    }
    mark(i, ended === 'finished' ? 'done' : 'failed');
    if (ended === 'failed') continue;
    setState(({ results }) => {
      const all = [...results, { arm, seed, history }];
      return { results: all, report: experimentReport(planned.experiment, all) };
    });
  }
}
