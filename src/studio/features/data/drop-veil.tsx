/** The whole page takes dropped files and folders; a veil says so while they hover. */
import { useEffect, useState } from 'react';
import { commands, showError } from '../../store/studio-store.ts';
import { droppedFiles } from './dropped-files.ts';
import './data-panel.css';

export function DropVeil() {
  const [over, setOver] = useState(false);
  useEffect(() => {
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false;
    const enter = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(false);
      droppedFiles(event.dataTransfer).then(
        (files) => files.length > 0 && commands.drop(files),
        (error) =>
          showError(`What you dropped could not be read: ${error.message}. Choose the files instead.`),
      );
    };
    window.addEventListener('dragover', enter);
    window.addEventListener('dragleave', leave);
    window.addEventListener('drop', drop);
    return () => {
      window.removeEventListener('dragover', enter);
      window.removeEventListener('dragleave', leave);
      window.removeEventListener('drop', drop);
    };
  }, []);
  return over ? <div className="data-veil">Drop to load</div> : null;
}
