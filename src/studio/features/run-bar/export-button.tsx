/** Takes the model of the run out, as a Hugging Face folder. */
import { Button } from '@mantine/core';
import { useState } from 'react';
import { showError, useStudio } from '../../store/studio-store.ts';
import { Icon } from '../../ui/icon.tsx';
import { archiveName, exportModel } from './export-model.ts';

export function ExportButton() {
  const stage = useStudio((state) => state.stages[state.current]?.name ?? '');
  const recipeName = useStudio((state) => state.recipe?.name ?? 'model');
  const hasModel = useStudio((state) => state.parameters > 0);
  const [exporting, setExporting] = useState(false);
  const save = async () => {
    setExporting(true);
    try {
      await exportModel(archiveName(recipeName, stage));
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
      Export
    </Button>
  );
}
