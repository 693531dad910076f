/** What Start does: runs the recipe at hand, or the arms of the experiment at hand. */
import { isExperiment } from '../../worker/protocol.ts';
import { planExperiment, runExperiment } from './experiment.ts';
import { useDraft } from './recipe-draft.ts';
import { loadRecipe } from './recipes.ts';
import { commands, showError, useStudio } from './studio-store.ts';

export async function startDraft(): Promise<void> {
  const { document, scale } = useDraft.getState();
  const options = { scale, backend: useStudio.getState().compute, store: true };
  try {
    if (!isExperiment(document)) commands.start(document, options);
    else
      await runExperiment(await planExperiment(document, loadRecipe), {
        start: (arm) => commands.start(arm, options),
        onEvent: commands.onEvent,
      });
  } catch (error) {
    showError((error as Error).message);
  }
}
