/** Who writes trajectories: a built-in task's teacher, a given sampler (the loaded model), or an endpoint (endpoint.ts). */
import { assert } from '../../../base/assert.ts';
import { Rng } from '../../../base/rng.ts';
import type { DocumentKnobs, Task } from '../../data/tasks/task.ts';
import type { ColdProblem } from './check.ts';

export interface Generation {
  text: string;
  /** It ended at the token limit, not by itself. */
  truncated: boolean;
  /** As the writer counts them; null where it does not say. */
  tokens: { prompt: number; completion: number } | null;
}

/** One problem could not be asked; others may go on. Its message is for the person at the page. */
export class RequestFailed extends Error {
  override name = 'RequestFailed';
}

export interface Writer {
  /** What tells two writers apart, without secrets: a resumed run must have the same one. */
  readonly name: string;
  /** Problems asked at the same time. */
  readonly concurrency: number;
  /**
   * Writes one trajectory.
   * @param attempt 0-based, of this problem
   * @throws RequestFailed for this problem alone; UserError where no further request can succeed
   */
  write(problem: ColdProblem, index: number, attempt: number, signal?: AbortSignal): Promise<Generation>;
}

/** Salt of the stream. */
const COLD_START = 0xc01d;

/** Problems of a built-in task and the noisy teacher that solves them: one draw gives both. Attempts do not differ. */
export function taskWriter(
  task: Task,
  knobs: DocumentKnobs,
  seed: number,
  count: number,
): { problems: ColdProblem[]; writer: Writer } {
  const stream = (index: number) => new Rng(seed, COLD_START, index);
  // A problem and a document of the same stream have the same terms: both draw these first.
  const problems = Array.from({ length: count }, (_, index) => task.problem(stream(index), knobs, true));
  const writer: Writer = {
    name: `task ${task.name}, seed ${seed}`,
    concurrency: 1,
    async write(problem, index) {
      const { prompt, completion } = task.document(stream(index), 'parallel', knobs);
      assert(prompt === problem.prompt, `document ${index} of ${task.name} solves another problem`);
      return { text: completion, truncated: false, tokens: null };
    },
  };
  return { problems, writer };
}

/** A function that writes, such as the loaded model. What it throws fails its problem alone. */
export function samplerWriter(
  name: string,
  sample: (question: string, attempt: number, signal?: AbortSignal) => Promise<Generation>,
  concurrency = 1,
): Writer {
  return { name, concurrency, write: ({ prompt }, _, attempt, signal) => sample(prompt, attempt, signal) };
}
