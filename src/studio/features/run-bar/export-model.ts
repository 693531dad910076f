/** Saves the current model as one zip file that unpacks to a Hugging Face folder. */
import { downloadZip } from 'client-zip';
import { commands } from '../../store/studio-store.ts';
import { saveFile } from '../../ui/save-file.ts';

const slug = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');

export function archiveName(recipe: string, stage: string): string {
  return `polypath-${[recipe, stage].map(slug).filter(Boolean).join('-')}.zip`;
}

/** Fails with a sentence, which the page shows already where it came from the engine. */
export async function exportModel(name: string): Promise<void> {
  const files = await commands.export();
  const zip = await downloadZip(files.map(({ path, bytes }) => ({ name: path, input: bytes }))).blob();
  saveFile(name, zip);
}
