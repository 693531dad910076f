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
  type EvaluationLine,
  experimentReport,
  parseExperiment,
  plannedRuns,
  reportTable,
} from '../src/engine/train/experiment.ts';

const trainScript = fileURLToPath(new URL('train.ts', import.meta.url));

/** A recipe that the experiment names: beside its own folder or in it. */
async function recipeBeside(path: string, file: string): Promise<unknown> {
  const found = [join(dirname(path), file), join(dirname(path), '..', file)].find((one) => existsSync(one));
  return found ? JSON.parse(await readFile(found, 'utf8')) : undefined;
}

export async function runExperiment(
  path: string,
  document: unknown,
  { out, backend, scale }: { out: string; backend: string; scale: number },
): Promise<number> {
  const experiment = parseExperiment(document);
  const runs = await plannedRuns(experiment, (file) => recipeBeside(path, file));
  await mkdir(out, { recursive: true });
  const results: ArmResult[] = [];
  let failures = 0;
  for (const [i, { arm, seed, recipe }] of runs.entries()) {
    const folder = join(out, `${arm}-${seed}`);
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
