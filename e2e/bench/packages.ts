/** Peers from npm, installed when they are first asked for, outside of the project's own dependencies. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { repository } from './page.ts';

const CACHE = join(repository, 'node_modules/.cache/polypath-bench');
const TIMEOUT_MS = 240_000;

function npm(args: string[], cwd: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('npm', args, { cwd, stdio: ['ignore', 'ignore', 'pipe'], timeout: TIMEOUT_MS });
    let errors = '';
    child.stderr.on('data', (chunk) => {
      errors += chunk;
    });
    child.on('error', reject);
    child.on('close', (code) => {
      const reason = errors.split('\n').find((line) => line.startsWith('npm error')) ?? `exit code ${code}`;
      if (code === 0) resolve();
      else reject(new Error(reason.trim()));
    });
  });
}

/**
 * The folder whose `node_modules` holds this exact version; no script of the package or its dependencies is run.
 * Throws where npm cannot install it.
 */
export async function installed(name: string, version: string): Promise<string> {
  const folder = join(CACHE, `${name.replace('@', '').replace('/', '-')}-${version}`);
  if (existsSync(folder)) return folder;
  console.log(`  installing ${name}@${version} …`);
  const part = `${folder}.part`; // moved into place only when whole
  await rm(part, { recursive: true, force: true });
  await mkdir(part, { recursive: true });
  await writeFile(join(part, 'package.json'), '{ "private": true }\n');
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error', '--fetch-retries=1'];
  await npm(['install', '--ignore-scripts', '--save-exact', ...quiet, `${name}@${version}`], part);
  await rename(part, folder);
  return folder;
}
