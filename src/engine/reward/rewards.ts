/** Rewards of Parallel-R1 (section 3.4; reference note, section 4). */

export type RewardSettings =
  /** +1 if the answer is right, else −1 (schedule S1). */
  | { kind: 'accuracy' }
  /** +1 iff the answer is right and there is at least one valid parallel block (RL on easy problems), else −1. */
  | { kind: 'easy' }
  /** Schedule S2: most steps of a window pay accuracy, the last `bonusSteps` of it pay the tiers below. */
  | { kind: 'alternating'; window: number; bonusSteps: number; bonus: number };

export interface RewardFacts {
  correct: boolean;
  /** Parallel blocks of any kind, and whole ones. */
  blocks: number;
  validBlocks: number;
  formatValid: boolean;
}

export interface Reward {
  reward: number;
  /** What it is made of, by name: `rewards/<name>` in metrics and logs. */
  parts: Record<string, number>;
}

/**
 * @param step 1-based step of the stage; only the alternating reward looks at it: with W = window, steps with
 * (step − 1) mod W < W − bonusSteps pay ±1 accuracy; the others pay 1 for a right answer without a block, `bonus` for a
 * right answer with valid blocks, and −1 for everything else (a right answer in a broken format too).
 */
export function reward(settings: RewardSettings, facts: RewardFacts, step: number): Reward {
  const accuracy = facts.correct ? 1 : -1;
  switch (settings.kind) {
    case 'accuracy':
      return { reward: accuracy, parts: { accuracy } };
    case 'easy': {
      const easy = facts.correct && facts.validBlocks > 0 && facts.formatValid ? 1 : -1;
      return { reward: easy, parts: { easy } };
    }
    case 'alternating': {
      const { window, bonusSteps, bonus } = settings;
      let alternating = accuracy;
      if ((step - 1) % window >= window - bonusSteps) {
        if (facts.correct && facts.blocks === 0 && facts.formatValid) alternating = 1;
        else alternating = facts.correct && facts.validBlocks > 0 && facts.formatValid ? bonus : -1;
      }
      return { reward: alternating, parts: { alternating } };
    }
    default:
      return settings satisfies never;
  }
}
