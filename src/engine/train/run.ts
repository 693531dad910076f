/**
 * Runs a recipe: its stages in order, an evaluation and a checkpoint after each, autosaves between steps. One async
 * generator; whoever drives it decides when to go on, so pause, single step and stop need no code here.
 */
import { UserError } from '../../base/assert.ts';
import { foldKey } from '../../base/rng.ts';
import { taskNamed } from '../data/tasks/index.ts';
import { modelConfigJson, parameterCount } from '../model/config.ts';
import { Decoder } from '../model/decoder.ts';
import { readFloatTensors } from '../model/safetensors.ts';
import type { CustomRewardRunner } from '../reward/custom.ts';
import { growingTree } from '../rollout/growing.ts';
import { memory } from '../tensor/tfjs.ts';
import { tagIds } from '../tokenizer/tags.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import { evaluate } from './evaluate.ts';
import type { Metrics, SavedFile, SavedRun, TrainEvent } from './events.ts';
import { grpo } from './grpo.ts';
import { Rails, type RailsState, type Verdict } from './guards-rails.ts';
import { AdamW } from './optimizer.ts';
import { curriculumWarnings } from './promotion.ts';
import type { GrpoStage, Recipe, SftStage, Stage } from './recipe.ts';
import { frozenReference } from './reference.ts';
import { CHECKED_ROWS, checkCustomReward } from './reward-check.ts';
import { modelFolder, saveRun } from './save.ts';
import {
  evaluationRollout,
  generateSettings,
  initialModel,
  type LoadedModel,
  type ModelSources,
} from './setup.ts';
import { sft } from './sft.ts';
import { stageBehaviour } from './stage-behaviour.ts';
import {
  type DroppedData,
  droppedRows,
  exampleSource,
  heldOutProblems,
  heldOutQuestions,
  problemSource,
} from './stage-data.ts';

export interface RunContext {
  /** Already scaled. */
  recipe: Recipe;
  /** Kept in saves, so that a resumed run is scaled alike. */
  scale: number;
  resume: SavedRun | null;
  dropped: DroppedData;
  droppedModel: LoadedModel | null;
  /** Config and tokenizer of the model that a resumed run began with; without it the recipe's source is asked again. */
  base?: Omit<LoadedModel, 'weights'> | null;
  loadShipped: ModelSources['loadShipped'];
  loadHub?: ModelSources['loadHub'];
  /** Runs the code of custom rewards, in a sandbox; a recipe that has one is refused without it. */
  customReward?: CustomRewardRunner;
}

/** Salt of the streams of evaluations. */
const EVALUATION = 0xea1;
/** Decode steps between two pictures of the growing group. */
const PROGRESS_EVERY = 2;

/** The current state of a run, for an export between steps. */
export interface RunHandle {
  events: AsyncGenerator<TrainEvent>;
  /** The model as a Hugging Face folder; only between two events. */
  exportModel(): Promise<SavedFile[]>;
  /** A save of the run as it is; null in the middle of a step, whose half no save can hold. */
  save(): Promise<SavedRun> | null;
  /** Whether it stands between two steps, where others may use the device. */
  readonly between: boolean;
}

interface Current {
  model: Decoder | null;
  tokenizer: Tokenizer | null;
  /** Set between two steps. */
  save: (() => Promise<SavedRun>) | null;
}

export function runRecipe(context: RunContext): RunHandle {
  const current: Current = { model: null, tokenizer: null, save: null };
  return {
    events: run(context, current),
    async exportModel() {
      if (!current.model || !current.tokenizer)
        throw new UserError(
          'There is no model to export yet. Start a run first; it can be exported from its first step on.',
        );
      return modelFolder(current.model, current.tokenizer);
    },
    save: () => current.save?.() ?? null,
    get between() {
      return current.save !== null;
    },
  };
}

async function* run(context: RunContext, current: Current): AsyncGenerator<TrainEvent> {
  const { recipe, resume } = context;
  const tensorsBefore = memory().numTensors;
  const saved = resume ? readFloatTensors(resume.state, 'the save') : null;
  const loaded =
    saved && context.base
      ? { ...context.base, weights: saved }
      : await initialModel(recipe, { ...context, documents: droppedRows(context.dropped) });
  const { tokenizer } = loaded;
  const model = new Decoder(loaded.config, saved ?? loaded.weights);
  current.model = model;
  current.tokenizer = tokenizer;

  let optimizer: AdamW | null = null;
  let reference: Decoder | null = null;
  const clock = new Clock(resume?.elapsedSeconds ?? 0);
  let tokens = resume?.tokens ?? 0;
  const place = (stage: number, step: number, rails?: RailsState) => ({
    recipe,
    scale: context.scale,
    stage,
    step,
    elapsedSeconds: clock.seconds,
    tokens,
    rails,
  });
  try {
    yield {
      type: 'run-started',
      recipe,
      stages: recipe.stages.map(({ name, kind, steps }) => ({ name, kind, steps })),
      parameters: parameterCount(loaded.config),
      vocabulary: loaded.config.vocabSize,
    };
    yield {
      type: 'base',
      config: modelConfigJson(loaded.config, tokenizer.special),
      tokenizerJson: tokenizer.json,
      tokenizerConfigJson: tokenizer.configJson,
    };
    if (!resume)
      for (const { stage, message } of curriculumWarnings(recipe))
        yield { type: 'notice', level: 'warning', stage, step: 0, message };
    const questions = heldOutQuestions(heldOutProblems(recipe, true));
    for (const [index, stage] of recipe.stages.entries())
      if (stage.kind === 'grpo') {
        const problem = problemSource(recipe, index, stage, questions);
        const problems = Array.from({ length: CHECKED_ROWS }, (_, i) => problem(1, i));
        const task = taskNamed(stage.data.task);
        const message = await checkCustomReward(stage, problems, { tokenizer, task }, context.customReward);
        if (message) yield { type: 'notice', level: 'info', stage: stage.name, step: 0, message };
      }

    for (let index = resume?.stage ?? 0; index < recipe.stages.length; index++) {
      const stage = recipe.stages[index];
      const resumed = resume?.stage === index ? resume : null;
      const firstStep = resumed?.step ?? 0;
      optimizer = new AdamW(model, stage, tagIds(tokenizer.special));
      if (resumed && saved && firstStep > 0) optimizer.restore(saved, resumed.optimizerSteps);
      if (stage.kind === 'grpo' && stage.klBeta > 0)
        reference = await frozenReference(model, firstStep > 0 ? saved : null);
      yield { type: 'stage-started', index };

      const notes: string[] = [];
      const examples =
        stage.kind === 'sft'
          ? exampleSource(recipe, index, stage, tokenizer, context.dropped, questions, (note) =>
              notes.push(note),
            )
          : null;
      for (const message of firstStep === 0 ? notes : [])
        yield { type: 'notice', level: 'info', stage: stage.name, step: 0, message };

      let lastSave = performance.now();
      const evaluation = (step: number) =>
        evaluateAll({ recipe, model, tokenizer, stage, stageIndex: index, step });
      // The parameters hide the stage's own: after a rollback it starts at another step, more slowly.
      const trainer = (stage: Stage, firstStep: number, optimizer: AdamW) =>
        stage.kind === 'sft'
          ? sftEvents(
              stage,
              sft({
                model,
                optimizer,
                stage,
                firstStep,
                examples: examples!,
              }),
            )
          : grpoEvents(
              stage,
              tokenizer,
              grpo({
                model,
                optimizer,
                reference,
                stage,
                seed: recipe.seed,
                stageIndex: index,
                firstStep,
                tokenizer,
                task: taskNamed(stage.data.task),
                settings: generateSettings(
                  stage.rollout,
                  taskNamed(stage.data.task),
                  tokenizer,
                  recipe.structure,
                ),
                layout: recipe.structure,
                problem: problemSource(recipe, index, stage, questions),
                customReward: context.customReward,
              }),
            );
      const rails = new Rails(stage, resumed?.rails);
      // Wherever it starts (step 0 always counts), so that there is something to go back to.
      if (rails.wantsCopy(0))
        rails.keep(await saveRun(model, optimizer, place(index, firstStep, rails.state), reference));
      const logged = new Map<number, Metrics>();
      let done = firstStep;
      let next: Verdict['next'];
      do {
        next = 'go-on';
        for await (const event of clock.timed(trainer(rails.stage, done, optimizer))) {
          if (event.type !== 'step') {
            yield event;
            continue;
          }
          tokens += event.metrics.num_tokens ?? 0;
          const { step } = event;
          const verdict = rails.see(step, event.metrics);
          next = verdict.next;
          // Not on the step that promotes: going on from there would take one more step of this stage.
          if (verdict.next === 'go-on')
            current.save = () => saveRun(model, optimizer, place(index, step, rails.state), reference);
          if (allFinite(event.metrics))
            yield {
              ...event,
              stageIndex: index,
              timeSeconds: clock.seconds,
              metrics: {
                ...event.metrics,
                num_tokens: tokens,
                ...(rails.solveRate !== null && { 'curriculum/solve_rate': rails.solveRate }),
              },
            };
          current.save = null;
          for (const notice of verdict.notices) yield { type: 'notice', stage: stage.name, step, ...notice };
          if (verdict.next === 'stop') {
            if (rails.lastGood) yield { type: 'autosave', saved: rails.lastGood };
            throw new UserError(verdict.reason);
          }
          if (next === 'roll-back') break;
          done = step;
          logged.set(step, event.metrics);
          const every = stage.kind === 'grpo' ? stage.evaluateEvery : 0;
          if (every > 0 && step % every === 0 && step < stage.steps) yield* clock.timed(evaluation(step));
          if (rails.wantsCopy(step) && step < stage.steps)
            rails.keep(await saveRun(model, optimizer, place(index, step, rails.state), reference));
          if (next === 'promote') break;
          if (performance.now() - lastSave > recipe.autosave.minutes * 60_000 && step < stage.steps) {
            yield {
              type: 'autosave',
              saved: await saveRun(model, optimizer, place(index, step, rails.state), reference),
            };
            lastSave = performance.now();
          }
        }
        if (next === 'roll-back') {
          done = rails.goBack(model, optimizer);
          for (const step of logged.keys()) if (step > done) logged.delete(step);
          yield { type: 'rollback', stage: stage.name, stageIndex: index, step: done };
        }
      } while (next === 'roll-back');
      const short = rails.fallShort();
      if (short) yield { type: 'notice', level: 'warning', stage: stage.name, step: done, message: short };
      yield* clock.timed(evaluation(done));
      const behaviour = stageBehaviour([...logged.values()]);
      yield { type: 'checkpoint', stage: stage.name, files: await modelFolder(model, tokenizer), behaviour };
      yield {
        type: 'autosave',
        saved: await saveRun(model, null, place(index + 1, 0)),
      };
      optimizer.dispose();
      optimizer = null;
      reference?.dispose();
      reference = null;
    }
  } finally {
    optimizer?.dispose();
    reference?.dispose();
    model.dispose();
    current.model = null;
    const left = memory().numTensors - tensorsBefore;
    if (left > 0) console.warn(`${left} tensors were left behind by the run`);
  }
}

/** Time spent working, pauses left out: it runs only while the generator does. */
class Clock {
  seconds: number;
  constructor(seconds: number) {
    this.seconds = seconds;
  }

  async *timed<E>(events: AsyncGenerator<E>): AsyncGenerator<E> {
    try {
      for (;;) {
        const started = performance.now();
        const next = await events.next();
        this.seconds += (performance.now() - started) / 1000;
        if (next.done) return;
        yield next.value;
      }
    } finally {
      await events.return(undefined);
    }
  }
}

/** A step as the trainers tell it; `run` adds the stage's index and the time. */
type StageEvent =
  | Exclude<TrainEvent, { type: 'step' }>
  | Omit<Extract<TrainEvent, { type: 'step' }>, 'stageIndex' | 'timeSeconds'>;

async function* sftEvents(stage: SftStage, steps: ReturnType<typeof sft>): AsyncGenerator<StageEvent> {
  for await (const step of steps) {
    if (step === null) yield { type: 'tick' };
    else yield { type: 'step', stage: stage.name, kind: 'sft', step: step.step, metrics: step.metrics };
  }
}

async function* grpoEvents(
  stage: GrpoStage,
  tokenizer: Tokenizer,
  events: ReturnType<typeof grpo>,
): AsyncGenerator<StageEvent> {
  let decoded = 0;
  for await (const event of events) {
    switch (event.type) {
      case 'progress': {
        const done = event.rows.every((row) => row.done);
        if (!done && decoded++ % PROGRESS_EVERY !== 0) yield { type: 'tick' };
        else
          yield {
            type: 'rollout-progress',
            stage: stage.name,
            step: event.step,
            prompt: event.prompt,
            trees: event.rows.map((row) => growingTree(row, tokenizer)),
            done,
          };
        break;
      }
      case 'records':
        yield { type: 'rollouts', records: event.records };
        break;
      case 'step':
        yield { type: 'step', stage: stage.name, kind: 'grpo', step: event.step, metrics: event.metrics };
        break;
      case 'tick':
        yield event;
        break;
      default:
        event satisfies never;
    }
  }
}

interface EvaluateAllContext {
  recipe: Recipe;
  model: Decoder;
  tokenizer: Tokenizer;
  stage: Stage;
  stageIndex: number;
  step: number;
}

async function* evaluateAll(context: EvaluateAllContext): AsyncGenerator<TrainEvent> {
  const { recipe, model, tokenizer, stage, stageIndex, step } = context;
  const rollout = evaluationRollout(recipe, stage, stageIndex);
  const [plain, parallel] = [false, true].map((asked) => heldOutProblems(recipe, asked));
  for (const [i, set] of recipe.evaluation.sets.entries()) {
    const task = taskNamed(set.task);
    const settings = (mode: typeof rollout.mode) =>
      generateSettings(
        { ...rollout, mode, paths: set.paths ?? rollout.paths },
        task,
        tokenizer,
        recipe.structure,
      );
    const evaluations = evaluate({
      model,
      tokenizer,
      task,
      set,
      stageMode: rollout.mode,
      problems: { sequential: plain[i], parallel: parallel[i] },
      settings: { sequential: settings('sequential'), parallel: settings('parallel') },
      key: foldKey(recipe.seed, EVALUATION, i),
    });
    for await (const done of evaluations)
      if (done === null) yield { type: 'tick' };
      else
        yield {
          type: 'evaluation',
          stage: stage.name,
          stageIndex,
          step,
          difficulty: set.difficulty,
          ...done,
        };
  }
}

const allFinite = ({ loss, grad_norm: norm }: Metrics): boolean =>
  [loss, norm].every((value) => value === undefined || Number.isFinite(value));
