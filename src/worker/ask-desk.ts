/**
 * Answers a person's questions: takes the model that is asked, asks it in one way after another, and tells what is
 * written. One question at a time; between two tokens it can be stopped.
 */
import { messageOf, UserError } from '../base/assert.ts';
import { Rng } from '../base/rng.ts';
import { readModelFolder } from '../engine/model/checkpoint.ts';
import { Decoder } from '../engine/model/decoder.ts';
import { loadTokenizer } from '../engine/tokenizer/hf-tokenizer.ts';
import { type AskResult, ask } from '../engine/train/ask.ts';
import type { AskMode } from '../engine/train/ask-mode.ts';
import { askPrompts, askSettings, drawQuestion, equalVotes, taskOfModel } from '../engine/train/ask-setup.ts';
import type { SavedFile } from '../engine/train/events.ts';
import type { Recipe } from '../engine/train/recipe.ts';
import type { LoadedModel } from '../engine/train/setup.ts';
import { breathe } from './breathe.ts';
import type { AskModel, AskRequest, EngineEvent } from './protocol.ts';

type AskEvent = Extract<EngineEvent, { type: `ask-${string}` }>;

/** A model that is asked, and the recipe that trained it, where there is one. */
export interface AskedModel {
  model: LoadedModel;
  recipe: Recipe | null;
}

export interface DeskOptions {
  /** Finds a model; throws a sentence where there is none. */
  load(which: AskModel): Promise<AskedModel>;
  post(event: AskEvent): void;
  /** Milliseconds between two pictures of what is written. */
  viewEvery?: number;
}

/** The folder of a checkpoint as a model. */
export function modelOfFolder(files: readonly SavedFile[]): LoadedModel {
  const folder = readModelFolder(new Map(files.map(({ path, bytes }) => [path, bytes])));
  return {
    config: folder.config,
    weights: folder.weights,
    tokenizer: loadTokenizer(folder.tokenizerJson, folder.tokenizerConfigJson),
  };
}

const VIEW_MS = 100;

export class AskDesk {
  private going: { id: string; stopped: boolean } | null = null;

  constructor(private readonly options: DeskOptions) {}

  get busy(): boolean {
    return this.going !== null;
  }

  /** Asks in each way in turn; a failure ends it with its sentence. */
  async ask(request: AskRequest): Promise<void> {
    if (this.going)
      throw new UserError('A question is being answered already. Wait for the answer, or stop it.');
    const own = { id: request.id, stopped: false };
    this.going = own;
    const { post } = this.options;
    let failure: string | null = null;
    try {
      await this.answer(request, own);
    } catch (error) {
      if (!(error instanceof UserError)) console.error(error);
      failure = messageOf(error);
    } finally {
      this.going = null;
    }
    post({ type: 'ask-done', id: request.id, stopped: own.stopped, failure });
  }

  stop(): void {
    if (this.going) this.going.stopped = true;
  }

  /** A problem that the model was trained for. */
  async draw(id: string, which: AskModel, seed: number): Promise<void> {
    const { model, recipe } = await this.options.load(which);
    const task = taskOfModel(recipe, model.tokenizer);
    if (!task)
      throw new UserError(
        'This model was not trained on a built-in task, so there is no problem to draw. Write a question of your own.',
      );
    const { prompt, answer } = drawQuestion(recipe, task, new Rng(seed));
    this.options.post({ type: 'ask-problem', id, question: prompt.replace(/[?!]$/, ''), answer });
  }

  private async answer(request: AskRequest, own: { stopped: boolean }): Promise<void> {
    const { id, question, gold, limits } = request;
    const { model, recipe } = await this.options.load(request.model);
    const { tokenizer, config } = model;
    const task = taskOfModel(recipe, tokenizer);
    const prompts = askPrompts(question, task, tokenizer);
    const settings = askSettings(recipe, task, tokenizer, limits);
    this.options.post({
      type: 'ask-started',
      id,
      prompts,
      task: task?.name ?? null,
      maxTokens: settings.maxTokens,
      temperature: settings.temperature,
    });
    if (own.stopped) return;
    const decoder = new Decoder(config, model.weights);
    try {
      const cost: { parallel?: number; sequential?: number } = {};
      for (const [column, asked] of request.modes.entries()) {
        const mode = request.equalTokens ? atEqualTokens(asked, cost) : asked;
        const context = { model: decoder, tokenizer, task, prompts, gold, settings, mode, key: request.seed };
        const result = await this.one(id, column, ask(context), own);
        if (!result) return;
        if (mode.kind === 'parallel' || mode.kind === 'sequential') cost[mode.kind] = result.tokens.total;
        this.options.post({ type: 'ask-result', id, column, mode, result });
      }
    } finally {
      decoder.dispose();
    }
  }

  /** One way; null if it was stopped. */
  private async one(
    id: string,
    column: number,
    asking: ReturnType<typeof ask>,
    own: { stopped: boolean },
  ): Promise<AskResult | null> {
    const every = this.options.viewEvery ?? VIEW_MS;
    let shown = -Infinity;
    try {
      for (;;) {
        const next = await asking.next();
        if (next.done) return next.value;
        if (performance.now() - shown >= every) {
          this.options.post({ type: 'ask-view', id, column, view: next.value });
          shown = performance.now();
        }
        await breathe();
        if (own.stopped) return null;
      }
    } finally {
      await asking.return(undefined as never);
    }
  }
}

/** As many votes as the tokens of the parallel response buy, once it and a sequential one were heard. */
function atEqualTokens(mode: AskMode, cost: { parallel?: number; sequential?: number }): AskMode {
  if (mode.kind !== 'vote' || cost.parallel === undefined || cost.sequential === undefined) return mode;
  return { ...mode, votes: equalVotes(cost.parallel, cost.sequential) };
}
