/**
 * Writes a cold-start data set (Parallel-R1, section 3.2): each problem is given to a writer, and what it writes becomes
 * a row if it passes every check. Nothing vanishes: problems = kept + rejected + pending, and nothing is pending unless
 * the run was stopped. What was done is a state that can be kept as JSON and gone on with.
 */
import * as v from 'valibot';
import { messageOf, UserError } from '../../../base/assert.ts';
import type { DataRow } from '../../data/rows.ts';
import { ContentHash } from '../../data/table.ts';
import { type ColdProblem, checkText, REJECTIONS, type Rejection, type TextCheck } from './check.ts';
import { trainingPrompt } from './prompt.ts';
import type { Writer } from './sources.ts';

const count = v.pipe(v.number(), v.minValue(0));
const tokensSchema = v.strictObject({
  /** Summed over all attempts, as reported. */
  prompt: count,
  completion: count,
  /** Replies that did not say. */
  unreported: count,
});
const outcomeSchema = v.variant('kind', [
  v.strictObject({ kind: v.literal('kept'), completion: v.string(), attempts: count, tokens: tokensSchema }),
  v.strictObject({
    kind: v.literal('rejected'),
    reason: v.picklist(Object.keys(REJECTIONS) as Rejection[]),
    detail: v.string(),
    /** What was written last. */
    text: v.string(),
    attempts: count,
    tokens: tokensSchema,
  }),
]);
/** By the problem's number. A record of plain data: `JSON.stringify` keeps it whole. */
const stateSchema = v.strictObject({
  version: v.literal(1),
  /** Of problems and writer: another set can't be gone on with. */
  fingerprint: v.string(),
  done: v.record(v.pipe(v.string(), v.regex(/^\d+$/)), outcomeSchema),
});
type Outcome = v.InferOutput<typeof outcomeSchema>;
export type ColdStartState = v.InferOutput<typeof stateSchema>;
export type Tokens = v.InferOutput<typeof tokensSchema>;

export interface ColdStartOptions {
  problems: readonly ColdProblem[];
  writer: Writer;
  check: TextCheck;
  /** A row's prompt; that of the paper. Problems of built-in tasks are their own prompts. */
  prompt?(question: string): string;
  /** Most texts of a problem until one passes; 1. */
  attempts?: number;
  /** Of an earlier run, as it was saved. */
  state?: unknown;
  signal?: AbortSignal;
  /** After each problem; the state is the one to save. */
  progress?(report: ColdStartReport, state: ColdStartState): void;
}

export interface ColdStartReport {
  problems: number;
  kept: number;
  rejected: number;
  pending: number;
  /** kept / (kept + rejected whose text was written); null before the first. */
  passRate: number | null;
  byReason: Partial<Record<Rejection, number>>;
  tokens: Tokens;
}

export interface Rejected {
  /** 0-based number of the problem. */
  index: number;
  prompt: string;
  answer: string;
  reason: Rejection;
  detail: string;
  text: string;
}

export interface ColdStartResult {
  /** In the order of the problems, ready for a data set. */
  rows: DataRow[];
  rejected: Rejected[];
  report: ColdStartReport;
  state: ColdStartState;
  /** Why problems are pending, for the person at the page; null where none are. */
  stopped: string | null;
}

/** Failed requests in a row, with none that succeeded between them, after which asking on is pointless. */
const MOST_FAILURES = 8;

export async function coldStart(options: ColdStartOptions): Promise<ColdStartResult> {
  const { problems, writer, signal } = options;
  const state = openState(options);
  const { done } = state;
  // A request that failed said nothing about its problem: it is asked again.
  const waiting = problems.flatMap((_, index) => {
    const outcome = done[index];
    const failed = outcome?.kind === 'rejected' && outcome.reason === 'request_failed';
    if (failed) delete done[index];
    return outcome && !failed ? [] : [index];
  });
  const halt = new AbortController();
  const signals = signal ? AbortSignal.any([signal, halt.signal]) : halt.signal;
  let stopped: string | null = null;
  let failures = 0;
  const stop = (message: string) => {
    stopped ??= message;
    halt.abort();
  };

  const worker = async (): Promise<void> => {
    for (;;) {
      if (signals.aborted) return;
      const index = waiting.shift();
      if (index === undefined) return;
      try {
        const outcome = await outcomeOf(index, options, signals);
        done[index] = outcome;
        const failed = outcome.kind === 'rejected' && outcome.reason === 'request_failed';
        failures = failed ? failures + 1 : 0;
        options.progress?.(reportOf(problems.length, state), state);
        if (failures >= MOST_FAILURES && waiting.length > 0)
          stop(`${failures} requests in a row failed, the last so: ${failed ? outcome.detail : ''}`);
      } catch (error) {
        if (signals.aborted) return;
        // No further request can succeed; whatever else was thrown is a fault that must be seen, not stored.
        stop(messageOf(error));
        if (!(error instanceof UserError)) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, writer.concurrency) }, worker));

  const report = reportOf(problems.length, state);
  if (report.pending > 0) stopped ??= 'The run was cancelled. It can go on with the problems that are left.';
  return { ...rowsOf(options, state), report, state, stopped };
}

/** Asks until a text passes or the attempts are used up; the last refusal is the one that is told. */
async function outcomeOf(
  index: number,
  { problems, writer, check, attempts = 1 }: ColdStartOptions,
  signal: AbortSignal,
): Promise<Outcome> {
  const problem = problems[index];
  const tokens: Tokens = { prompt: 0, completion: 0, unreported: 0 };
  for (let attempt = 0; ; attempt++) {
    const tried = { attempts: attempt + 1, tokens };
    let text = '';
    let checked: ReturnType<typeof checkText>;
    try {
      const generation = await writer.write(problem, index, attempt, signal);
      ({ text } = generation);
      tokens.prompt += generation.tokens?.prompt ?? 0;
      tokens.completion += generation.tokens?.completion ?? 0;
      if (!generation.tokens) tokens.unreported++;
      checked = checkText(text, generation.truncated, problem, check);
    } catch (error) {
      if (signal.aborted || error instanceof UserError) throw error;
      return { kind: 'rejected', reason: 'request_failed', detail: messageOf(error), text, ...tried };
    }
    if ('completion' in checked) return { kind: 'kept', completion: checked.completion, ...tried };
    if (attempt + 1 >= attempts) return { kind: 'rejected', ...checked, text, ...tried };
  }
}

function openState({ problems, writer, state }: ColdStartOptions): ColdStartState {
  const hash = new ContentHash();
  hash.add(
    new TextEncoder().encode(JSON.stringify([writer.name, problems.map((p) => [p.prompt, p.answer])])),
  );
  const fingerprint = hash.hex;
  if (state === undefined || state === null) return { version: 1, fingerprint, done: {} };
  const parsed = v.safeParse(stateSchema, state);
  if (!parsed.success)
    throw new UserError(
      `The saved state of this cold start can't be read (${v.getDotPath(parsed.issues[0]) ?? 'root'}: ${parsed.issues[0].message}). Start anew.`,
    );
  if (parsed.output.fingerprint !== fingerprint)
    throw new UserError(
      'The saved state belongs to other problems or another model. Load the same problems and name the same model, or start anew.',
    );
  return parsed.output;
}

function reportOf(problems: number, { done }: ColdStartState): ColdStartReport {
  const byReason: ColdStartReport['byReason'] = {};
  const tokens: Tokens = { prompt: 0, completion: 0, unreported: 0 };
  let kept = 0;
  let rejected = 0;
  for (const outcome of Object.values(done)) {
    tokens.prompt += outcome.tokens.prompt;
    tokens.completion += outcome.tokens.completion;
    tokens.unreported += outcome.tokens.unreported;
    if (outcome.kind === 'kept') kept++;
    else {
      rejected++;
      byReason[outcome.reason] = (byReason[outcome.reason] ?? 0) + 1;
    }
  }
  const written = kept + rejected - (byReason.request_failed ?? 0);
  const passRate = written > 0 ? kept / written : null;
  return { problems, kept, rejected, pending: problems - kept - rejected, passRate, byReason, tokens };
}

function rowsOf({ problems, prompt = trainingPrompt }: ColdStartOptions, { done }: ColdStartState) {
  const rows: DataRow[] = [];
  const rejected: Rejected[] = [];
  problems.forEach(({ prompt: question, answer }, index) => {
    const outcome = done[index];
    if (outcome?.kind === 'kept')
      rows.push({ prompt: prompt(question), completion: outcome.completion, answer, turns: null });
    else if (outcome) {
      const { reason, detail, text } = outcome;
      rejected.push({ index, prompt: question, answer, reason, detail, text });
    }
  });
  return { rows, rejected };
}
