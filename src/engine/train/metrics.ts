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
  'completions/no_answer_ratio': metric('No answer', 'share', 'down', 'Share of responses that give no answer that can be read: cut off, not announced, or two different ones.'),

  // Rewards
  'rewards/accuracy/mean': metric('Accuracy reward', '', 'up', 'Mean of the accuracy reward: +1 for a right answer, −1 otherwise.'),
  'rewards/accuracy/std': metric('Accuracy reward, spread', '', 'none', 'Standard deviation of the accuracy reward over the batch.'),
  'rewards/easy/mean': metric('Correct-and-parallel reward', '', 'up', 'Mean of the easy-stage reward: +1 for a right answer with at least one valid block, −1 otherwise.'),
  'rewards/easy/std': metric('Correct-and-parallel reward, spread', '', 'none', 'Standard deviation of the easy-stage reward over the batch.'),
  'rewards/alternating/mean': metric('Alternating reward', '', 'up', 'Mean of the alternating reward: accuracy in most steps of a window, more for a valid block in the others. It is not accuracy: chart both.'),
  'rewards/alternating/std': metric('Alternating reward, spread', '', 'none', 'Standard deviation of the alternating reward over the batch.'),
  'rewards/parallel/mean': metric('Parallel-only reward', '', 'up', 'Mean of the parallel-only reward: +1 for a right answer with at least one valid block, −1 otherwise, on every step.'),
  'rewards/parallel/std': metric('Parallel-only reward, spread', '', 'none', 'Standard deviation of the parallel-only reward over the rollouts that it applies to.'),
  'rewards/scaffold/mean': metric('Scaffold reward', '', 'up', 'Mean of the scaffold reward: a parallel reward up to the switch, accuracy after it. It jumps at the switch; watch accuracy beside it.'),
  'rewards/scaffold/std': metric('Scaffold reward, spread', '', 'none', 'Standard deviation of the scaffold reward over the rollouts that it applies to.'),
  'rewards/block/mean': metric('Valid-block reward', '', 'none', 'Mean of the bonus for a valid block, before its weight: 1 with one, 0 without.'),
  'rewards/block/std': metric('Valid-block reward, spread', '', 'none', 'Standard deviation of the valid-block reward over the rollouts that it applies to.'),
  'rewards/diversity/mean': metric('Diversity reward', '', 'none', 'Mean of 1 − self-BLEU of the paths, before its weight, over the responses with a block of two paths.'),
  'rewards/diversity/std': metric('Diversity reward, spread', '', 'none', 'Standard deviation of the diversity reward over the rollouts that it applies to.'),
  'rewards/efficiency/mean': metric('Efficiency reward', '', 'none', 'Mean of the efficiency reward, before its weight: the share of tokens off the critical path, or the share of the depth budget that was left.'),
  'rewards/efficiency/std': metric('Efficiency reward, spread', '', 'none', 'Standard deviation of the efficiency reward over the rollouts that it applies to.'),
  'rewards/verification/mean': metric('Verification reward', '', 'none', 'Mean of the verification reward, before its weight: verification steps over those that are wanted, at most 1.'),
  'rewards/verification/std': metric('Verification reward, spread', '', 'none', 'Standard deviation of the verification reward over the rollouts that it applies to.'),
  'rewards/clarity/mean': metric('Path clarity reward', '', 'none', 'Mean of the clarity reward, before its weight: share of checks that the paths pass (length, an answer, no word about other paths).'),
  'rewards/clarity/std': metric('Path clarity reward, spread', '', 'none', 'Standard deviation of the clarity reward over the rollouts that it applies to.'),
  'rewards/overlong/mean': metric('Overlong penalty', '', 'up', 'Mean of the soft overlong penalty, before its weight: 0 for lengths well within the limit, −1 at the limit.'),
  'rewards/overlong/std': metric('Overlong penalty, spread', '', 'none', 'Standard deviation of the overlong penalty over the rollouts that it applies to.'),
  'rewards/repetition/mean': metric('Repetition penalty', '', 'up', 'Mean of the repetition penalty, before its weight: minus the share of word runs that were there before.'),
  'rewards/repetition/std': metric('Repetition penalty, spread', '', 'none', 'Standard deviation of the repetition penalty over the rollouts that it applies to.'),
  'rewards/custom/mean': metric('Custom reward', '', 'none', 'Mean of what the code of the custom reward returned, before its weight.'),
  'rewards/custom/std': metric('Custom reward, spread', '', 'none', 'Standard deviation of the custom reward over the rollouts that it applies to.'),
  reward_main: metric('Main reward', '', 'up', 'Mean weighted sum of the main parts of a composed reward.'),
  reward_auxiliary: metric('Auxiliary reward', '', 'none', 'Mean weighted sum of the auxiliary parts. If it rises while accuracy falls, its weights are too large.'),
  reward: metric('Reward', '', 'up', 'Mean total reward of the rollouts, which the policy is trained to raise.'),
  reward_std: metric('Reward, spread', '', 'none', 'Standard deviation of the total reward over the whole batch (ddof 1).'),
  frac_reward_zero_std: metric('Groups all equal', 'share', 'down', 'Share of groups whose rollouts all got the same reward. They teach nothing: near 1 the problems are too easy or too hard.'),
  accuracy: metric('Accuracy', 'share', 'up', 'Share of training rollouts with the right answer, whatever the reward says.'),

  'curriculum/solve_rate': metric('Solve rate', 'share', 'up', 'Accuracy averaged over the window that promotion looks at: the stage ends when it is high enough, or rises no more.'),

  // Policy update
  'clip_ratio/low_mean': metric('Clipped low', 'share', 'none', 'Share of tokens with ratio < 1 − ε_low and a negative advantage: they push no further down.'),
  'clip_ratio/high_mean': metric('Clipped high', 'share', 'none', 'Share of tokens with ratio > 1 + ε_high and a positive advantage: they push no further up. Under the loss cispo: ratio above its cap; they push up no harder.'),
  'clip_ratio/region_mean': metric('Clipped', 'share', 'none', 'Share of tokens clipped on either side. Zero when the rollouts are fresh; above 0.2 the data are stale.'),
  'clip_ratio/dual_mean': metric('Dual-clipped', 'share', 'none', 'Share of tokens whose loss the dual clip bounds: negative advantage and a ratio above c.'),
  'sampling/pass_rate': metric('Groups that differ', 'share', 'none', 'Share of the groups drawn in this step, by dynamic sampling too, whose rollouts have advantages. Near 0 the problems are solved, or out of reach.'),
  'sampling/rounds': metric('Sampling rounds', 'rounds', 'down', 'How often this step drew its prompts until enough groups differed, or the bound was reached.'),
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
  'parallel/answer_disagreement': metric('Answer disagreement', 'share', 'none', 'Share of blocks in which two paths arrive at different answers. A path without an answer neither agrees nor disagrees.'),
  'parallel/path_accuracy': metric('Path accuracy', 'share', 'up', 'Share of single paths that arrive at the right answer: q in the vote formulas.'),
  'parallel/exploration_share': metric('Exploration', 'share', 'none', 'Share of blocks that open before the response has arrived at an answer.'),
  'parallel/verification_share': metric('Verification', 'share', 'none', 'Share of blocks that open after the response has arrived at an answer, to check it.'),
  'parallel/final_before_share': metric('Answer before the fork', 'share', 'none', 'Share of blocks before which the trunk or an earlier summary had arrived at the answer that the response gives in the end. High: the block confirms. Low, with much verification: blocks change the answer.'),
  'parallel/right_before_share': metric('Right before the fork', 'share', 'none', 'Share of blocks before which the trunk or an earlier summary had arrived at the right answer.'),
  'parallel/rederived_share': metric('Re-derived', 'share', 'none', 'Share of paths that arrive again at the answer which stood before their fork, over the blocks with such an answer. Low: the paths find something else.'),
  'parallel/self_bleu': metric('Path similarity', 'BLEU', 'down', 'Mean pairwise BLEU of the paths of a block. 1 = identical paths, which add nothing.'),
  'tokens/critical': metric('Critical path', 'tokens', 'down', 'Tokens on the longest chain from prompt to answer: what one waits for when paths run at once.'),
  'tokens/total': metric('Total tokens', 'tokens', 'down', 'Mean tokens of a response, every path counted: what it costs.'),
  'tokens/saved': metric('Saved by forking', 'share', 'up', '1 − critical ÷ total: how much of the work ran at the same time.'),

  // Evaluation on held-out problems
  'eval/mean@k': metric('Mean@k', 'share', 'up', 'Mean accuracy over k samples of each held-out problem.'),
  'eval/mean@k_low': metric('Mean@k, lower end', 'share', 'none', 'Lower end of its 95 % interval over problems: bootstrap, or Wilson’s where every problem is all right or all wrong.'),
  'eval/mean@k_high': metric('Mean@k, upper end', 'share', 'none', 'Upper end of its 95 % interval over problems.'),
  'eval/pass@k': metric('Pass@k', 'share', 'up', 'Chance that at least one of k samples is right (unbiased estimate).'),
  'eval/pass@k_low': metric('Pass@k, lower end', 'share', 'none', 'Lower end of its 95 % interval over problems (Wilson, as each problem is hit or missed).'),
  'eval/pass@k_high': metric('Pass@k, upper end', 'share', 'none', 'Upper end of its 95 % interval over problems.'),
  'eval/maj@k': metric('Majority@k', 'share', 'up', 'Accuracy of the most frequent answer among k samples. Ties go to the answer seen first; no answer has no vote.'),
  'eval/maj@k_low': metric('Majority@k, lower end', 'share', 'none', 'Lower end of its 95 % interval over problems (Wilson, as each vote is right or wrong).'),
  'eval/maj@k_high': metric('Majority@k, upper end', 'share', 'none', 'Upper end of its 95 % interval over problems.'),
  'eval/votes': metric('Votes', 'responses', 'none', 'Sequential responses that vote on one answer: as many as the mean tokens of a parallel response buy.'),
  'eval/parallel_gain': metric('Gain over equal tokens', 'share', 'up', 'Accuracy of parallel responses minus that of self-consistency at equal tokens, on the same checkpoint and problems.'),
  'eval/parallel_gain_low': metric('Gain over equal tokens, lower end', 'share', 'none', 'Lower end of its 95 % interval (paired bootstrap over problems). Above 0: forking beats the vote.'),
  'eval/parallel_gain_high': metric('Gain over equal tokens, upper end', 'share', 'none', 'Upper end of its 95 % interval (paired bootstrap over problems). Below 0: the vote beats forking.'),

  // Signs of a gamed reward
  'hack/empty_paths': metric('Empty paths', 'share', 'down', 'Share of responses with a path that holds no text, or only spaces.'),
  'hack/identical_paths': metric('Identical paths', 'share', 'down', 'Share of responses with a block whose paths are the same word for word.'),
  'hack/missing_summary': metric('Missing summaries', 'share', 'down', 'Share of responses with a block that no summary follows.'),
  'hack/too_few_paths': metric('Lone paths', 'share', 'down', 'Share of responses with a block of fewer than two paths, which compares nothing.'),
  'hack/too_many_blocks': metric('Too many blocks', 'share', 'down', 'Share of responses with more than 8 blocks.'),
  'hack/late_summary': metric('Late summaries', 'share', 'down', 'Share of responses in which other text stands between a block and its summary.'),
  'hack/empty_summary': metric('Empty summaries', 'share', 'down', 'Share of responses with a summary that holds no text, or only spaces.'),
  'hack/unclosed_block': metric('Unclosed blocks', 'share', 'down', 'Share of responses that end inside a block. The runtime closes blocks before its limit, so this is about 0 in rollouts.'),
  'hack/unclosed_summary': metric('Unclosed summaries', 'share', 'down', 'Share of responses that end inside a summary.'),
  'hack/path_outside_block': metric('Paths outside blocks', 'share', 'down', 'Share of responses with a <Path> outside a block: in the trunk or in a summary.'),
  'hack/nested_block': metric('Nested blocks', 'share', 'down', 'Share of responses with a <Parallel> inside a block. It is read as a word and opens nothing.'),
  'hack/block_in_summary': metric('Blocks in summaries', 'share', 'down', 'Share of responses with a <Parallel> inside a summary. It is read as a word and opens nothing.'),
  'hack/stray_tags': metric('Stray tags', 'share', 'down', 'Share of responses with a closing tag that closes nothing, or a <Path> or <Summary> where none can begin.'),
  'hack/repeated_blocks': metric('Repeated blocks', 'share', 'down', 'Share of responses with a block whose paths and summary stood there before, in any order of the paths.'),
  'hack/copied_summary': metric('Copied summaries', 'share', 'down', 'Share of responses with a summary that is one of its paths word for word.'),
  'hack/answer_in_path': metric('Final answers in paths', 'share', 'down', 'Share of responses with a path that announces the final answer. It does not count as one.'),
  'hack/answer_only_in_summary': metric('Answers only in summaries', 'share', 'down', 'Share of responses that announce the final answer in a summary and never behind it.'),
  'hack/answer_before_block': metric('Blocks after the answer', 'share', 'down', 'Share of responses that fork after they announced the final answer: such a block cannot have helped.'),
  'hack/unsupported_answer': metric('Answers without a path', 'share', 'down', 'Share of responses with blocks whose final answer no path arrived at: the paths were decoration, or the first derivation won the vote.'),
  'hack/spelled_tags': metric('Spelled tags', 'share', 'down', 'Share of responses that spell a tag in ordinary tokens, which a checker of texts would take for the tag.'),
  'hack/tags_in_prompt': metric('Tags in prompts', 'share', 'none', 'Share of responses to a prompt that holds one of the six tags. Structure is read from the response only, so they open nothing.'),
  'hack/several_answers': metric('Several answers', 'share', 'down', 'Share of responses that give two different final answers outside their blocks.'),

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
