/** What a question is asked with: the model's task, its prompts, the sampling settings, and problems to ask. */
import { UserError } from '../../base/assert.ts';
import type { Rng } from '../../base/rng.ts';
import type { Problem } from '../data/example.ts';
import { TASKS, taskNamed } from '../data/tasks/index.ts';
import type { ProblemKnobs, Task } from '../data/tasks/task.ts';
import type { GenerateSettings } from '../rollout/generate.ts';
import { chatPrompt } from '../tokenizer/chat-template.ts';
import { TAGS } from '../tokenizer/tags.ts';
import { SPECIAL_TOKENS } from '../tokenizer/task-tokenizer.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import type { AskContext } from './ask.ts';
import type { Recipe } from './recipe.ts';
import { generateSettings, recipeTask } from './setup.ts';

/** What the person may choose about every response. */
export type AskLimits = Pick<GenerateSettings, 'maxTokens' | 'temperature'>;

/** What a model that no recipe speaks for is asked with; it has hardly seen a fork, so that blocks stay few. */
const FREE: GenerateSettings = {
  paths: 2,
  maxBlocks: 2,
  pathTokens: 96,
  summaryTokens: 48,
  maxTokens: 256,
  parallel: true,
  noise: null,
  temperature: 0.7,
  topK: 0,
  topP: 1,
  minP: 0,
};

/** The prompt for parallel thinking of Parallel-R1 (arXiv 2509.07980, appendix), in short. */
const PARALLEL_INSTRUCTION = `Solve the problem step by step. Whenever a step may benefit from several perspectives, insert a parallel block with at least two independent paths that do not refer to each other, then a concise summary: <Parallel><Path>…</Path><Path>…</Path></Parallel><Summary>…</Summary>. End with "Final Answer:" and the answer.`;
const PLAIN_INSTRUCTION = 'Solve the problem step by step. End with "Final Answer:" and the answer.';

/** A model with the vocabulary of a built-in task knows nothing else. */
function taskByVocabulary(tokenizer: Tokenizer): Task | null {
  const fixed = SPECIAL_TOKENS.length + TAGS.length;
  const all = Object.values(TASKS).filter(
    ({ vocabulary }) =>
      tokenizer.vocabSize === vocabulary.length + fixed &&
      vocabulary.every((item) => tokenizer.id(item) >= 0),
  );
  // Tasks that share their tokens can't be told apart by them: the first is the one that ships with a model.
  return all[0] ?? null;
}

/** Whose answers a model gives: the task of its recipe, or the one whose vocabulary it has; null = free text. */
export function taskOfModel(recipe: Recipe | null, tokenizer: Tokenizer): Task | null {
  return (recipe && recipeTask(recipe)) ?? taskByVocabulary(tokenizer);
}

/** The mark that a task's prompts end in is ours to put: it says plain or parallel. */
const unmarked = (question: string): string => question.trim().replace(/[?!]+$/, '');

/** A question as it is asked plainly and for parallel thinking. */
export function askPrompts(
  question: string,
  task: Task | null,
  tokenizer: Pick<Tokenizer, 'configJson'>,
): AskContext['prompts'] {
  if (question.trim() === '') throw new UserError('There is no question to ask. Write one first.');
  if (task) {
    const bare = unmarked(question).replace(/\s+/g, '');
    return { plain: `${bare}?`, parallel: `${bare}!` };
  }
  const asked = (instruction: string) =>
    chatPrompt(tokenizer, [{ role: 'user', content: `${instruction}\n\n${question.trim()}` }]) ??
    `${question.trim()}\n`;
  return { plain: asked(PLAIN_INSTRUCTION), parallel: asked(PARALLEL_INSTRUCTION) };
}

/** As the recipe evaluates, or ours for a model without one; with the person's own limits. */
export function askSettings(
  recipe: Recipe | null,
  task: Task | null,
  tokenizer: Tokenizer,
  limits: Partial<AskLimits>,
): GenerateSettings {
  const own =
    recipe && task
      ? generateSettings(recipe.evaluation.rollout, task, tokenizer, recipe.structure)
      : task
        ? { ...FREE, pathTokens: 80, summaryTokens: 24, maxTokens: 170, temperature: 1 }
        : FREE;
  return { ...own, ...limits };
}

const PROBLEMS: ProblemKnobs = { difficulty: 'drawn', terms: [2, 3], bigShare: 0.25 };

/** A problem of the model's task: as hard as the recipe's last held-out set of that task, where there is one. */
export function drawQuestion(recipe: Recipe | null, task: Task, rng: Rng): Problem {
  const set = recipe?.evaluation.sets.findLast((one) => one.task === task.name);
  return taskNamed(task.name).problem(rng, set ?? PROBLEMS, false);
}

/**
 * Votes that cost what one parallel response cost: the largest number of sequential responses whose tokens are no more,
 * at least one (the rule of the evaluation, self-consistency at equal tokens).
 */
export function equalVotes(parallelTokens: number, sequentialTokens: number): number {
  return Math.min(128, Math.max(1, Math.floor(parallelTokens / Math.max(1, sequentialTokens))));
}
