import type { ListedRun } from '../../worker/protocol.ts';

/** Where a run on disk stands: "step 412 of rl-hard". */
export function placeOf({ recipe, saved }: Pick<ListedRun, 'recipe' | 'saved'>): string {
  if (!saved) return 'not saved yet';
  const stage = recipe.stages[saved.stage];
  if (!stage) return 'its end';
  return saved.step === 0 ? `the start of ${stage.name}` : `step ${saved.step} of ${stage.name}`;
}
