import type { Rng } from '../../../base/rng.ts';
import type { Document, Problem } from '../example.ts';

/** Noise that the rollout adds on purpose: the token after `after` becomes a uniform one of `replacements`. */
export interface StepNoise {
  after: string;
  replacements: readonly string[];
  probability: number;
}

/**
 * A built-in task: it makes problems and documents from a seed and judges answers. A second task is one more file
 * and a line in `tasks/index.ts`. Knobs come from the recipe's `data` object, checked by `parseKnobs`.
 */
export interface Task {
  readonly name: string;
  /** The tokens of the task's small vocabulary besides <pad>, <bos>, <eos> and the six tags, in id order. */
  readonly vocabulary: readonly string[];
  /** Pattern (JavaScript regular expression source) that splits text into vocabulary items. */
  readonly splitPattern: string;
  /** Draws a problem. `parallel` picks the parallel-thinking prompt. */
  problem(rng: Rng, knobs: ProblemKnobs, parallel: boolean): Problem;
  /** A document for a supervised stage. */
  document(rng: Rng, kind: DocumentKind, knobs: DocumentKnobs): Document;
  /** What announces the answer: the response must end in the tokens of this text and the answer, and nothing else. */
  readonly answerMarker: string;
  /** The answer in a finished response (no end-of-text token in it), or null. */
  extractAnswer(response: string): string | null;
  /** Whether an answer solves a problem, for tasks whose problems have several right answers; else only the gold does. */
  solves?(problem: Pick<Problem, 'prompt'>, answer: string): boolean;
  /** The answer that a path or a stretch of trunk arrives at, or null: for agreement and exploration metrics. */
  intermediateAnswer(text: string): string | null;
  /** What the rollout's step noise looks like for this task at the given probability; null if it has none. */
  stepNoise(probability: number): StepNoise | null;
}

/** Whether an answer (null: none) is right. */
export function isRight(task: Pick<Task, 'solves'>, problem: Problem, answer: string | null): boolean {
  if (answer === null) return false;
  return task.solves ? task.solves(problem, answer) : answer === problem.answer;
}

/** Difficulty knobs of a problem. `n` (number of terms) is drawn uniformly from `terms`. */
export interface ProblemKnobs {
  difficulty: string;
  terms: readonly number[];
  /** Probability that a term is big (≥ 10); null = uniform over all values. */
  bigShare: number | null;
}

export type DocumentKind = 'base' | 'sequential' | 'parallel';

export interface DocumentKnobs extends ProblemKnobs {
  /** Probability that the teacher's step on a small / big operand goes wrong. */
  teacherNoiseSmall: number;
  teacherNoiseBig: number;
  /** Share of base documents with repeated derivations and a vote. */
  redoShare: number;
  /** Weights of the trajectory templates (parallel kind): S no fork, E early, L late, EL both. */
  templates: Readonly<Partial<Record<'S' | 'E' | 'L' | 'EL', number>>>;
  /** Paths per block. */
  paths: number;
  /** Most attempts of a solution that tries again in one thread (sign search). */
  attempts: number;
  /** Most blocks of an early fork: another follows while none has hit (sign search). */
  blocks: number;
  /** With this probability the response's positions start up to `gapMax − 1` later. */
  gapProbability: number;
  gapMax: number;
}
