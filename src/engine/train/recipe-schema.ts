/**
 * The recipe, described once: what a valid file holds, the defaults, and for each knob the help that the page shows,
 * the paper's value (Parallel-R1, arXiv 2509.07980, section 4 and its scripts) and the range that tends to work.
 * `recipe.ts` parses with it.
 */
// biome-ignore-all format: a table of knobs; spread out it would be 850 lines.
import * as v from 'valibot';

/** What a form shows about a knob. */
export interface KnobHelp {
  label: string;
  help: string;
  /** The value in the paper or its code, as text. */
  paper?: string;
  /** The range in which it usually works. Values outside are allowed. */
  healthy?: readonly [number, number];
  unit?: string;
}

type Range = KnobHelp & { min: number; max: number };
type Choices<T> = KnobHelp & { options: readonly T[] };

const text = (knob: KnobHelp) =>
  v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(2000), v.metadata({ knob }));
const flag = (knob: KnobHelp) => v.pipe(v.boolean(), v.metadata({ knob }));
const real = (knob: Range) =>
  v.pipe(v.number(), v.minValue(knob.min), v.maxValue(knob.max), v.metadata({ knob }));
const whole = (knob: Range) =>
  v.pipe(v.number(), v.integer(), v.minValue(knob.min), v.maxValue(knob.max), v.metadata({ knob }));
const pick = <const T extends string>(knob: Choices<T>) =>
  v.pipe(v.picklist(knob.options), v.metadata({ knob }));

const share = (label: string, help: string, healthy: readonly [number, number]) =>
  real({ label, help, healthy, min: 0, max: 1 });

// ------------------------------------------------------------------------------------------------ model

const scratchModel = v.strictObject({
  source: v.literal('scratch'),
  vocabulary: v.optional(pick({ label: 'Vocabulary', options: ['task', 'bytes', 'characters'],
      help: 'The tokens: those of the built-in task, the 256 bytes, or the characters found in the data.' }), 'task'),
  architecture: v.optional(pick({ label: 'Architecture', paper: 'Qwen3 (4B)', options: ['llama', 'qwen2', 'qwen3'],
      help: 'Which family the saved folder says it is. Qwen2 adds a bias on q, k and v; Qwen3 normalises q and k.' }), 'llama'),
  hiddenSize: whole({ label: 'Hidden size', healthy: [64, 512], min: 4, max: 8192,
    help: 'Numbers per token inside the model (C). Wide and shallow learns the small tasks sooner than narrow and deep.' }),
  intermediateSize: whole({ label: 'Feed-forward size', healthy: [160, 1536], min: 4, max: 32768,
    help: 'Width inside each feed-forward block (F). About 2.75 times the hidden size is usual.' }),
  layers: whole({ label: 'Layers', healthy: [2, 12], min: 1, max: 128,
    help: 'Attention plus feed-forward blocks in a row (L).' }),
  heads: whole({ label: 'Heads', healthy: [2, 16], min: 1, max: 128,
    help: 'Attention heads per layer (H). The hidden size divided by the heads is the head size unless you set it.' }),
  kvHeads: whole({ label: 'Key/value heads', healthy: [1, 16], min: 1, max: 128,
    help: 'Heads of keys and values, shared by groups of query heads. Equal to the heads = ordinary attention.' }),
  headDim: v.optional(
    v.nullable(whole({ label: 'Head size', healthy: [16, 128], min: 2, max: 256,
        help: 'Numbers per head (D), even. Leave empty for hidden size ÷ heads.' }),
    ), null),
  ropeTheta: v.optional(real({ label: 'RoPE base', healthy: [1000, 1_000_000], min: 10, max: 1e8,
      help: 'Base of the rotary position angles. Short sequences do well with a small one.' }), 10000),
  rmsNormEps: v.optional(real({ label: 'RMSNorm epsilon', healthy: [1e-6, 1e-5], min: 1e-12, max: 0.1,
      help: 'Keeps the normalisation from dividing by zero.' }),
    1e-5,
  ),
  tieWordEmbeddings: v.optional(flag({ label: 'Tied embeddings',
      help: 'Uses one matrix for reading and for predicting tokens: fewer parameters, less freedom.' }), false),
  maxPositions: v.optional(whole({ label: 'Longest position', healthy: [256, 32768], min: 16, max: 1_048_576,
      help: 'The position limit that is written into the saved config. A response stays below it.' }), 2048),
  embeddingStd: v.optional(real({ label: 'Embedding spread', healthy: [0.02, 1], min: 1e-6, max: 10,
      help: 'Standard deviation of the fresh embedding. Linear layers get 1/√(inputs); the output and down projections also 1/√(2L).' }), 0.02),
  headStd: v.optional(real({ label: 'Head spread', healthy: [0.005, 0.05], min: 1e-6, max: 10,
      help: 'Standard deviation of the fresh output head. Small means the first guesses are nearly uniform.' }), 0.02),
});

const shippedModel = v.strictObject({
  source: v.literal('shipped'),
  name: text({ label: 'Model', help: 'A folder that is served with this page under models/.' }),
});

const droppedModel = v.strictObject({
  /** The model folder that was dropped on the page (config.json, model.safetensors, tokenizer.json). */
  source: v.literal('dropped'),
});

export const modelSchema = v.variant('source', [scratchModel, shippedModel, droppedModel]);

// ------------------------------------------------------------------------------------------------ optimizer

/** AdamW and its schedule; supervised and RL stages differ in what is usual. */
const optimizer = (usual: {
  schedule: 'cosine' | 'constant';
  weightDecay: number;
  paper: string;
  healthy: [number, number];
}) => ({
  learningRate: real({ label: 'Learning rate', paper: usual.paper, healthy: usual.healthy, min: 0, max: 1,
    help: 'Size of an optimizer step at its highest. Too high: the loss jumps or the reward collapses; too low: nothing moves.' }),
  warmupSteps: v.optional(whole({ label: 'Warm-up', paper: 'SFT 10 % of the steps, RL none', healthy: [0, 100], min: 0, max: 1_000_000, unit: 'steps',
      help: 'Steps over which the learning rate rises from near zero to its highest, so that the first, noisy gradients do little harm.' }), 0),
  schedule: v.optional(pick({ label: 'Schedule', paper: 'SFT cosine, RL constant', options: ['cosine', 'linear', 'constant'],
      help: 'How the learning rate falls after the warm-up: half a cosine wave, a straight line, or not at all.' }), usual.schedule),
  minLearningRateRatio: v.optional(share('Final learning rate', 'Learning rate at the last step as a share of the highest. A constant schedule ignores it.', [0, 0.1]), 0.05),
  weightDecay: v.optional(real({ label: 'Weight decay', paper: 'SFT 0.01', healthy: [0, 0.1], min: 0, max: 1,
      help: 'Pulls the weights towards zero a little at each step. Usual in supervised training, off in RL.' }), usual.weightDecay),
  decayNorms: v.optional(flag({ label: 'Decay norms and biases',
      help: 'Also decays the normalisation weights and the biases. The default recipe was found with it on.' }), false),
  beta1: v.optional(real({ label: 'Beta 1', healthy: [0.85, 0.95], min: 0, max: 0.9999,
      help: 'Memory of the averaged gradient in AdamW.' }), 0.9),
  beta2: v.optional(real({ label: 'Beta 2', healthy: [0.95, 0.999], min: 0, max: 0.99999,
      help: 'Memory of the averaged squared gradient in AdamW. Short runs want it below the usual 0.999.' }), 0.95),
  epsilon: v.optional(real({ label: 'Epsilon', healthy: [1e-9, 1e-7], min: 1e-15, max: 0.1,
      help: 'Added to the denominator of AdamW so that it never divides by zero.' }),
    1e-8,
  ),
  maxGradNorm: v.optional(real({ label: 'Gradient clip', paper: '1.0', healthy: [0.5, 5], min: 1e-6, max: 1e6,
      help: 'A gradient with a larger norm over all tensors is scaled down to this norm.' }), 1),
  gradientCheckpointing: v.optional(flag({ label: 'Compute layers twice',
    help: 'On the GPU, keep only what goes into each layer and compute the layer again on the way back (gradient checkpointing): about a third slower, with far less memory for activations.' }), false),
  microBatchTokens: v.optional(whole({ label: 'Tokens per pass', healthy: [1024, 32768], min: 16, max: 4_194_304, unit: 'tokens',
      help: 'Most tokens in one forward and backward pass. A larger batch is split to fit; the result is the same, the memory is smaller.' }), 4096),
});

const stageName = text({ label: 'Name',
  help: 'Names the stage on the charts and its checkpoint folder. Each stage has its own.' });
const steps = (paper: string, healthy: [number, number]) =>
  whole({ label: 'Steps', paper, healthy, min: 1, max: 1_000_000,
    help: 'Batches in this stage. The learning rate schedule spans all of them.' });

// ------------------------------------------------------------------------------------------------ data

const taskName = text({ label: 'Task',
  help: 'A built-in task: it makes problems from the seed and judges the answers.' });
const terms = v.pipe(
  v.array(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(64))),
  v.minLength(1),
  v.metadata({
    knob: {
      label: 'Terms',
      help: 'How many terms a problem may have, each length equally likely. List two or more, or shorter problems are forgotten.',
    } satisfies KnobHelp,
  }),
);
const bigShare = v.optional(
  v.nullable(share('Big terms', 'Chance that a term is big (10 or more), which the teacher gets wrong more often. Empty = all values equally likely.', [0, 1])),
  null,
);
const weight = (label: string, help: string) => real({ label, help, min: 0, max: 1e6 });

export const problemEntries = {
  task: taskName,
  difficulty: text({ label: 'Difficulty', paper: 'easy = GSM8K, hard = DAPO-Math',
    help: 'A label for the charts, such as easy or hard. Terms and big terms set the real difficulty.' }),
  terms,
  bigShare,
};
const taskProblems = v.strictObject(problemEntries);

const documentKind = v.strictObject({
  kind: pick({ label: 'Kind', options: ['base', 'sequential', 'parallel'],
    help: 'base = plain solutions with the plain prompt; sequential = solutions without a fork; parallel = solutions with <Parallel> blocks.' }),
  weight: v.optional(
    weight('Weight', 'How often this kind is drawn, in proportion to the other weights.'), 1),
  terms,
  bigShare,
  teacherNoiseSmall: v.optional(share('Teacher noise, small', 'Chance that the teacher miscalculates a step with a small term. The model learns to err at this rate; RL can remove it.', [0, 0.1]), 0.03),
  teacherNoiseBig: v.optional(share('Teacher noise, big', 'Chance that the teacher miscalculates a step with a big term.', [0, 0.3]), 0.15),
  redoShare: v.optional(share('Repeated solutions', 'Share of base documents that derive the answer two or three times and take the most frequent one. It prepares the model for summaries.', [0, 0.5]), 0),
  templates: v.optional(
    v.pipe(
      v.strictObject({
        S: v.optional(
          weight('No fork', 'Weight of solutions without a fork. They offer RL a way out of parallel thinking.')),
        E: v.optional(weight('Early fork', 'Weight of solutions that fork at once, to explore.')),
        L: v.optional(weight('Late fork', 'Weight of solutions that solve first and fork to verify.')),
        EL: v.optional(weight('Early and late', 'Weight of solutions with both forks.')),
      }),
      v.metadata({
        knob: {
          label: 'Templates',
          help: 'Weights of the trajectory shapes in parallel documents. About as many early as late forks lets RL choose.',
        } satisfies KnobHelp,
      }),
    ), {}),
  paths: v.optional(whole({ label: 'Paths', paper: '2 in 427 of 439 blocks', healthy: [2, 4], min: 1, max: 8,
      help: 'Paths per block in the documents.' }), 2),
  gapProbability: v.optional(share('Position gaps', 'With this probability the response starts at a later position, which makes copying independent of distance.', [0, 0.7]), 0),
  gapMax: v.optional(whole({ label: 'Largest gap', healthy: [1, 100], min: 1, max: 100_000, unit: 'positions',
      help: 'Such a gap is 0 to this number less one positions.' }), 1),
});

const taskDocuments = v.strictObject({
  source: v.literal('task'),
  task: taskName,
  mix: v.pipe(
    v.array(documentKind),
    v.minLength(1),
    v.metadata({
      knob: {
        label: 'Mix',
        help: 'The kinds of documents of this stage. Some plain documents in a parallel stage keep the arithmetic fresh.',
      } satisfies KnobHelp,
    })),
});
const droppedDocuments = v.strictObject({
  source: v.literal('dropped'),
  name: text({ label: 'Data set', help: 'The file that you dropped on the page, by name.' }),
});

// ------------------------------------------------------------------------------------------------ stages

export const sftSchema = v.strictObject({
  kind: v.literal('sft'),
  name: stageName,
  data: v.variant('source', [taskDocuments, droppedDocuments]),
  steps: steps('58 (Seen), 230 (Unseen)', [50, 2000]),
  batchSize: whole({ label: 'Batch', paper: '128', healthy: [16, 256], min: 1, max: 65536, unit: 'documents',
    help: 'Documents per optimizer step.' }),
  ...optimizer({ schedule: 'cosine', weightDecay: 0.01, paper: '1e-5 (4B)', healthy: [1e-5, 3e-3] }),
  loss: v.optional(pick({ label: 'Trained text', options: ['completion', 'all'],
      help: 'completion trains on the response and the end-of-text token only; all trains on the prompt as well.' }), 'completion'),
  maxTokens: v.optional(whole({ label: 'Longest example', healthy: [64, 4096], min: 4, max: 131_072, unit: 'tokens',
      help: 'Longer examples are cut to this many tokens.' }), 512),
});

export const rolloutSchema = v.strictObject({
  mode: v.optional(pick({ label: 'Mode', paper: 'parallel', options: ['parallel', 'sequential'],
      help: 'parallel lets the model fork; sequential uses the plain prompt and bans <Parallel>, as the control.' }), 'parallel'),
  paths: v.optional(whole({ label: 'Paths', paper: '2', healthy: [2, 4], min: 1, max: 8,
      help: 'Paths per block, all sampled at once. More paths mean more votes and more tokens.' }), 2),
  maxBlocks: v.optional(whole({ label: 'Blocks', paper: '4', healthy: [1, 4], min: 0, max: 64,
      help: 'After this many blocks <Parallel> is no longer offered and the response goes on to its answer.' }), 2),
  pathTokens: v.optional(whole({ label: 'Path limit', healthy: [16, 2048], min: 1, max: 131_072, unit: 'tokens',
      help: 'A longer path is closed here.' }), 80),
  summaryTokens: v.optional(whole({ label: 'Summary limit', healthy: [8, 512], min: 1, max: 131_072, unit: 'tokens',
      help: 'A longer summary is closed here.' }), 24),
  maxTokens: v.optional(whole({ label: 'Response limit', healthy: [64, 4096], min: 2, max: 131_072, unit: 'tokens',
      help: 'Response tokens in all, every path counted. A response that reaches it counts as wrong.' }), 170),
  temperature: v.optional(real({ label: 'Temperature', paper: '1.0', healthy: [0.7, 1], min: 0.01, max: 5,
      help: 'Above 1 samples more boldly, below 1 more safely. Training needs variety within a group; for greedy decoding use top-k 1.' }), 1),
  topK: v.optional(whole({ label: 'Top-k', paper: 'off', healthy: [0, 50], min: 0, max: 1_000_000,
      help: 'Keeps only the k likeliest tokens; 0 = all.' }), 0),
  topP: v.optional(real({ label: 'Top-p', paper: 'off', healthy: [0.9, 1], min: 0.001, max: 1,
      help: 'Keeps the likeliest tokens that together reach this probability; 1 = all.' }), 1),
  minP: v.optional(share('Min-p', 'Drops tokens less likely than this share of the likeliest one; 0 = none.', [0, 0.1]), 0),
  stepNoise: v.optional(share('Step noise', 'Chance that a computed step is replaced by a random one, as an error that training cannot remove. Without it a tiny model ends near perfect and votes have nothing to repair.', [0, 0.1]), 0),
});

export const rewardSchema = v.variant('kind', [
  v.strictObject({ kind: v.literal('accuracy') }),
  v.strictObject({ kind: v.literal('easy') }),
  v.strictObject({
    kind: v.literal('alternating'),
    window: v.optional(whole({ label: 'Window', paper: '10', healthy: [5, 20], min: 1, max: 10_000, unit: 'steps',
        help: 'Length of one round of the alternating reward.' }), 10),
    bonusSteps: v.optional(whole({ label: 'Bonus steps', paper: '2', healthy: [1, 5], min: 0, max: 10_000, unit: 'steps',
        help: 'The last steps of each window that pay more for a correct answer with a valid block; the others pay accuracy.' }), 2),
    bonus: v.optional(real({ label: 'Bonus', paper: '1.2 (also tried: 2.0)', healthy: [1, 2], min: -10, max: 10,
        help: 'Reward of a correct answer with a valid block in the bonus steps. Without a block it is 1.' }), 1.2),
  }),
]);

export const grpoSchema = v.strictObject({
  kind: v.literal('grpo'),
  name: stageName,
  data: taskProblems,
  steps: steps('35 (easy), 300 (hard)', [20, 300]),
  promptsPerStep: whole({ label: 'Prompts', paper: '1024 (easy), 512 (hard)', healthy: [8, 64], min: 1, max: 4096,
    help: 'Problems per step. Prompts × group size = rollouts per step; more of them calm the curve.' }),
  groupSize: whole({ label: 'Group size', paper: '5 (easy), 8 (hard)', healthy: [4, 16], min: 2, max: 256,
    help: 'Rollouts per problem (G). The advantage compares them with each other, so it takes at least two.' }),
  miniBatches: v.optional(whole({ label: 'Mini-batches', paper: '4 (512 prompts, mini-batch 128)', healthy: [1, 4], min: 1, max: 256,
      help: 'Optimizer steps per rollout batch and epoch. With 1 the loss is about 0 by construction.' }), 1),
  innerEpochs: v.optional(whole({ label: 'Epochs', paper: '1', healthy: [1, 2], min: 1, max: 16,
      help: 'How often each rollout batch is used. More reuse means staler data and more clipping.' }), 1),
  ...optimizer({ schedule: 'constant', weightDecay: 0, paper: '1e-6 (4B)', healthy: [1e-6, 2e-4] }),
  reward: rewardSchema,
  rollout: rolloutSchema,
  clipLow: v.optional(real({ label: 'Clip, low', paper: '0.2', healthy: [0.1, 0.3], min: 0, max: 1,
      help: 'A token whose probability fell by more than this share stops pushing further down.' }), 0.2),
  clipHigh: v.optional(real({ label: 'Clip, high', paper: '0.2 (S1), 0.28 (S2)', healthy: [0.2, 0.3], min: 0, max: 10,
      help: 'A token whose probability rose by more than this share stops pushing further up. A higher value keeps rare tokens alive.' }), 0.28),
  dualClip: v.optional(
    v.nullable(real({ label: 'Dual clip', paper: '3', healthy: [2, 5], min: 1, max: 1000,
        help: 'Bounds the loss of a bad token whose probability rose a lot. Empty = off.' }),
    ), 3),
  trainInjected: v.optional(flag({ label: 'Train injected tags', paper: 'on',
      help: 'Also puts the tags that the runtime writes into the policy loss. The paper’s code does; leaving them out is cleaner.' }), false),
  evaluateEvery: v.optional(whole({ label: 'Evaluate every', healthy: [0, 50], min: 0, max: 1_000_000, unit: 'steps',
      help: 'Runs the held-out sets every so many steps; 0 = only at the end of the stage.' }), 0),
});

export const stageSchema = v.variant('kind', [sftSchema, grpoSchema]);

export const recipeSchema = v.strictObject({
  version: v.literal(1),
  name: text({ label: 'Name', help: 'What the run is called in the list of runs.' }),
  description: v.optional(
    v.pipe(
      v.string(),
      v.maxLength(10_000),
      v.metadata({
        knob: { label: 'Description', help: 'Notes for people. It changes nothing.' } satisfies KnobHelp,
      })),
  ),
  seed: v.optional(whole({ label: 'Seed', min: 0, max: 4294967295,
      help: 'The same recipe with the same seed repeats the run exactly. Change it to see what is luck.' }), 0),
  model: modelSchema,
  stages: v.pipe(
    v.array(stageSchema),
    v.minLength(1),
    v.maxLength(64),
    v.metadata({
      knob: {
        label: 'Stages',
        help: 'What is trained, in order. Each stage starts from the weights of the one before with a fresh optimizer.',
        paper: 'SFT, RL on easy, RL on hard',
      } satisfies KnobHelp,
    })),
  evaluation: v.strictObject({
    sets: v.pipe(
      v.array(
        v.strictObject({
          ...problemEntries,
          name: text({ label: 'Name', help: 'Names the held-out set on the charts.' }),
          problems: whole({ label: 'Problems', paper: '30 to 40', healthy: [50, 500], min: 1, max: 100_000,
            help: 'Held-out problems, never trained on. More of them narrow the error bars.' }),
          samples: v.optional(whole({ label: 'Samples', paper: '16', healthy: [4, 16], min: 1, max: 1024,
              help: 'Answers per problem (k). Mean, pass and majority at k need more than one.' }), 4),
        })),
      v.metadata({
        knob: {
          label: 'Held-out sets',
          help: 'Problem sets on which the model is tested after each stage.',
        } satisfies KnobHelp,
      })),
    rollout: rolloutSchema,
  }),
  autosave: v.optional(
    v.strictObject({
      minutes: real({ label: 'Autosave', healthy: [1, 10], min: 0, max: 1440, unit: 'minutes',
        help: 'Minutes between saves of the running state. A reload or a crash loses at most that much; 0 = off.' }),
    }),
    { minutes: 2 },
  ),
});

export type Recipe = v.InferOutput<typeof recipeSchema>;
export type Stage = v.InferOutput<typeof stageSchema>;
export type SftStage = v.InferOutput<typeof sftSchema>;
export type GrpoStage = v.InferOutput<typeof grpoSchema>;
export type ModelSource = v.InferOutput<typeof modelSchema>;
export type RolloutSettings = v.InferOutput<typeof rolloutSchema>;
export type RewardSettings = v.InferOutput<typeof rewardSchema>;
export type EvaluationSettings = Recipe['evaluation'];
export type TaskProblems = v.InferOutput<typeof taskProblems>;
export type TaskDocuments = v.InferOutput<typeof taskDocuments>;
export type DroppedDocuments = v.InferOutput<typeof droppedDocuments>;
export type OptimizerSettings = Pick<SftStage, keyof ReturnType<typeof optimizer>>;
export type Schedule = OptimizerSettings['schedule'];
