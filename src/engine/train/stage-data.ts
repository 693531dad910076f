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
/** Redraws after which a set of questions counts as used up: with 99 of 100 taken, one draw in 23,000 fails. */
const REDRAWS = 1000;

/** Rows that the user dropped, by name. */
export type DroppedData = ReadonlyMap<string, readonly Document[]>;

/**
 * The held-out problems of every evaluation set, in the recipe's order, with the plain or the parallel prompt. Within a
 * set no question comes twice: twins would make its interval narrower than it is.
 */
export function heldOutProblems(recipe: Recipe, parallel: boolean): Problem[][] {
  return recipe.evaluation.sets.map((set, index) => {
    const seen = new Set<string>();
    return Array.from({ length: set.problems }, (_, i) => {
      const rng = new Rng(recipe.seed, HELD_OUT, index, i);
      const terms = set.terms[i % set.terms.length];
      const knobs = set.byTerms
        ? { ...set, terms: [terms], difficulty: `${set.difficulty}, ${terms} terms` }
        : set;
      const problem = drawApart(() => drawProblem(rng, knobs, parallel), seen);
      if (!problem)
        throw new UserError(
          `The held-out set "${set.name}" asks for ${set.problems} different problems, but after ${i} of them no new one ` +
            `could be found in ${REDRAWS} tries. Lower its "problems" or widen its "terms".`,
        );
      seen.add(questionOf(problem.prompt));
      return problem;
    });
  });
}

function drawProblem(rng: Rng, knobs: TaskProblems, parallel: boolean): Problem {
  return taskNamed(knobs.task).problem(rng, knobs, parallel);
}

/**
 * What a prompt asks, however it is written: compatibility forms (NFKC), letter case, minus signs, white space and the
 * marks at its end, of which those of the built-in tasks say plain or parallel, make no difference.
 */
export function questionOf(prompt: string): string {
  return prompt
    .normalize('NFKC')
    .replace(/[\u2212\u2010-\u2015]/g, '-')
    .toLowerCase()
    .replace(/[\s?!.:]+$/, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([^\p{L}\p{N}]) ?/gu, '$1')
    .trim();
}

/** Questions that training must not see. */
export function heldOutQuestions(sets: readonly (readonly Problem[])[]): Set<string> {
  return new Set(sets.flatMap((set) => set.map((problem) => questionOf(problem.prompt))));
}

/** Draws until the question is none of these; null if that does not come about. */
function drawApart<T extends { prompt: string }>(draw: () => T, from: ReadonlySet<string>): T | null {
  for (let tries = 0; tries <= REDRAWS; tries++) {
    const one = draw();
    if (!from.has(questionOf(one.prompt))) return one;
  }
  return null;
}

/** Refuses to train on what a model is tested on. */
function drawForTraining<T extends { prompt: string }>(
  draw: () => T,
  heldOut: ReadonlySet<string>,
  stage: string,
): T {
  const one = drawApart(draw, heldOut);
  if (!one)
    throw new UserError(
      `Stage "${stage}" finds nothing to train on that is not in a held-out set: ${REDRAWS} draws in a row were. Lower ` +
        '"problems" of the evaluation sets or widen the stage’s "terms".',
    );
  return one;
}

/** Rows of a dropped file must not ask what a held-out set asks. */
function checkApart(
  rows: readonly Document[],
  heldOut: ReadonlySet<string>,
  stage: string,
  file: string,
): void {
  const shared = rows.flatMap(({ prompt }, i) => (heldOut.has(questionOf(prompt)) ? [i] : []));
  if (shared.length === 0) return;
  const [first] = shared;
  throw new UserError(
    `Stage "${stage}" would train on held-out questions: ${shared.length} of the ${rows.length} rows of "${file}" ask what ` +
      `an evaluation set asks, first row ${first + 1} (${JSON.stringify(rows[first].prompt.slice(0, 80))}). Remove these ` +
      'rows from the file, or change the recipe’s seed or its evaluation sets.',
  );
}

/** Problem source of a GRPO stage: `(step, index) → problem`. */
export function problemSource(
  recipe: Recipe,
  stageIndex: number,
  stage: GrpoStage,
  heldOut: ReadonlySet<string>,
): (step: number, index: number) => Problem {
  const parallel = stage.rollout.mode === 'parallel' && stage.rollout.parallelPrompt;
  return (step, index) => {
    const rng = new Rng(recipe.seed, stageIndex, step, PROBLEM, index);
    return drawForTraining(() => drawProblem(rng, stage.data, parallel), heldOut, stage.name);
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
        ...recipe.structure,
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
      const draw = () => task.document(rng, part.kind, { ...part, difficulty: part.kind });
      return drawForTraining(draw, heldOut, stage.name);
    };
  }
  const rows = dropped.get(data.name);
  if (!rows || rows.length === 0)
    throw new UserError(
      `Stage "${stage.name}" trains on the dropped file "${data.name}", which is not loaded. Drop it on the page first.`,
    );
  checkApart(rows, heldOut, stage.name, data.name);
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
