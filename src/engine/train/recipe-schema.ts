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
  /** The model that was dropped on the page: a Hugging Face folder, a GGUF file, or llama2.c's .bin with its tokenizer. */
  source: v.literal('dropped'),
});

const hubModel = v.strictObject({
  source: v.literal('hub'),
  name: text({ label: 'Model of the Hub', help: 'owner/name on huggingface.co, e.g. HuggingFaceTB/SmolLM2-135M-Instruct. Downloaded once, kept in the browser, offline afterwards.' }),
  revision: v.optional(text({ label: 'Revision', help: 'A branch, tag or commit. Empty means main as it was when it was downloaded; a commit makes the run repeatable elsewhere.' })),
});

export const modelSchema = v.variant('source', [scratchModel, shippedModel, droppedModel, hubModel]);

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
  tagLearningRate: v.optional(real({ label: 'Learning rate of the tags', healthy: [1, 10], min: 0.01, max: 100, unit: '×',
      help: 'Rows of the six tags in embedding and head learn at this many times the rate. Tags that are new to a model need it (valid blocks 21 % to 93 % in a replication of the paper).' }), 1),
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
  attempts: v.optional(whole({ label: 'Attempts', healthy: [2, 8], min: 1, max: 64,
      help: 'Sign search: most attempts of a solution that tries again in one thread.' }), 3),
  blocks: v.optional(whole({ label: 'Blocks', healthy: [1, 4], min: 1, max: 8,
      help: 'Sign search: most blocks of an early fork. Above 1 another block follows while no attempt has hit, and the summary says which.' }), 1),
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
  name: text({ label: 'Data set', help: 'The file that you dropped on the page, by name; * for all that are loaded.' }),
});

// ------------------------------------------------------------------------------------------------ curriculum

const promotionWindow = v.optional(whole({ label: 'Window', healthy: [3, 20], min: 1, max: 10_000, unit: 'steps',
    help: 'Steps over which the solve rate or the loss is averaged. A few calm the noise of small batches.' }), 5);
const minSteps = v.optional(whole({ label: 'Fewest steps', healthy: [5, 50], min: 1, max: 1_000_000, unit: 'steps',
    help: 'The stage does not end before this many steps. The stage’s own steps are the most it may take.' }), 1);
const bySteps = v.strictObject({ kind: v.literal('steps') });
const byPlateau = v.strictObject({
  kind: v.literal('plateau'),
  window: promotionWindow,
  minGain: v.optional(real({ label: 'Least gain', healthy: [0.002, 0.02], min: 0, max: 10,
      help: 'The stage ends when the average of the last window is not better by this much than that of the window before: solve rate in RL, loss in supervised stages.' }), 0.01),
  minSteps,
});
const bySolveRate = v.strictObject({
  kind: v.literal('solve-rate'),
  window: promotionWindow,
  threshold: share('Solve rate', 'The stage ends when this share of its rollouts is right, averaged over the window.', [0.6, 0.9]),
  minSteps,
});

const guard = (label: string, help: string) =>
  v.optional(pick({ label, help, options: ['off', 'warn', 'stop', 'rollback'] }), 'warn');
/** A detector reads its metric; what it finds is a notice, the end of the run, or a step back. */
const everyGuard = {
  nan: v.optional(pick({ label: 'Not a number', options: ['stop', 'rollback'],
      help: 'When the loss or the gradient is NaN or infinite: stop the run, or go back to the last good copy with half the learning rate. The weights are lost either way, so going on is no choice.' }), 'stop'),
  maxRollbacks: v.optional(whole({ label: 'Most rollbacks', healthy: [1, 3], min: 0, max: 20,
      help: 'How often a stage may go back, each time with half the learning rate, before the run stops.' }), 2),
  copyEvery: v.optional(whole({ label: 'Copy every', healthy: [5, 50], min: 1, max: 1_000_000, unit: 'steps',
      help: 'Steps between two copies of weights and optimizer in memory, to go back to. None are made unless some guard stops or rolls back.' }), 10),
};
const sftGuards = v.optional(v.strictObject(everyGuard), {});
const grpoGuards = v.optional(
  v.strictObject({
    ...everyGuard,
    window: v.optional(whole({ label: 'Guard window', healthy: [3, 8], min: 1, max: 1000, unit: 'steps',
        help: 'Steps over which a guard averages. Fewer notice sooner and are fooled more often.' }), 5),
    reward: guard('Reward collapse', 'When the mean reward falls far below the best of the stage.'),
    rewardDrop: v.optional(real({ label: 'Reward drop', healthy: [0.3, 0.8], min: 0, max: 100,
        help: 'A fall by this much is a collapse. With rewards of ±1, 0.5 is a quarter of all answers. Where the reward itself changes with the step (bonus, switch), set it above that change.' }), 0.5),
    entropy: guard('Entropy collapse', 'When the model hardly varies its answers any more, so that groups stop teaching. Ignored where 95 % are right.'),
    entropyFloor: v.optional(real({ label: 'Entropy floor', healthy: [0.005, 0.05], min: 0, max: 10, unit: 'nats',
        help: 'An average entropy below this is a collapse. Small tasks run at 0.02 to 0.1.' }), 0.005),
    format: guard('Loss of the format', 'When the share of responses with valid tags and an answer falls.'),
    formatDrop: v.optional(share('Format drop', 'A fall of the valid share by this much, from the best of the stage, is a loss.', [0.2, 0.5]), 0.3),
    exploration: guard('Loss of exploration', 'When the model forks much less than it did in this stage. In the paper accuracy-only rewards lead there; it need not be bad.'),
    explorationDrop: v.optional(share('Exploration drop', 'A parallel ratio this share below the best of the stage is a loss: 0.5 = half as often.', [0.3, 0.8]), 0.5),
  }),
  {},
);

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
  promotion: v.optional(v.variant('kind', [bySteps, byPlateau]), { kind: 'steps' }),
  guards: sftGuards,
});

export const rolloutSchema = v.strictObject({
  mode: v.optional(pick({ label: 'Mode', paper: 'parallel', options: ['parallel', 'sequential'],
      help: 'parallel lets the model fork; sequential uses the plain prompt and bans <Parallel>, as the control.' }), 'parallel'),
  parallelPrompt: v.optional(flag({ label: 'Parallel prompt', paper: 'on',
      help: 'In parallel mode, ask with the prompt that invites to fork. Off, the plain prompt is used and forking is still allowed (the paper lost 1.8 points without it).' }), true),
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

const rewardWindow = {
  window: v.optional(whole({ label: 'Window', paper: '10', healthy: [5, 20], min: 1, max: 10_000, unit: 'steps',
      help: 'Length of one round of the alternating reward.' }), 10),
  bonusSteps: v.optional(whole({ label: 'Bonus steps', paper: '2', healthy: [1, 5], min: 0, max: 10_000, unit: 'steps',
      help: 'The last steps of each window that pay more for a correct answer with a valid block; the others pay accuracy.' }), 2),
  bonus: v.optional(real({ label: 'Bonus', paper: '1.2 (also tried: 2.0)', healthy: [1, 2], min: -10, max: 10,
      help: 'Reward of a correct answer with a valid block in the bonus steps. Without a block it is 1.' }), 1.2),
};
const rewardSwitch = {
  until: v.optional(whole({ label: 'Scaffold until', paper: '200', healthy: [10, 200], min: 0, max: 1_000_000, unit: 'steps',
      help: 'Up to and with this step of the stage the reward teaches parallel thinking; from the next one on it is accuracy. On small tasks it paid only where single answers were already right two times of three.' }), 200),
  before: v.optional(pick({ label: 'Scaffold', paper: 'alternating', options: ['alternating', 'parallel'],
      help: 'What is paid before the switch: the alternating reward, or parallel (right and with a valid block).' }), 'alternating'),
};
const rewardPart = (auxiliary: boolean, usual: number, paper = 'not used') => ({
  weight: v.optional(real({ label: 'Weight', paper, healthy: auxiliary ? [0.05, 0.5] : [0.5, 2], min: -100, max: 100,
      help: 'The part is multiplied by this before it is added. Keep auxiliary parts small beside the main one: accuracy spans 2, from −1 to +1.' }), usual),
  auxiliary: v.optional(flag({ label: 'Auxiliary',
      help: 'Counts the part towards the auxiliary sum. With split advantages that sum is compared within its group apart from the main one; otherwise the two are simply added.' }), auxiliary),
  decaySteps: v.optional(
    v.nullable(whole({ label: 'Decay', paper: '50 (efficiency)', healthy: [20, 200], min: 1, max: 1_000_000, unit: 'steps',
        help: 'The weight falls as exp(−step ÷ this): a push at the beginning that goes away. Empty = it stays.' })), null),
});
const wrongShare = v.optional(share('Paid on wrong answers', 'Share of this part that a wrong answer still earns. Above 0 the model may learn the form without the answer; 0 pays right answers only. The paper tried 0.25 for efficiency.', [0, 0.25]), 0);

export const rewardSchema = v.variant('kind', [
  v.strictObject({ kind: v.literal('accuracy') }),
  v.strictObject({ kind: v.literal('easy') }),
  v.strictObject({ kind: v.literal('parallel') }),
  v.strictObject({ kind: v.literal('alternating'), ...rewardWindow }),
  v.strictObject({ kind: v.literal('scaffold'), ...rewardSwitch, ...rewardWindow }),
  v.strictObject({
    kind: v.literal('sum'),
    parts: v.pipe(
      v.array(v.variant('kind', [
        v.strictObject({ kind: v.literal('accuracy'), ...rewardPart(false, 1, '1') }),
        v.strictObject({ kind: v.literal('easy'), ...rewardPart(false, 1, '1') }),
        v.strictObject({ kind: v.literal('parallel'), ...rewardPart(false, 1, '1') }),
        v.strictObject({ kind: v.literal('alternating'), ...rewardWindow, ...rewardPart(false, 1, '1') }),
        v.strictObject({ kind: v.literal('scaffold'), ...rewardSwitch, ...rewardWindow, ...rewardPart(false, 1, '1') }),
        v.strictObject({ kind: v.literal('block'), wrongShare, ...rewardPart(true, 0.5, '0.5 (tried)') }),
        v.strictObject({ kind: v.literal('diversity'), wrongShare, ...rewardPart(true, 0.2, '0.2 (tried)') }),
        v.strictObject({
          kind: v.literal('efficiency'),
          budget: v.optional(
            v.nullable(whole({ label: 'Depth budget', paper: 'off', healthy: [16, 2048], min: 1, max: 131_072, unit: 'tokens',
                help: 'Pays 1 − critical path ÷ this, at least 0. Empty pays 1 − critical path ÷ all tokens: the share of the work that ran at once.' })), null),
          cap: v.optional(share('Most efficiency', 'The part pays no more than this before its weight, so that ever shorter paths stop paying. ThreadWeaver: 0.4 with weight 0.5.', [0.3, 1]), 1),
          wrongShare, ...rewardPart(true, 0.4, '0.4 (tried)'),
        }),
        v.strictObject({
          kind: v.literal('verification'),
          wanted: v.optional(whole({ label: 'Steps wanted', healthy: [1, 3], min: 1, max: 100,
              help: 'Verification steps that earn the whole part: blocks that open after there was an answer, and stretches of text that say they check. More than these pay nothing.' }), 1),
          wrongShare, ...rewardPart(true, 0.1),
        }),
        v.strictObject({
          kind: v.literal('clarity'),
          minTokens: v.optional(whole({ label: 'Shortest clear path', healthy: [2, 64], min: 0, max: 131_072, unit: 'tokens',
              help: 'A shorter path fails the length check. A path passes three checks, each a third: its length, an answer of its own, and no word about other paths.' }), 4),
          maxTokens: v.optional(whole({ label: 'Longest clear path', healthy: [32, 1024], min: 1, max: 131_072, unit: 'tokens',
              help: 'A longer path fails the length check.' }), 512),
          wrongShare, ...rewardPart(true, 0.1),
        }),
        v.strictObject({
          kind: v.literal('overlong'),
          limit: v.optional(
            v.nullable(whole({ label: 'Overlong limit', healthy: [64, 4096], min: 1, max: 131_072, unit: 'tokens',
                help: 'From this length on the part is −1. Empty = the response limit of the rollout.' })), null),
          margin: v.optional(whole({ label: 'Overlong margin', healthy: [16, 1024], min: 1, max: 131_072, unit: 'tokens',
              help: 'The penalty begins this many tokens before the limit and falls in a line (DAPO: 4096 of 20480).' }), 32),
          ...rewardPart(true, 1),
        }),
        v.strictObject({
          kind: v.literal('repetition'),
          ngram: v.optional(whole({ label: 'Words in a row', healthy: [3, 8], min: 1, max: 64,
              help: 'A run of this many words that was there before, in the same path or stretch of text, counts as repeated. The part is minus the share of such runs.' }), 4),
          ...rewardPart(true, 0.5),
        }),
        v.strictObject({
          kind: v.literal('custom'),
          code: v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(50_000), v.metadata({ knob: { label: 'Code',
            help: 'The body of a JavaScript function of (prompt, response, answer, gold, tree, step, correct) that returns a number, or null where it does not apply. It runs shut in: no network, no clock, no chance. It is tried on five made-up rows before the run starts.',
          } satisfies KnobHelp })),
          timeLimitMs: v.optional(whole({ label: 'Time limit', healthy: [100, 5000], min: 10, max: 60_000, unit: 'ms',
              help: 'Most time for one response. Code that takes longer is stopped, and the run with it.' }), 1000),
          ...rewardPart(false, 1),
        }),
      ])),
      v.minLength(1),
      v.metadata({
        knob: {
          label: 'Parts',
          help: 'Rewards that are added, each with its weight and each charted by itself. One part at least must be about the right answer.',
        } satisfies KnobHelp,
      })),
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
  loss: v.optional(pick({ label: 'Policy loss', paper: 'dapo', options: ['dapo', 'grpo', 'dr_grpo', 'bnpo', 'gspo', 'cispo'],
      help: 'How the tokens of a step add up. dapo: every token counts alike. grpo: every response counts alike, so long ones weigh less per token. dr_grpo: the sum over responses × response limit; use it with scaling none. bnpo: tokens count alike within each pass. gspo: as grpo, with one ratio for a whole response; wants a narrow clip (0.0003 and 0.0004). cispo: as dapo, the ratio only weighs a token, up to the cap, and the clip is not used.' }), 'dapo'),
  cispoCap: v.optional(real({ label: 'CISPO cap', healthy: [2, 5], min: 0, max: 1000,
      help: 'Largest weight of a token under the loss cispo: its ratio, but never more than this. Other losses ignore it.' }), 5),
  advantageScaling: v.optional(pick({ label: 'Advantage scaling', paper: 'group', options: ['group', 'batch', 'none'],
      help: 'What the difference from the group’s mean reward is divided by: the spread within the group, the spread over the whole step, or nothing. Group makes rare successes loud; none keeps the size of the reward.' }), 'group'),
  splitAdvantage: v.optional(flag({ label: 'Split advantage',
      help: 'Compares main and auxiliary parts of a composed reward apart: the advantage of the main parts is scaled, that of the auxiliary ones is only centred and then added. So a small auxiliary reward stays small when all of a group are right.' }), false),
  klBeta: v.optional(real({ label: 'KL weight', paper: '0 in the code, β·KL in the formula', healthy: [0, 0.04], min: 0, max: 100,
      help: 'Holds the model near the weights it had when the stage began. Above 0 a frozen copy of them is kept and runs over every response once a step.' }), 0),
  entropyBonus: v.optional(real({ label: 'Entropy bonus', paper: '0', healthy: [0, 0.01], min: 0, max: 100,
      help: 'Pays for undecided predictions, against a collapse of exploration. A little too much and the text turns to noise.' }), 0),
  maskTruncated: v.optional(flag({ label: 'Mask cut-off responses', paper: 'off',
      help: 'Leaves responses that ran into the response limit out of the loss. Their rewards still count in their group.' }), false),
  keepEqualGroups: v.optional(flag({ label: 'Keep equal groups', paper: 'on',
      help: 'Groups whose rewards are all equal stay in the update: they count in its means with advantage 0, and the KL weight and the entropy bonus act on them. Off, they are left out.' }), false),
  resampleRounds: v.optional(whole({ label: 'Dynamic sampling', paper: 'off', healthy: [0, 3], min: 0, max: 64, unit: 'rounds',
      help: 'While too few groups differ in their rewards, draws as many prompts again, at most this many further times, and trains on the first groups that do. 0 = off. Each round costs as much as the rollouts of a step.' }), 0),
  format: v.optional(pick({ label: 'Format check', paper: 'a stack of tags', options: ['structure', 'strict'],
      help: 'What makes a block valid for the rewards that ask for one. structure: tags balance, at least two paths that hold text, a summary right behind. strict: also no identical paths, no block that repeats an earlier one, no summary that is empty or one of its paths. Where a right derivation can be written in one way only, honest paths are identical: keep structure.' }), 'structure'),
  trainInjected: v.optional(flag({ label: 'Train injected tags', paper: 'on',
      help: 'Also puts the tags that the runtime writes into the policy loss. The paper’s code does; leaving them out is cleaner.' }), false),
  evaluateEvery: v.optional(whole({ label: 'Evaluate every', healthy: [0, 50], min: 0, max: 1_000_000, unit: 'steps',
      help: 'Runs the held-out sets every so many steps; 0 = only at the end of the stage.' }), 0),
  promotion: v.optional(v.variant('kind', [bySteps, bySolveRate, byPlateau]), { kind: 'steps' }),
  guards: grpoGuards,
});

export const stageSchema = v.variant('kind', [sftSchema, grpoSchema]);

/** How parallel text is laid out for the model (Parallel-R1, section 3.3; reference note, section 2). */
const structureSchema = v.strictObject({
  variant: v.optional(pick({ label: 'Variant', paper: 'both', options: ['unseen', 'seen'],
    help: 'unseen: the paths of a block cannot see each other, in training as in rollouts. seen: training reads the text as it stands, so a later path sees the earlier ones, which it did not while it was written; sampling/logp_difference shows that gap.' }), 'unseen'),
  positions: v.optional(pick({ label: 'Positions', paper: 'shared', options: ['shared', 'disjoint', 'consecutive'],
    help: 'Where the paths of a block start. shared: all behind <Parallel>. disjoint: pathStride apart. consecutive (seen always has it): each behind the last, in training only, since a rollout cannot know how long an earlier path will be.' }), 'shared'),
  pathStride: v.optional(whole({ label: 'Path stride', healthy: [16, 256], min: 1, max: 4096, unit: 'positions',
    help: 'With disjoint positions: from the start of one path to that of the next. Longer paths than this (tags included) overlap.' }), 32),
});

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
  structure: v.optional(structureSchema, {}),
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
          ks: v.optional(v.pipe(
            v.array(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1024))),
            v.metadata({ knob: { label: 'Other k', paper: '1 and 16',
              help: 'Further k at which pass@k and maj@k are reported, none above the samples. Pass@k is unbiased at every k.' } satisfies KnobHelp })), []),
          decode: v.optional(v.pipe(
            v.array(pick({ label: 'Decoding', options: ['stage', 'parallel', 'sequential'],
              help: 'stage decodes as the stage was trained; parallel and sequential say it themselves.' })),
            v.minLength(1),
            v.metadata({ knob: { label: 'Decodings', paper: 'as trained',
              help: 'How the checkpoint answers the set, each in its own line on the charts: as its stage was trained, in parallel, sequentially. Both on one checkpoint tell whether a gain is made in training or by forking.' } satisfies KnobHelp })), ['stage']),
          paths: v.optional(v.nullable(whole({ label: 'Paths here', paper: '2', healthy: [2, 7], min: 1, max: 8,
              help: 'Paths per block on this set, whatever the rollouts have. Empty = as they. The same set with other numbers shows what more votes are worth at inference.' })), null),
          greedy: v.optional(flag({ label: 'Greedy too',
              help: 'Also decodes each of these greedily: one answer per problem, always the likeliest token. Step noise, if any, stays.' }), false),
          equalTokens: v.optional(flag({ label: 'Self-consistency at equal tokens',
              help: 'Also lets as many sequential answers vote as the mean tokens of a parallel response buy: the baseline that forking must beat. Reports the paired difference.' }), false),
          byTerms: v.optional(flag({ label: 'By number of terms',
              help: 'Draws as many problems of each length in Terms and also scores each length by itself. Changes which problems are drawn.' }), false),
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
export type EvaluationSet = EvaluationSettings['sets'][number];
export type TaskProblems = v.InferOutput<typeof taskProblems>;
export type TaskDocuments = v.InferOutput<typeof taskDocuments>;
export type DroppedDocuments = v.InferOutput<typeof droppedDocuments>;
export type OptimizerSettings = Pick<SftStage, keyof ReturnType<typeof optimizer>>;
export type Schedule = OptimizerSettings['schedule'];
