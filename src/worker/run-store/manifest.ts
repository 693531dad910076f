/** Reads the manifest of a save, of this version of the format or of an older one. */
import { UserError } from '../../base/assert.ts';
import { parseRecipe } from '../../engine/train/recipe.ts';
import type { Manifest } from './run-store.ts';

type Older = Record<string, unknown>;

/** What turns a manifest of each version into one of the next. */
const STEPS: readonly ((old: Older) => Older)[] = [
  // 0: as `npm run train` wrote it before saves had a version: no logs, no data, the file without a checksum.
  (old) => ({ ...old, version: 1, at: old.at ?? 0, data: [], logs: { events: 0, rollouts: 0, index: 0 } }),
];

/** @throws UserError that says why, for a save of a newer version or of none that we know */
export function readManifest(document: unknown, newest: number): Manifest {
  if (typeof document !== 'object' || document === null) throw new UserError('its manifest is no object');
  let manifest = document as Older;
  const version = manifest.version ?? 0;
  if (typeof version !== 'number' || !Number.isInteger(version) || version < 0)
    throw new UserError(`its version is ${JSON.stringify(version)}, which is none`);
  if (version > newest)
    throw new UserError(
      `it was written by a newer version of Polypath (format ${version}, this one knows ${newest}); reload the page to get the newest version`,
    );
  for (const step of STEPS.slice(version)) manifest = step(manifest);
  // A recipe of an older version lacks knobs that came since: their defaults are what was done then.
  const recipe = parseRecipe(manifest.recipe);
  for (const key of ['stage', 'step', 'optimizerSteps', 'elapsedSeconds', 'tokens', 'scale'] as const)
    if (typeof manifest[key] !== 'number') throw new UserError(`its manifest has no "${key}"`);
  return { ...(manifest as unknown as Manifest), recipe };
}
