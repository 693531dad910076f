/**
 * The recipe that Start will run: chosen from those offered, opened from a file or a link, and edited. Every edit can be
 * taken back.
 */
import { create } from 'zustand';
import {
  loadRecipe,
  type OfferedRecipe,
  offeredExperiments,
  offeredRecipes,
  readRecipeFile,
} from './recipes.ts';
import { unpackRecipe } from './share.ts';

/** A recipe that came from a file or a link instead of the list. */
export const OPENED = 'opened';
/** Edits that can be taken back; a recipe is a few kilobytes. */
const UNDO_STEPS = 100;

export type RecipePath = readonly (string | number)[];

export interface RecipeDraft {
  offered: readonly OfferedRecipe[];
  experiments: readonly OfferedRecipe[];
  /** File of the offered recipe, `OPENED`, or null before the list is there. */
  chosen: string | null;
  /** What a recipe that was opened is called. */
  openedName: string;
  /** The recipe or experiment as JSON; null while it loads. */
  document: unknown;
  past: readonly unknown[];
  future: readonly unknown[];
  /** Multiplies the steps of every stage. */
  scale: number;
}

export const useDraft = create<RecipeDraft>(() => ({
  offered: [],
  experiments: [],
  chosen: null,
  openedName: '',
  document: null,
  past: [],
  future: [],
  scale: 1,
}));

const { getState, setState } = useDraft;

/** Fetches what is offered and takes the first, unless something was chosen meanwhile. */
export async function loadOffers(): Promise<void> {
  const [offered, experiments] = await Promise.all([offeredRecipes(), offeredExperiments().catch(() => [])]);
  setState({ offered, experiments });
  if (getState().chosen === null && offered.length > 0) await chooseRecipe(offered[0].file);
}

/** Takes an offered recipe or experiment. Of two choices in a row the later one wins, whichever arrives first. */
export async function chooseRecipe(file: string): Promise<void> {
  setState({ chosen: file, document: null, past: [], future: [] });
  const document = await loadRecipe(file);
  if (getState().chosen === file) setState({ document });
}

/** Takes a recipe that came from elsewhere. */
export function openRecipe(name: string, document: unknown): void {
  setState({ chosen: OPENED, openedName: name, document, past: [], future: [] });
}

/** Takes the recipe of a link (`#/recipe?r=…`), if it has one; throws a sentence where it is damaged. */
export function openRecipeLink(params: URLSearchParams): void {
  const packed = params.get('r');
  if (packed === null) return;
  const document = unpackRecipe(packed);
  const { name } = document as { name?: unknown };
  openRecipe(typeof name === 'string' ? name : 'recipe of a link', document);
}

export async function openRecipeFile(file: File): Promise<void> {
  openRecipe(file.name, await readRecipeFile(file));
}

/** A copy of a document in which the value at a path is another; `undefined` removes it. */
export function withValue(document: unknown, [key, ...rest]: RecipePath, value: unknown): unknown {
  if (key === undefined) return value;
  if (Array.isArray(document)) {
    const copy = document.slice();
    if (rest.length === 0 && value === undefined) copy.splice(Number(key), 1);
    else copy[Number(key)] = withValue(copy[Number(key)], rest, value);
    return copy;
  }
  const copy = { ...(document as Record<string, unknown> | null | undefined) };
  if (rest.length === 0 && value === undefined) delete copy[key];
  else copy[key] = withValue(copy[key], rest, value);
  return copy;
}

export function editRecipe(path: RecipePath, value: unknown): void {
  const { document, past } = getState();
  setState({
    document: withValue(document, path, value),
    past: [...past, document].slice(-UNDO_STEPS),
    future: [],
  });
}

export function undo(): void {
  const { past, document, future } = getState();
  if (past.length > 0)
    setState({ document: past[past.length - 1], past: past.slice(0, -1), future: [document, ...future] });
}

export function redo(): void {
  const { past, document, future } = getState();
  if (future.length > 0)
    setState({ document: future[0], past: [...past, document], future: future.slice(1) });
}

export function setScale(scale: number): void {
  setState({ scale });
}
