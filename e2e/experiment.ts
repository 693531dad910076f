/**
 * An experiment run by `npm run train`: every arm and seed is a run of its own in `<out>/<arm>-<seed>/`, one after the
 * other; what is finished is not run again, what was interrupted goes on from its save. Then `report.json` and
 * `report.md` compare them.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type ArmResult,
  armRecipe,
  type EvaluationLine,
  experimentReport,
  parseExperiment,
  reportTable,
} from '../src/engine/train/experiment.ts';

const trainScript = fileURLToPath(new URL('train.ts', import.meta.url));

/** Recipes that the experiment names: beside its own folder or in it. */
async function recipesOf(path: string, files: readonly string[]): Promise<Map<string, unknown>> {
  const documents = new Map<string, unknown>();
  for (const file of new Set(files)) {
    const found = [join(dirname(path), file), join(dirname(path), '..', file)].find((one) => existsSync(one));
    if (found) documents.set(file, JSON.parse(await readFile(found, 'utf8')));
  }
  return documents;
}

export async function runExperiment(
  path: string,
  document: unknown,
  { out, backend, scale }: { out: string; backend: string; scale: number },
): Promise<number> {
  const experiment = parseExperiment(document);
  const documents = await recipesOf(path, [
    experiment.recipe,
    ...experiment.arms.flatMap(({ recipe }) => (recipe ? [recipe] : [])),
  ]);
  // All arms are parsed before the first one runs.
  const runs = experiment.arms.flatMap((arm) =>
    experiment.seeds.map((seed) => ({
      arm: arm.name,
      seed,
      recipe: armRecipe(experiment, arm, seed, documents),
      folder: join(out, `${arm.name}-${seed}`),
    })),
  );
  await mkdir(out, { recursive: true });
  const results: ArmResult[] = [];
  let failures = 0;
  for (const [i, { arm, seed, recipe, folder }] of runs.entries()) {
    const done = join(folder, 'finished.json');
    if (!existsSync(done)) {
      console.log(`\n${i + 1} of ${runs.length}: ${arm}, seed ${seed}`);
      const file = join(out, `${arm}-${seed}.json`);
      await writeFile(file, `${JSON.stringify(recipe, null, 1)}\n`);
      const args = [
        'tsx',
        trainScript,
        file,
        '--out',
        folder,
        '--backend',
        backend,
        '--scale',
        String(scale),
      ];
      if (existsSync(folder)) args.push('--resume');
      const { status } = spawnSync('npx', args, { stdio: 'inherit' });
      if (status !== 0) {
        console.error(`${arm}, seed ${seed} did not finish; the others go on.`);
        failures++;
        continue;
      }
      await writeFile(done, `${JSON.stringify({ scale, backend })}\n`);
    }
    const { history } = JSON.parse(await readFile(join(folder, 'eval.json'), 'utf8')) as {
      history: EvaluationLine[];
    };
    results.push({ arm, seed, history });
    const report = experimentReport(experiment, results);
    await writeFile(join(out, 'report.json'), `${JSON.stringify(report, null, 1)}\n`);
    await writeFile(join(out, 'report.md'), `# ${experiment.name}\n\n${reportTable(experiment, report)}\n`);
  }
  if (results.length > 0) console.log(`\n${reportTable(experiment, experimentReport(experiment, results))}`);
  return failures > 0 ? 1 : 0;
}
