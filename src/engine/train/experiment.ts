/**
 * Experiments: one recipe, some arms that change it, some seeds; and the table that compares them. An arm says what is
 * different as paths into the recipe, so that everything else is certain to be the same.
 */
import * as v from 'valibot';
import { messageOf, UserError } from '../../base/assert.ts';
import { parseRecipe } from './recipe.ts';
import type { Recipe } from './recipe-schema.ts';

const armSchema = v.strictObject({
  name: v.pipe(
    v.string(),
    v.regex(/^[\w.-]+$/, 'letters, digits, dots and dashes, because it names a folder'),
  ),
  description: v.optional(v.string(), ''),
  /** Another recipe than the experiment's. */
  recipe: v.optional(v.string()),
  /** Path → value. A path is keys with dots; a stage goes by its name, other items
   * by their number, `*` means all. */
  set: v.optional(v.record(v.string(), v.unknown()), {}),
  /** Stages to leave out, by name. */
  drop: v.optional(v.array(v.string()), []),
});

const experimentSchema = v.strictObject({
  kind: v.literal('experiment'),
  name: v.pipe(v.string(), v.minLength(1)),
  description: v.optional(v.string(), ''),
  /** File of the recipe, beside the experiment's folder. */
  recipe: v.string(),
  /** For all arms, before their own. */
  set: v.optional(v.record(v.string(), v.unknown()), {}),
  arms: v.pipe(v.array(armSchema), v.minLength(1)),
  seeds: v.pipe(v.array(v.pipe(v.number(), v.integer(), v.minValue(0))), v.minLength(1)),
  /** Metrics that the table shows, of the last evaluation on these sets. */
  report: v.strictObject({
    sets: v.pipe(v.array(v.string()), v.minLength(1)),
    metrics: v.pipe(v.array(v.string()), v.minLength(1)),
  }),
});

export type Experiment = v.InferOutput<typeof experimentSchema>;

/** Whether a document is an experiment rather than a recipe. */
export function isExperiment(document: unknown): boolean {
  return (
    typeof document === 'object' &&
    document !== null &&
    (document as { kind?: unknown }).kind === 'experiment'
  );
}

export function parseExperiment(document: unknown): Experiment {
  const result = v.safeParse(experimentSchema, document);
  if (!result.success) {
    const [issue] = result.issues;
    throw new UserError(
      `This experiment has a fault at ${v.getDotPath(issue) ?? 'its root'}: ${issue.message}. An experiment has a recipe, arms, seeds and a report.`,
    );
  }
  const names = result.output.arms.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice) throw new UserError(`Two arms of the experiment are called "${twice}". Give each its own name.`);
  return result.output;
}

type Json = Record<string, unknown>;

/** The places that a path means: [object, key] pairs. */
function placesOf(recipe: Json, path: string, arm: string): [Json, string][] {
  const keys = path.split('.');
  let at: unknown[] = [recipe];
  for (const key of keys.slice(0, -1))
    at = at.flatMap((node): unknown[] => {
      if (Array.isArray(node)) {
        const named = node.filter(
          (one, i) => key === '*' || key === String(i) || (one as Json)?.name === key,
        );
        if (named.length > 0) return named;
      } else if (typeof node === 'object' && node !== null) {
        const object = node as Json;
        object[key] ??= {};
        return [object[key]];
      }
      throw new UserError(
        `Arm "${arm}" sets "${path}", but the recipe has no "${key}" there. A stage goes by its name, * means all stages.`,
      );
    });
  return at.map((node) => [node as Json, keys[keys.length - 1]]);
}

/** The recipe of an arm and seed, parsed: a fault in it is told with the arm's name. */
export function armRecipe(
  experiment: Experiment,
  arm: Experiment['arms'][number],
  seed: number,
  documents: ReadonlyMap<string, unknown>,
): Recipe {
  const file = arm.recipe ?? experiment.recipe;
  const base = documents.get(file);
  if (!base) throw new UserError(`Arm "${arm.name}" starts from the recipe "${file}", which is not there.`);
  const recipe = structuredClone(base) as Json;
  const stages = recipe.stages as Json[];
  for (const name of arm.drop)
    if (!stages.some((stage) => stage.name === name))
      throw new UserError(`Arm "${arm.name}" drops the stage "${name}", which ${file} does not have.`);
  recipe.stages = stages.filter((stage) => !arm.drop.includes(String(stage.name)));
  for (const [path, value] of Object.entries({ ...experiment.set, ...arm.set }))
    for (const [node, key] of placesOf(recipe, path, arm.name)) node[key] = value;
  recipe.seed = seed;
  recipe.name = `${experiment.name}: ${arm.name}, seed ${seed}`;
  try {
    return parseRecipe(recipe);
  } catch (error) {
    throw new UserError(`Arm "${arm.name}": ${messageOf(error)}`);
  }
}

/** A run of an experiment. */
export interface PlannedRun {
  arm: string;
  seed: number;
  recipe: Recipe;
}

/**
 * Every arm with every seed, in order; all are parsed before the first one runs.
 * @param load the recipe of a file, or undefined where there is none
 */
export async function plannedRuns(
  experiment: Experiment,
  load: (file: string) => Promise<unknown>,
): Promise<PlannedRun[]> {
  const files = new Set([experiment.recipe, ...experiment.arms.flatMap(({ recipe }) => recipe ?? [])]);
  const documents = new Map(
    await Promise.all([...files].map(async (file) => [file, await load(file)] as const)),
  );
  return experiment.arms.flatMap((arm) =>
    experiment.seeds.map((seed) => ({
      arm: arm.name,
      seed,
      recipe: armRecipe(experiment, arm, seed, documents),
    })),
  );
}

/** A line of `eval.json`'s history. */
export interface EvaluationLine {
  stage: string;
  step: number;
  set: string;
  metrics: Readonly<Record<string, number | undefined>>;
}

export interface ArmResult {
  arm: string;
  seed: number;
  history: readonly EvaluationLine[];
}

/** A number over seeds: mean, and the half-width of its 95 % interval (Student's t), null for a single seed. */
export interface SeedMean {
  mean: number;
  half: number | null;
  values: number[];
}

/** Two-sided 95 % quantiles of Student's t for 1 to 10 degrees of freedom; beyond, 2 is near enough. */
const T95 = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];

export function seedMean(values: readonly number[]): SeedMean {
  const n = values.length;
  const mean = values.reduce((a, b) => a + b, 0) / n;
  if (n < 2) return { mean, half: null, values: [...values] };
  const variance = values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (n - 1);
  return { mean, half: (T95[n - 2] ?? 2) * Math.sqrt(variance / n), values: [...values] };
}

export interface ExperimentReport {
  name: string;
  seeds: number[];
  /** By arm, set and metric; a metric that an arm never logged is left out. */
  arms: Record<string, Record<string, Record<string, SeedMean>>>;
}

/** Compares the last evaluation of every run. */
export function experimentReport(experiment: Experiment, results: readonly ArmResult[]): ExperimentReport {
  const { sets, metrics } = experiment.report;
  const report: ExperimentReport = { name: experiment.name, seeds: [...experiment.seeds], arms: {} };
  for (const { name } of experiment.arms) {
    const own = results.filter(({ arm }) => arm === name);
    if (own.length === 0) continue;
    report.arms[name] = {};
    for (const set of sets) {
      const last = own.flatMap(({ history }) => history.filter((line) => line.set === set).slice(-1));
      const entries = metrics.flatMap((metric) => {
        const values = last.flatMap(({ metrics: all }) => (all[metric] === undefined ? [] : [all[metric]]));
        return values.length === 0 ? [] : [[metric, seedMean(values)] as const];
      });
      report.arms[name][set] = Object.fromEntries(entries);
    }
  }
  return report;
}

const show = ({ mean, half, values }: SeedMean): string =>
  `${mean.toFixed(3)}${half === null ? '' : ` ± ${half.toFixed(3)}`} (${values.length})`;

/** The report as a Markdown table: an arm a row, a metric a column; "mean ± 95 % half-width (seeds)". */
export function reportTable(experiment: Experiment, report: ExperimentReport): string {
  const columns = experiment.report.sets.flatMap((set) =>
    experiment.report.metrics.map((metric) => ({ set, metric, label: `${set}: ${metric}` })),
  );
  const rows = Object.entries(report.arms).map(([arm, sets]) => [
    arm,
    ...columns.map(({ set, metric }) => (sets[set]?.[metric] ? show(sets[set][metric]) : '–')),
  ]);
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    line(['arm', ...columns.map(({ label }) => label)]),
    line(['---', ...columns.map(() => '---')]),
    ...rows.map(line),
  ].join('\n');
}
