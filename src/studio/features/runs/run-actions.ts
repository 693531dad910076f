/** What can be done with a run on disk besides looking at it. */
import type { ListedRun } from '../../../worker/protocol.ts';
import { openRecipe } from '../../store/recipe-draft.ts';
import { go } from '../../store/route.ts';
import { commands, showError } from '../../store/studio-store.ts';
import { saveFile } from '../../ui/save-file.ts';

const slug = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');

/** Saves the run as one file. Rollouts quote the problems of its data. */
export async function saveBundle({ id, name }: ListedRun, rollouts: boolean): Promise<void> {
  try {
    const { zip } = await commands.bundleRun(id, rollouts);
    saveFile(`polypath-run-${slug(name)}.zip`, zip);
  } catch (error) {
    showError((error as Error).message);
  }
}

/** Puts the recipe where Start takes it from. */
export function takeRecipeOf({ name, recipe }: ListedRun): void {
  openRecipe(name, recipe);
  go('recipe');
}
