import type { OptimizerSettings } from './recipe.ts';

/**
 * The learning rate of step `step` (1-based) of `totalSteps`, in float64. Warm-up: lr·n/W for n ≤ W, so it is never 0
 * and reaches lr at n = W. Then down to lo = lr·minLearningRateRatio at the last step: half a cosine wave, a line, or
 * (constant) not at all. Steps past the end stay at lo.
 */
export function learningRateAt(
  settings: Pick<OptimizerSettings, 'learningRate' | 'warmupSteps' | 'schedule' | 'minLearningRateRatio'>,
  step: number,
  totalSteps: number,
): number {
  const { learningRate: highest, warmupSteps: warmup, schedule } = settings;
  if (step <= warmup) return (highest * step) / warmup;
  const lowest = highest * settings.minLearningRateRatio;
  const progress = Math.min(1, (step - warmup) / Math.max(1, totalSteps - warmup));
  switch (schedule) {
    case 'cosine':
      return lowest + ((highest - lowest) / 2) * (1 + Math.cos(Math.PI * progress));
    case 'linear':
      return lowest + (highest - lowest) * (1 - progress);
    case 'constant':
      return highest;
    default:
      return schedule satisfies never;
  }
}
