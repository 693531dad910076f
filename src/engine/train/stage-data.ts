/** Where a stage's documents and problems come from: the same ones for the same (seed, stage, step). */
import { UserError } from '../../base/assert.ts';
import { Rng } from '../../base/rng.ts';
import type { Document, Example, Problem } from '../data/example.ts';
import { type RowSource, rowsOf } from '../data/rows.ts';
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

/** The name that stands for every data set that is loaded. */
export const ALL_DATA = '*';

/** Data sets that the user dropped, by name; `*` is all of them, where a stage asks for that. */
export type DroppedData = ReadonlyMap<string, RowSource>;

export function* droppedRows(dropped: DroppedData): Generator<Document> {
  for (const source of dropped.values()) yield* rowsOf(source);
}

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

/** Whether a prompt alone takes all the tokens of an example, so that nothing of the completion is left to learn. */
function fillsLimit(prompt: string, { loss, maxTokens }: SftStage, tokenizer: Tokenizer): boolean {
  if (loss === 'all') return false;
  const before = tokenizer.special.bos >= 0 ? 1 : 0;
  // A token is a byte at least, in every vocabulary that has tokens for bytes or characters: most need no tokenizer.
  if (before + 3 * prompt.length < maxTokens) return false;
  return before + tokenizer.encode(prompt).length >= maxTokens;
}

/**
 * Which rows of a dropped file a supervised stage learns from: those that have something to write, within its limit of
 * tokens. None of them may ask what a held-out set asks.
 */
function trainableRows(
  rows: RowSource,
  heldOut: ReadonlySet<string>,
  stage: SftStage,
  tokenizer: Tokenizer,
  note: (message: string) => void,
): Uint32Array {
  const trainable: number[] = [];
  const shared: number[] = [];
  let [wordless, filled] = [0, 0];
  for (let i = 0; i < rows.length; i++) {
    const { prompt, completion } = rows.row(i);
    if (heldOut.size > 0 && heldOut.has(questionOf(prompt))) shared.push(i);
    if (completion.trim() === '') wordless++;
    else if (fillsLimit(prompt, stage, tokenizer)) filled++;
    else trainable.push(i);
  }
  if (shared.length > 0) {
    const [first] = shared;
    throw new UserError(
      `Stage "${stage.name}" would train on held-out questions: ${shared.length} of the ${rows.length} rows of "${rows.name}" ask what ` +
        `an evaluation set asks, first row ${first + 1} (${JSON.stringify(rows.row(first).prompt.slice(0, 80))}). Remove these ` +
        'rows from the file, or change the recipe’s seed or its evaluation sets.',
    );
  }
  if (trainable.length === 0)
    throw new UserError(
      filled > 0
        ? `Stage "${stage.name}" has nothing to learn from "${rows.name}": the prompts of ${filled} of its ${rows.length} rows alone fill the limit of ${stage.maxTokens} tokens. Raise the stage's maxTokens.`
        : `Stage "${stage.name}" has nothing to learn from "${rows.name}": its ${rows.length} rows have a problem and perhaps its ` +
            'answer, but no solution to write. Use it for reinforcement learning, or load a file with completions.',
    );
  if (wordless + filled > 0)
    note(
      `Stage "${stage.name}" learns from ${trainable.length} of the ${rows.length} rows of "${rows.name}".` +
        (wordless > 0 ? ` ${wordless} have nothing to write.` : '') +
        (filled > 0
          ? ` Of ${filled} the prompt alone fills the limit of ${stage.maxTokens} tokens; raise maxTokens to learn from them.`
          : ''),
    );
  return Uint32Array.from(trainable);
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

/**
 * Batch source of a supervised stage: `step → examples`.
 * @param note is told of rows that the stage can't learn from
 */
export function exampleSource(
  recipe: Recipe,
  stageIndex: number,
  stage: SftStage,
  tokenizer: Tokenizer,
  dropped: DroppedData,
  heldOut: ReadonlySet<string>,
  note: (message: string) => void = () => {},
): (step: number) => Example[] {
  const document = documentSource(recipe, stageIndex, stage, tokenizer, dropped, heldOut, note);
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
  tokenizer: Tokenizer,
  dropped: DroppedData,
  heldOut: ReadonlySet<string>,
  note: (message: string) => void,
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
      data.name === ALL_DATA
        ? `Stage "${stage.name}" trains on the data that you dropped, but none is loaded. Drop a file on the page first.`
        : `Stage "${stage.name}" trains on the dropped file "${data.name}", which is not loaded. Drop it on the page first.`,
    );
  const trainable = trainableRows(rows, heldOut, stage, tokenizer, note);
  // Each epoch is a permutation of its own, so that every row is seen once before any is seen twice.
  let epoch = -1;
  let order: number[] = [];
  return (step, index) => {
    const at = (step - 1) * stage.batchSize + index;
    const wanted = Math.floor(at / trainable.length);
    if (wanted !== epoch) {
      epoch = wanted;
      order = new Rng(recipe.seed, stageIndex, SHUFFLE, epoch).shuffle([...trainable]);
    }
    return rows.row(order[at % trainable.length]);
  };
}
