/** How the losses of tokens add up to the loss of a step (see the table in `policy-loss.ts`). */
import type { PolicyLossKind } from './policy-loss.ts';

/** The responses of one mini-batch, as far as their aggregation is concerned. */
export interface Aggregated {
  /** Tokens of each response that count. A response may have none and still be one of those that a mean is over. */
  counts: readonly number[];
  /** Pass (micro-batch) of each response, −1 for one that is in none because it has no token that counts. */
  passes: readonly number[];
  /** Longest response that the rollout allows: what Dr. GRPO divides by. */
  maxTokens: number;
}

/**
 * Weight of the tokens of each response, and what their weighted sum is divided by: Σ_i w_i Σ_t l_it ÷ total. For every
 * loss Σ_i w_i n_i ÷ total is at most 1, and 1 where no response is empty (but for Dr. GRPO, whose point is that it is not).
 */
export function tokenWeights(
  loss: PolicyLossKind,
  { counts, passes, maxTokens }: Aggregated,
): { weights: number[]; total: number } {
  const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
  switch (loss) {
    case 'dapo':
    case 'cispo':
      return { weights: counts.map(() => 1), total: sum(counts) };
    case 'grpo':
    case 'gspo':
      return { weights: counts.map((n) => 1 / Math.max(1, n)), total: counts.length };
    case 'dr_grpo':
      return { weights: counts.map(() => 1), total: counts.length * maxTokens };
    case 'bnpo': {
      const tokens = new Map<number, number>();
      passes.forEach((pass, i) => {
        if (pass >= 0) tokens.set(pass, (tokens.get(pass) ?? 0) + counts[i]);
      });
      return { weights: passes.map((pass) => 1 / (tokens.get(pass) ?? 1)), total: tokens.size };
    }
    default:
      return loss satisfies never;
  }
}
