/**
 * What the training pass is shown of a rollout. As a rule exactly what the rollout was: the same positions and branch
 * codes, so that log-probs agree. Parallel-R1's Seen variant trains on the text as it stands instead (section 3.3): a
 * later path then sees the earlier ones, which it did not while it was written.
 */
import type { Rollout } from './row.ts';
import type { StructureOptions } from './tree.ts';

export type LayoutSettings = Pick<StructureOptions, 'variant' | 'positions'>;

/** Whether training sees rollouts otherwise than they were written. */
export function viewDiffers({ variant, positions }: LayoutSettings): boolean {
  return variant === 'seen' || positions === 'consecutive';
}

/** The rollout as the training pass sees it; tokens are in text order already. */
export function trainingView(rollout: Rollout, layout: LayoutSettings): Rollout {
  if (!viewDiffers(layout)) return rollout;
  return {
    ...rollout,
    positions: Int32Array.from(rollout.tokens, (_, t) => t),
    branches: layout.variant === 'seen' ? new Int32Array(rollout.tokens.length) : rollout.branches,
  };
}
