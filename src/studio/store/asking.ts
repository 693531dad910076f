/** The question that is asked, the ways in which it is asked, and what has been answered: the Ask screen's own store. */
import { create } from 'zustand';
import type {
  AskMode,
  AskModel,
  AskRequest,
  AskResult,
  AskView,
  EngineEvent,
} from '../../worker/protocol.ts';
import { clearErrors, client, commands, showError, useStudio } from './studio-store.ts';

export type Way = AskMode['kind'];
export const WAYS: readonly Way[] = ['sequential', 'parallel', 'vote', 'consensus', 'fallback'];

export interface AskColumn {
  /** As it was sent; of a vote at equal tokens, as it was asked once its number of votes was known. */
  mode: AskMode;
  view: AskView | null;
  result: AskResult | null;
}

export interface Asking {
  model: AskModel;
  question: string;
  gold: string;
  ways: readonly Way[];
  votes: number;
  /** Paths per block; null = as in training. */
  paths: number | null;
  equalTokens: boolean;
  /** Null = as the model was trained. */
  temperature: number | null;
  maxTokens: number | null;
  seed: number;
  /** Of the question that was asked last. */
  id: string | null;
  going: boolean;
  columns: readonly AskColumn[];
  started: Extract<EngineEvent, { type: 'ask-started' }> | null;
  /** The right answer of the question that was asked last. */
  askedGold: string | null;
}

export const SHIPPED: AskModel = { from: 'shipped', name: 'base' };

export const initialAsking = (): Asking => ({
  model: SHIPPED,
  question: '',
  gold: '',
  ways: ['sequential', 'parallel', 'vote'],
  votes: 8,
  paths: null,
  equalTokens: true,
  temperature: null,
  maxTokens: null,
  seed: 1,
  id: null,
  going: false,
  columns: [],
  started: null,
  askedGold: null,
});

export const useAsking = create<Asking>(initialAsking);
const { getState, setState } = useAsking;

/** The ways as the engine takes them, in the order in which equal tokens can be counted. */
export function modesOf({ ways, votes, paths }: Pick<Asking, 'ways' | 'votes' | 'paths'>): AskMode[] {
  const modes: Record<Way, AskMode> = {
    sequential: { kind: 'sequential' },
    parallel: { kind: 'parallel', decide: 'model', ...(paths !== null && { paths }) },
    vote: { kind: 'vote', votes },
    consensus: { kind: 'consensus', votes, width: Math.min(4, votes) },
    fallback: { kind: 'fallback', confidence: 0.9, measure: 'mean' },
  };
  return WAYS.filter((way) => ways.includes(way)).map((way) => modes[way]);
}

/** How an event of the engine changes what is shown; events of another question change nothing. */
export function reduceAsking(state: Asking, event: EngineEvent): Partial<Asking> {
  if (!('id' in event) || event.id !== state.id) return {};
  const column = (index: number, change: Partial<AskColumn>) => ({
    columns: state.columns.map((one, i) => (i === index ? { ...one, ...change } : one)),
  });
  switch (event.type) {
    case 'ask-started':
      return { started: event };
    case 'ask-view':
      return column(event.column, { view: event.view });
    case 'ask-result':
      return column(event.column, { mode: event.mode, result: event.result });
    case 'ask-done':
      return { going: false };
    case 'ask-problem':
      return { question: event.question, gold: event.answer };
    default:
      return {};
  }
}

client.subscribe((event) => {
  const change = reduceAsking(getState(), event);
  if (event.type === 'ask-done' && event.id === getState().id && event.failure) showError(event.failure);
  // An engine that stopped answers no more.
  if (event.type === 'error' && event.fatal && getState().going) setState({ going: false });
  if (Object.keys(change).length > 0) setState(change);
});

export function change(part: Partial<Asking>): void {
  setState(part);
}

/** The engine opens its device first, unless a run has done so. */
function openDevice(): void {
  const { run, compute } = useStudio.getState();
  if (run !== 'running' && run !== 'paused' && run !== 'loading') commands.open(compute);
}

export function askNow(): void {
  const { model, question, gold, equalTokens, temperature, maxTokens, seed } = getState();
  const modes = modesOf(getState());
  const request: AskRequest = {
    id: crypto.randomUUID(),
    model,
    question,
    gold: gold.trim() || null,
    modes,
    limits: { ...(temperature !== null && { temperature }), ...(maxTokens !== null && { maxTokens }) },
    equalTokens,
    seed,
  };
  clearErrors();
  setState({
    id: request.id,
    going: true,
    columns: modes.map((mode) => ({ mode, view: null, result: null })),
    started: null,
    askedGold: request.gold,
  });
  openDevice();
  commands.ask(request);
}

/** Puts a problem that the model was trained for in place of the question. */
export function drawQuestion(): void {
  const id = crypto.randomUUID();
  clearErrors();
  setState({ id, columns: [], started: null });
  openDevice();
  commands.drawQuestion(id, getState().model, crypto.getRandomValues(new Uint32Array(1))[0]);
}
