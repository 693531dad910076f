import { expect, test } from 'vitest';
import { archiveName } from './export-model.tsx';

test('an archive is named after its recipe and stage', () => {
  expect(archiveName('Parallel chain sums (H)', 'rl-hard')).toBe(
    'polypath-parallel-chain-sums-h-rl-hard.zip',
  );
  expect(archiveName('model', '')).toBe('polypath-model.zip');
});
