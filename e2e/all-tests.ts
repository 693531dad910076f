/**
 * `npm test`: installs Chromium where there is none, then runs unit tests (Node), kernel tests (Chromium, WebGPU) and
 * journeys (the built app in Chromium), one after the other, and ends with one line `N passed, M failed`.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromiumPath } from './chromium.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const results = `${root}test-results`;

function run(command: string, args: string[]): number {
  console.log(`\n> ${command} ${args.join(' ')}`);
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (error) console.error(error.message);
  return status ?? 1;
}

function ensureChromium(): void {
  if (chromiumPath()) return;
  const root = process.getuid?.() === 0;
  if (root && existsSync('/usr/bin/apt-get')) {
    run('apt-get', ['update', '-qq']);
    run('apt-get', ['install', '-y', '-qq', 'chromium']);
    if (chromiumPath()) return;
  }
  run('npx', ['playwright', 'install', 'chromium']);
}

interface Counts {
  passed: number;
  failed: number;
}

/** Counts of a vitest report. A file that could not even be loaded is a failure. A skipped test is one too. */
function vitest(project: 'unit' | 'kernel'): Counts {
  const file = `${results}/${project}.json`;
  const args = ['vitest', 'run', '-c', 'e2e/vitest.config.ts', '--project', project];
  const status = run('npx', [...args, '--reporter=default', '--reporter=json', `--outputFile.json=${file}`]);
  if (!existsSync(file)) return { passed: 0, failed: 1 };
  const report = JSON.parse(readFileSync(file, 'utf8'));
  const passed: number = report.numPassedTests;
  const failed = report.numTotalTests - passed + brokenFiles(report);
  return { passed, failed: status !== 0 && failed === 0 ? 1 : failed };
}

function brokenFiles(report: { testResults: { status: string; assertionResults: unknown[] }[] }): number {
  return report.testResults.filter((file) => file.status === 'failed' && file.assertionResults.length === 0)
    .length;
}

function journeys(): Counts {
  const file = `${results}/journeys.json`;
  const status = run('npx', ['playwright', 'test', '-c', 'e2e/playwright.config.ts']);
  if (!existsSync(file)) return { passed: 0, failed: 1 };
  const { stats } = JSON.parse(readFileSync(file, 'utf8'));
  const failed = stats.unexpected + stats.flaky + stats.skipped;
  return { passed: stats.expected, failed: status !== 0 && failed === 0 ? 1 : failed };
}

rmSync(results, { recursive: true, force: true });
mkdirSync(results, { recursive: true });
ensureChromium();
const all = [vitest('unit'), vitest('kernel'), journeys()];
const passed = all.reduce((sum, one) => sum + one.passed, 0);
const failed = all.reduce((sum, one) => sum + one.failed, 0);
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
