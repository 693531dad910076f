/** What several runs have in common and where they differ: settings, scores over seeds, curves with intervals. */
import { type Recipe, type SeedMean, seedMean } from '../../worker/protocol.ts';
import type { RunLog } from './studio-state.ts';

/** Runs of one recipe that differ in nothing but their seed. */
export interface SeedGroup {
  name: string;
  runs: RunLog[];
}

type Flat = Map<string, unknown>;

/** `stages.1.learningRate` → value, for every leaf; an array of plain values is one leaf. */
function flatten(value: unknown, path = '', into: Flat = new Map()): Flat {
  const isLeaf =
    typeof value !== 'object' ||
    value === null ||
    (Array.isArray(value) && value.every((item) => typeof item !== 'object' || item === null));
  if (isLeaf) into.set(path, value);
  else
    for (const [key, inner] of Object.entries(value))
      flatten(inner, path === '' ? key : `${path}.${key}`, into);
  return into;
}

/** What names a run instead of changing what it does. */
const NAMES: ReadonlySet<string> = new Set(['name', 'description']);

export interface Difference {
  /** With the stage's name instead of its number: `rl-hard › learningRate`. */
  path: string;
  /** One a recipe; undefined where it has no such setting. */
  values: unknown[];
}

function readablePath(path: string, recipes: readonly Recipe[]): string {
  const parts = path.split('.');
  if (parts[0] === 'stages') {
    const names = new Set(recipes.map(({ stages }) => stages[Number(parts[1])]?.name).filter(Boolean));
    return [names.size === 1 ? [...names][0] : `stage ${Number(parts[1]) + 1}`, ...parts.slice(2)].join(
      ' › ',
    );
  }
  return parts.join(' › ');
}

/** Settings in which the recipes are not all the same, in the order of the first one that has them. */
export function differences(recipes: readonly Recipe[]): Difference[] {
  const flat = recipes.map((recipe) => flatten(recipe));
  const paths = new Set(flat.flatMap((one) => [...one.keys()]));
  return [...paths].flatMap((path) => {
    const values = flat.map((one) => one.get(path));
    const texts = new Set(values.map((value) => JSON.stringify(value)));
    return texts.size < 2 || NAMES.has(path) ? [] : [{ path: readablePath(path, recipes), values }];
  });
}

/** All that decides what a run does, except its seed. */
function keyOf({ record: { recipe, scale } }: RunLog): string {
  const { name: _, description: __, seed: ___, ...rest } = recipe;
  return JSON.stringify([rest, scale]);
}

/** "parallel, seed 3" → "parallel": the seed is what the group leaves out. */
const withoutSeed = (name: string): string => name.replace(/[,;:–-]?\s*seed\s*\d+\s*$/i, '').trim() || name;

/** Runs of one recipe together, in the order given. Groups of one name are told apart by number. */
export function bySeed(runs: readonly RunLog[]): SeedGroup[] {
  const groups = new Map<string, RunLog[]>();
  for (const run of runs) {
    const key = keyOf(run);
    groups.set(key, [...(groups.get(key) ?? []), run]);
  }
  const seen = new Map<string, number>();
  return [...groups.values()].map((own) => {
    const base = own.length > 1 ? withoutSeed(own[0].record.name) : own[0].record.name;
    const count = (seen.get(base) ?? 0) + 1;
    seen.set(base, count);
    return { name: count > 1 ? `${base} (${count})` : base, runs: own };
  });
}

export interface MeanCurve {
  /** One a row; NaN where no run has one. */
  values: Float64Array;
  /** Ends of the 95 % interval over seeds (Student's t); null for a single run. */
  interval: { low: Float64Array; high: Float64Array } | null;
}

/** A metric over the runs of a group (a column each), row by row; a row counts the runs that got so far. */
export function meanCurve(columns: readonly Float64Array[]): MeanCurve {
  const length = Math.max(0, ...columns.map((column) => column.length));
  const values = new Float64Array(length).fill(Number.NaN);
  if (columns.length === 1) {
    values.set(columns[0]);
    return { values, interval: null };
  }
  const low = values.slice();
  const high = values.slice();
  for (let row = 0; row < length; row++) {
    const known = columns.map((column) => column[row]).filter((value) => Number.isFinite(value));
    if (known.length === 0) continue;
    const { mean, half } = seedMean(known);
    values[row] = mean;
    if (half !== null) {
      low[row] = mean - half;
      high[row] = mean + half;
    }
  }
  return { values, interval: { low, high } };
}

/** The last score of each held-out set, over the runs of a group. */
export function lastScores(runs: readonly RunLog[], metric: string): Map<string, SeedMean> {
  const bySet = new Map<string, number[]>();
  for (const { evaluations } of runs) {
    const last = new Map(
      evaluations.flatMap(({ set, metrics }) =>
        metrics[metric] === undefined ? [] : [[set, metrics[metric]] as const],
      ),
    );
    for (const [set, value] of last) bySet.set(set, [...(bySet.get(set) ?? []), value]);
  }
  return new Map([...bySet].map(([set, values]) => [set, seedMean(values)]));
}
