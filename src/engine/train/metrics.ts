// biome-ignore-all format: a table, one metric a line.
/**
 * Every metric that a run logs. The page shows `help` beside the chart. Names and definitions follow TRL where it has
 * them (`reference/trainers.md`), verl otherwise; those of parallel thinking are ours. A metric that is not here does
 * not compile.
 */
export interface MetricHelp {
  label: string;
  /** Empty for a bare number. */
  unit: string;
  help: string;
  /** Which way is better; 'none' where neither is, or where it depends. */
  direction: 'up' | 'down' | 'none';
}

type Direction = MetricHelp['direction'];
const metric = (label: string, unit: string, direction: Direction, help: string): MetricHelp => ({
  label,
  unit,
  direction,
  help,
});

export const METRICS = {
  // Optimizer
  loss: metric('Loss', 'nats', 'none', 'What the optimizer minimises. In supervised stages it falls. In RL with one update per rollout batch it is about 0 by construction: watch the reward instead.'),
  grad_norm: metric('Gradient norm', '', 'none', 'Length of the gradient over all tensors, before clipping. A sudden rise warns of instability.'),
  learning_rate: metric('Learning rate', '', 'none', 'Step size of the optimizer at this step.'),
  epoch: metric('Epoch', 'passes', 'none', 'Passes over the data set so far. Built-in tasks make fresh data and have none.'),
  step: metric('Step', 'steps', 'none', 'Optimizer batches done in this stage.'),
  num_tokens: metric('Tokens', 'tokens', 'none', 'Tokens processed since the run began, prompts included.'),
  step_time: metric('Step time', 's', 'down', 'Seconds for one whole step.'),
  token_accuracy: metric('Token accuracy', 'share', 'up', 'Share of trained tokens that were the model’s first choice.'),
  entropy: metric('Entropy', 'nats', 'none', 'How undecided the model is, averaged over the loss tokens, at the sampling temperature. Near 0 it no longer explores.'),
  kl: metric('KL to reference', 'nats', 'none', 'Distance from the frozen reference policy (k3 estimate): exp(d) − d − 1 with d = reference − policy log-probability.'),

  // Completions
  'completions/mean_length': metric('Mean length', 'tokens', 'none', 'Mean response length, all paths counted.'),
  'completions/min_length': metric('Shortest', 'tokens', 'none', 'Length of the shortest response.'),
  'completions/max_length': metric('Longest', 'tokens', 'none', 'Length of the longest response.'),
  'completions/mean_terminated_length': metric('Mean finished length', 'tokens', 'none', 'Mean length of the responses that ended by themselves.'),
  'completions/min_terminated_length': metric('Shortest finished', 'tokens', 'none', 'Length of the shortest response that ended by itself.'),
  'completions/max_terminated_length': metric('Longest finished', 'tokens', 'none', 'Length of the longest response that ended by itself.'),
  'completions/clipped_ratio': metric('Cut off', 'share', 'down', 'Share of responses that reached the limit: their last token is neither end-of-text nor padding.'),

  // Rewards
  'rewards/accuracy/mean': metric('Accuracy reward', '', 'up', 'Mean of the accuracy reward: +1 for a right answer, −1 otherwise.'),
  'rewards/accuracy/std': metric('Accuracy reward, spread', '', 'none', 'Standard deviation of the accuracy reward over the batch.'),
  'rewards/easy/mean': metric('Correct-and-parallel reward', '', 'up', 'Mean of the easy-stage reward: +1 for a right answer with at least one valid block, −1 otherwise.'),
  'rewards/easy/std': metric('Correct-and-parallel reward, spread', '', 'none', 'Standard deviation of the easy-stage reward over the batch.'),
  'rewards/alternating/mean': metric('Alternating reward', '', 'up', 'Mean of the alternating reward: accuracy in most steps of a window, more for a valid block in the others. It is not accuracy: chart both.'),
  'rewards/alternating/std': metric('Alternating reward, spread', '', 'none', 'Standard deviation of the alternating reward over the batch.'),
  reward: metric('Reward', '', 'up', 'Mean total reward of the rollouts, which the policy is trained to raise.'),
  reward_std: metric('Reward, spread', '', 'none', 'Standard deviation of the total reward over the whole batch (ddof 1).'),
  frac_reward_zero_std: metric('Groups all equal', 'share', 'down', 'Share of groups whose rollouts all got the same reward. They teach nothing: near 1 the problems are too easy or too hard.'),
  accuracy: metric('Accuracy', 'share', 'up', 'Share of training rollouts with the right answer, whatever the reward says.'),

  // Policy update
  'clip_ratio/low_mean': metric('Clipped low', 'share', 'none', 'Share of tokens with ratio < 1 − ε_low and a negative advantage: they push no further down.'),
  'clip_ratio/high_mean': metric('Clipped high', 'share', 'none', 'Share of tokens with ratio > 1 + ε_high and a positive advantage: they push no further up.'),
  'clip_ratio/region_mean': metric('Clipped', 'share', 'none', 'Share of tokens clipped on either side. Zero when the rollouts are fresh; above 0.2 the data are stale.'),
  'clip_ratio/dual_mean': metric('Dual-clipped', 'share', 'none', 'Share of tokens whose loss the dual clip bounds: negative advantage and a ratio above c.'),
  'sampling/logp_difference/mean': metric('Log-prob difference', 'nats', 'down', 'Mean difference between the log-probabilities of rollout and training pass. About 1e-5 here; more means that the two disagree on what a path sees.'),
  'sampling/logp_difference/max': metric('Largest log-prob difference', 'nats', 'down', 'Largest such difference of the step.'),

  // Parallel thinking
  'parallel/ratio': metric('Parallel ratio', 'share', 'none', 'Share of responses with at least one <Parallel> block.'),
  'parallel/blocks': metric('Blocks', 'per response', 'none', 'Mean number of <Parallel> blocks per response.'),
  'parallel/valid_ratio': metric('Valid format', 'share', 'up', 'Share of responses whose tags pass the strict format check and that give an answer.'),
  'parallel/relative_position': metric('Fork position', 'share of length', 'none', 'Index of <Parallel> divided by the response length, averaged over blocks (Parallel-R1, Fig. 3). It rises as forks move from exploring to verifying.'),
  'parallel/first_relative_position': metric('First fork position', 'share of length', 'none', 'Index of the first <Parallel> divided by the response length.'),
  'parallel/late_share': metric('Late forks', 'share', 'none', 'Share of parallel responses whose first fork comes after 15 % of the response.'),
  'parallel/path_agreement': metric('Path agreement', 'share', 'none', 'Share of blocks whose paths all arrive at the same answer.'),
  'parallel/path_accuracy': metric('Path accuracy', 'share', 'up', 'Share of single paths that arrive at the right answer: q in the vote formulas.'),
  'parallel/exploration_share': metric('Exploration', 'share', 'none', 'Share of blocks that open before the response has arrived at an answer.'),
  'parallel/verification_share': metric('Verification', 'share', 'none', 'Share of blocks that open after the response has arrived at an answer, to check it.'),
  'parallel/self_bleu': metric('Path similarity', 'BLEU', 'down', 'Mean pairwise BLEU of the paths of a block. 1 = identical paths, which add nothing.'),
  'tokens/critical': metric('Critical path', 'tokens', 'down', 'Tokens on the longest chain from prompt to answer: what one waits for when paths run at once.'),
  'tokens/total': metric('Total tokens', 'tokens', 'down', 'Mean tokens of a response, every path counted: what it costs.'),
  'tokens/saved': metric('Saved by forking', 'share', 'up', '1 − critical ÷ total: how much of the work ran at the same time.'),

  // Evaluation on held-out problems
  'eval/mean@k': metric('Mean@k', 'share', 'up', 'Mean accuracy over k samples of each held-out problem.'),
  'eval/pass@k': metric('Pass@k', 'share', 'up', 'Chance that at least one of k samples is right (unbiased estimate).'),
  'eval/maj@k': metric('Majority@k', 'share', 'up', 'Accuracy of the most frequent answer among k samples. Ties go to the answer seen first; no answer has no vote.'),

  // Signs of a gamed reward
  'hack/empty_paths': metric('Empty paths', 'share', 'down', 'Share of responses with a path that holds no text.'),
  'hack/identical_paths': metric('Identical paths', 'share', 'down', 'Share of responses with a block whose paths are the same word for word.'),
  'hack/missing_summary': metric('Missing summaries', 'share', 'down', 'Share of responses with a block that no summary follows.'),
  'hack/several_answers': metric('Several answers', 'share', 'down', 'Share of responses that give two different final answers.'),

  // Speed
  'perf/tokens_per_second': metric('Speed', 'tokens/s', 'up', 'Tokens processed per second of the step.'),
  'perf/rollout_seconds': metric('Rollout time', 's', 'down', 'Seconds spent on sampling responses.'),
  'perf/reward_seconds': metric('Reward time', 's', 'down', 'Seconds spent on judging responses.'),
  'perf/train_seconds': metric('Training time', 's', 'down', 'Seconds spent on forward, backward and optimizer.'),
} as const satisfies Record<string, MetricHelp>;

export type MetricName = keyof typeof METRICS;

/** Help of a metric that comes from a file, or null if this version does not know it. */
export function metricHelp(name: string): MetricHelp | null {
  return Object.hasOwn(METRICS, name) ? METRICS[name as MetricName] : null;
}
