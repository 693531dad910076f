/**
 * `npm run bench -- [step|rollout|ops|peers] [--json FILE]`: what Polypath costs, and what others cost for the same
 * work, in headless Chromium. Without a name all four sections run. Each section is a module with
 * `run(options): Promise<its part of the report>`. Set POLYPATH_WEBGPU_ADAPTER to "" for a real GPU.
 */
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { type BenchOptions, printReport, type Report, type SectionName } from './report.ts';

const SECTIONS: readonly SectionName[] = ['step', 'rollout', 'ops', 'peers'];
const USAGE = `Usage: npm run bench -- [${SECTIONS.join('|')}] [--json FILE] [--layers 4] [--hidden 64] [--heads 2]
  [--length 32] [--batch 4] [--vocab 64] [--rounds 5] [--steps 2] [--growth-steps 500] [--peers ours,jax-js]`;

function stop(message: string): never {
  console.error(`${message}\n${USAGE}`);
  process.exit(2);
}

const NUMBERS = {
  layers: '4',
  hidden: '64',
  heads: '2',
  length: '32',
  batch: '4',
  vocab: '64',
  rounds: '5',
  steps: '2',
  'growth-steps': '500',
};

function parse() {
  const text = { type: 'string' } as const;
  const options = {
    json: text,
    peers: text,
    ...Object.fromEntries(Object.keys(NUMBERS).map((name) => [name, text])),
  };
  let parsed: { values: Record<string, string | undefined>; positionals: string[] };
  try {
    parsed = parseArgs({ allowPositionals: true, options }) as typeof parsed;
  } catch (error) {
    return stop((error as Error).message);
  }
  const { values, positionals } = parsed;
  const name = positionals[0] as SectionName | undefined;
  if (positionals.length > 1) stop('At most one section can be named.');
  if (name && !SECTIONS.includes(name)) stop(`There is no section "${name}".`);
  const whole = (key: keyof typeof NUMBERS): number => {
    const value = Number(values[key] ?? NUMBERS[key]);
    if (!Number.isInteger(value) || value < 1) stop(`--${key} must be a whole number above 0.`);
    return value;
  };
  const settings = {
    shape: {
      layers: whole('layers'),
      hidden: whole('hidden'),
      heads: whole('heads'),
      length: whole('length'),
      batch: whole('batch'),
      vocab: whole('vocab'),
    },
    rounds: whole('rounds'),
    steps: whole('steps'),
    growthSteps: whole('growth-steps'),
    peers: values.peers?.split(',') ?? [],
  };
  const { hidden, heads, vocab } = settings.shape;
  if (hidden % heads !== 0 || (hidden / heads) % 2 !== 0)
    stop('--hidden must be an even multiple of --heads.');
  if (hidden / heads < 32 || vocab % 32 !== 0)
    console.warn('Not every peer takes heads below 32 or a vocabulary that is no multiple of 32.');
  return { ...settings, json: values.json, sections: name ? [name] : SECTIONS };
}

async function main(): Promise<number> {
  const { json, sections, ...settings } = parse();
  const { shape, rounds, steps } = settings;
  const report: Report = { adapter: 'unknown', config: { ...shape, rounds, steps } };
  const failures: string[] = [];
  const options: BenchOptions = {
    ...settings,
    onAdapter: (adapter) => {
      report.adapter = adapter;
    },
    onFailure: (message) => {
      failures.push(message);
      console.error(message);
    },
  };
  for (const name of sections) {
    console.log(`\n${name} …`);
    try {
      const { run } = (await import(`./${name}.ts`)) as {
        run(options: BenchOptions): Promise<Report[typeof name]>;
      };
      Object.assign(report, { [name]: await run(options) });
    } catch (error) {
      options.onFailure(`The section ${name} failed: ${(error as Error).message}`);
    }
  }
  console.log(`\n${report.adapter}; ${Object.entries(report.config).flat().join(' ')}`);
  printReport(report);
  if (json) await writeFile(json, `${JSON.stringify(report, null, 1)}\n`);
  if (failures.length > 0) console.error(`\n${failures.join('\n')}`);
  return failures.length > 0 ? 1 : 0;
}

process.exitCode = await main();
