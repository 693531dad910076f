/** Where a stage's documents and problems come from: the same ones for the same (seed, stage, step). */
import { UserError } from '../../base/assert.ts';
import { Rng } from '../../base/rng.ts';
import type { Document, Example, Problem } from '../data/example.ts';
import { taskNamed } from '../data/tasks/index.ts';
import { exampleOf } from '../rollout/example.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import type { GrpoStage, Recipe, SftStage, TaskProblems } from './recipe.ts';

/** Salts of the streams. */
const DOCUMENT = 0xd0c;
const PROBLEM = 0x9b0b;
const HELD_OUT = 0xe7a1;
const SHUFFLE = 0x5bf1;
/** Redraws before a held-out problem is let through: small problem sets may consist of little else. */
const REDRAWS = 50;

/** Rows that the user dropped, by name. */
export type DroppedData = ReadonlyMap<string, readonly Document[]>;

/** The held-out problems of every evaluation set, in the recipe's order, with the plain or the parallel prompt. */
export function heldOutProblems(recipe: Recipe, parallel: boolean): Problem[][] {
  return recipe.evaluation.sets.map((set, index) => {
    const seen = new Set<string>();
    return Array.from({ length: set.problems }, (_, i) => {
      const rng = new Rng(recipe.seed, HELD_OUT, index, i);
      let problem = drawProblem(rng, set, parallel);
      for (let tries = 0; seen.has(problem.prompt) && tries < REDRAWS; tries++)
        problem = drawProblem(rng, set, parallel);
      seen.add(problem.prompt);
      return problem;
    });
  });
}

function drawProblem(rng: Rng, knobs: TaskProblems, parallel: boolean): Problem {
  return taskNamed(knobs.task).problem(rng, knobs, parallel);
}

/** What a prompt asks, whichever way it asks for it: the last character only says plain or parallel. */
const question = (prompt: string): string => prompt.slice(0, -1);

/** Questions that training must not see. */
export function heldOutQuestions(sets: readonly (readonly Problem[])[]): Set<string> {
  return new Set(sets.flatMap((set) => set.map((problem) => question(problem.prompt))));
}

/** Draws until the question is not held out. */
function drawApart<T extends { prompt: string }>(draw: () => T, heldOut: ReadonlySet<string>): T {
  let one = draw();
  for (let tries = 0; heldOut.has(question(one.prompt)) && tries < REDRAWS; tries++) one = draw();
  return one;
}

/** Problem source of a GRPO stage: `(step, index) → problem`. */
export function problemSource(
  recipe: Recipe,
  stageIndex: number,
  stage: GrpoStage,
  heldOut: ReadonlySet<string>,
): (step: number, index: number) => Problem {
  const parallel = stage.rollout.mode === 'parallel';
  return (step, index) => {
    const rng = new Rng(recipe.seed, stageIndex, step, PROBLEM, index);
    return drawApart(() => drawProblem(rng, stage.data, parallel), heldOut);
  };
}

/** Batch source of a supervised stage: `step → examples`. */
export function exampleSource(
  recipe: Recipe,
  stageIndex: number,
  stage: SftStage,
  tokenizer: Tokenizer,
  dropped: DroppedData,
  heldOut: ReadonlySet<string>,
): (step: number) => Example[] {
  const document = documentSource(recipe, stageIndex, stage, dropped, heldOut);
  return (step) =>
    Array.from({ length: stage.batchSize }, (_, index) => {
      const example = exampleOf(document(step, index), tokenizer, {
        loss: stage.loss,
        maxTokens: stage.maxTokens,
      });
      return example;
    });
}

function documentSource(
  recipe: Recipe,
  stageIndex: number,
  stage: SftStage,
  dropped: DroppedData,
  heldOut: ReadonlySet<string>,
): (step: number, index: number) => Document {
  const { data } = stage;
  if (data.source === 'task') {
    const task = taskNamed(data.task);
    const weights = Object.fromEntries(data.mix.map((part, i) => [String(i), part.weight]));
    return (step, index) => {
      const rng = new Rng(recipe.seed, stageIndex, step, DOCUMENT, index);
      const part = data.mix[Number(rng.weighted(weights))];
      return drawApart(() => task.document(rng, part.kind, { ...part, difficulty: part.kind }), heldOut);
    };
  }
  const rows = dropped.get(data.name);
  if (!rows || rows.length === 0)
    throw new UserError(
      `Stage "${stage.name}" trains on the dropped file "${data.name}", which is not loaded. Drop it on the page first.`,
    );
  // Each epoch is a permutation of its own, so that every row is seen once before any is seen twice.
  let epoch = -1;
  let order: number[] = [];
  return (step, index) => {
    const at = (step - 1) * stage.batchSize + index;
    const wanted = Math.floor(at / rows.length);
    if (wanted !== epoch) {
      epoch = wanted;
      order = new Rng(recipe.seed, stageIndex, SHUFFLE, epoch).shuffle(rows.map((_, i) => i));
    }
    return rows[order[at % rows.length]];
  };
}
