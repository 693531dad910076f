/** Puts a link to a recipe on the clipboard. */
import { notifications } from '@mantine/notifications';
import { recipeLink } from '../store/share.ts';
import { showError } from '../store/studio-store.ts';

export async function shareRecipe(recipe: unknown): Promise<void> {
  const link = recipeLink(recipe, window.location.href);
  try {
    await navigator.clipboard.writeText(link);
    notifications.show({ message: 'The link is on the clipboard. It has the recipe in it, and no data.' });
  } catch {
    showError(`The clipboard can't be written here. The link is: ${link}`);
  }
}
