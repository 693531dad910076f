/** Takes models out of the page, as one zip file that unpacks to a Hugging Face folder. */
import { Button } from '@mantine/core';
import { downloadZip } from 'client-zip';
import { useState } from 'react';
import type { ExportedFile } from '../../worker/protocol.ts';
import { commands, showError, useStudio } from '../store/studio-store.ts';
import { Icon } from './icon.tsx';
import { saveFile } from './save-file.ts';

const slug = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');

export function archiveName(recipe: string, stage: string): string {
  return `polypath-${[recipe, stage].map(slug).filter(Boolean).join('-')}.zip`;
}

export async function saveFolder(name: string, files: readonly ExportedFile[]): Promise<void> {
  saveFile(name, await downloadZip(files.map(({ path, bytes }) => ({ name: path, input: bytes }))).blob());
}

/** Exports the model of the run that goes, or went last. */
export function ExportButton() {
  const stage = useStudio((state) => state.stages[state.current]?.name ?? '');
  const recipeName = useStudio((state) => state.recipe?.name ?? 'model');
  const hasModel = useStudio((state) => state.parameters > 0);
  const [exporting, setExporting] = useState(false);
  const save = async () => {
    setExporting(true);
    try {
      await saveFolder(archiveName(recipeName, stage), await commands.export());
    } catch (error) {
      showError((error as Error).message);
    }
    setExporting(false);
  };
  return (
    <Button
      data-testid="export"
      variant="default"
      onClick={save}
      disabled={!hasModel}
      loading={exporting}
      leftSection={<Icon name="download" size={14} />}
    >
      Export the current one
    </Button>
  );
}
