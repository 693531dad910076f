/**
 * Runs a recipe: its stages in order, an evaluation and a checkpoint after each, autosaves between steps. One async
 * generator; whoever drives it decides when to go on, so pause, single step and stop need no code here.
 */
import { UserError } from '../../base/assert.ts';
import { foldKey } from '../../base/rng.ts';
import { taskNamed } from '../data/tasks/index.ts';
import { parameterCount } from '../model/config.ts';
import { Decoder } from '../model/decoder.ts';
import { readFloatTensors } from '../model/safetensors.ts';
import { type RowView, textOrder } from '../rollout/row.ts';
import { type RolloutTree, treeOf } from '../rollout/tree.ts';
import { memory } from '../tensor/tfjs.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import { evaluate } from './evaluate.ts';
import type { SavedFile, SavedRun, TrainEvent } from './events.ts';
import { grpo } from './grpo.ts';
import { AdamW } from './optimizer.ts';
import type { GrpoStage, Recipe, SftStage, Stage } from './recipe.ts';
import { modelFolder, saveRun } from './save.ts';
import {
  evaluationRollout,
  generateSettings,
  initialModel,
  type LoadedModel,
  type ModelSources,
} from './setup.ts';
import { sft } from './sft.ts';
import {
  type DroppedData,
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
  loadShipped: ModelSources['loadShipped'];
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
}

export function runRecipe(context: RunContext): RunHandle {
  const current: { model: Decoder | null; tokenizer: Tokenizer | null } = { model: null, tokenizer: null };
  return {
    events: run(context, current),
    async exportModel() {
      if (!current.model || !current.tokenizer)
        throw new UserError(
          'There is no model to export yet. Start a run first; it can be exported from its first step on.',
        );
      return modelFolder(current.model, current.tokenizer);
    },
  };
}

async function* run(
  context: RunContext,
  current: { model: Decoder | null; tokenizer: Tokenizer | null },
): AsyncGenerator<TrainEvent> {
  const { recipe, resume } = context;
  const tensorsBefore = memory().numTensors;
  const loaded = await initialModel(recipe, { ...context, documents: [...context.dropped.values()].flat() });
  const { tokenizer } = loaded;
  const saved = resume ? readFloatTensors(resume.state, 'the save') : null;
  const model = new Decoder(loaded.config, saved ?? loaded.weights);
  current.model = model;
  current.tokenizer = tokenizer;

  let optimizer: AdamW | null = null;
  const clock = new Clock(resume?.elapsedSeconds ?? 0);
  let tokens = resume?.tokens ?? 0;
  const place = (stage: number, step: number) => ({
    recipe,
    scale: context.scale,
    stage,
    step,
    elapsedSeconds: clock.seconds,
    tokens,
  });
  try {
    yield {
      type: 'run-started',
      recipe,
      stages: recipe.stages.map(({ name, kind, steps }) => ({ name, kind, steps })),
      parameters: parameterCount(loaded.config),
      vocabulary: loaded.config.vocabSize,
    };
    const questions = heldOutQuestions(heldOutProblems(recipe, true));

    for (let index = resume?.stage ?? 0; index < recipe.stages.length; index++) {
      const stage = recipe.stages[index];
      const resumed = resume?.stage === index ? resume : null;
      const firstStep = resumed?.step ?? 0;
      optimizer = new AdamW(model, stage);
      if (resumed && saved && firstStep > 0) optimizer.restore(saved, resumed.optimizerSteps);
      yield { type: 'stage-started', index };

      let lastSave = performance.now();
      const evaluation = (step: number) =>
        evaluateAll({ recipe, model, tokenizer, stage, stageIndex: index, step });
      const events =
        stage.kind === 'sft'
          ? sftEvents(
              stage,
              sft({
                model,
                optimizer,
                stage,
                firstStep,
                examples: exampleSource(recipe, index, stage, tokenizer, context.dropped, questions),
              }),
            )
          : grpoEvents(
              stage,
              tokenizer,
              grpo({
                model,
                optimizer,
                stage,
                seed: recipe.seed,
                stageIndex: index,
                firstStep,
                tokenizer,
                task: taskNamed(stage.data.task),
                settings: generateSettings(stage.rollout, taskNamed(stage.data.task), tokenizer),
                problem: problemSource(recipe, index, stage, questions),
              }),
            );
      for await (const event of clock.timed(events)) {
        if (event.type !== 'step') {
          yield event;
          continue;
        }
        tokens += event.metrics.num_tokens ?? 0;
        const { step } = event;
        checkFinite(event.metrics, stage, step);
        yield {
          ...event,
          stageIndex: index,
          timeSeconds: clock.seconds,
          metrics: { ...event.metrics, num_tokens: tokens },
        };
        const every = stage.kind === 'grpo' ? stage.evaluateEvery : 0;
        if (every > 0 && step % every === 0 && step < stage.steps) yield* clock.timed(evaluation(step));
        if (performance.now() - lastSave > recipe.autosave.minutes * 60_000 && step < stage.steps) {
          yield {
            type: 'autosave',
            saved: await saveRun(model, optimizer, place(index, step)),
          };
          lastSave = performance.now();
        }
      }
      yield* clock.timed(evaluation(stage.steps));
      yield { type: 'checkpoint', stage: stage.name, files: await modelFolder(model, tokenizer) };
      yield {
        type: 'autosave',
        saved: await saveRun(model, null, place(index + 1, 0)),
      };
      optimizer.dispose();
      optimizer = null;
    }
  } finally {
    optimizer?.dispose();
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

function growingTree(row: RowView, tokenizer: Tokenizer): RolloutTree {
  const order = textOrder(row.branches);
  const tokens = Array.from(order, (slot) => row.tokens[slot]);
  const branches = Array.from(order, (slot) => row.branches[slot]);
  const decode = (ids: number[]) => tokenizer.decode(ids);
  return treeOf(tokens, row.prompt.length, tokenizer.special, decode, !row.done, branches);
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
  const heldOut = heldOutProblems(recipe, rollout.mode === 'parallel');
  for (const [i, set] of recipe.evaluation.sets.entries()) {
    const task = taskNamed(set.task);
    const evaluation = evaluate({
      model,
      tokenizer,
      task,
      settings: generateSettings(rollout, task, tokenizer),
      problems: heldOut[i],
      samples: set.samples,
      key: foldKey(recipe.seed, EVALUATION, i),
    });
    for (;;) {
      const next = await evaluation.next();
      if (next.done) {
        const metrics = next.value;
        yield {
          type: 'evaluation',
          stage: stage.name,
          stageIndex,
          step,
          set: set.name,
          difficulty: set.difficulty,
          metrics,
        };
        break;
      }
      yield { type: 'tick' };
    }
  }
}

/** A loss or gradient that is not a number ends the run at its last good save. */
function checkFinite(
  metrics: Readonly<Record<string, number | undefined>>,
  stage: Stage,
  step: number,
): void {
  for (const name of ['loss', 'grad_norm'])
    if (metrics[name] !== undefined && !Number.isFinite(metrics[name]))
      throw new UserError(
        `${name} became ${metrics[name]} in stage "${stage.name}", step ${step}. The run stopped; its last save is from ` +
          `before. Try a lower learning rate (now ${stage.learningRate}) or a longer warm-up, and go on from the save.`,
      );
}
