/**
 * Ours beside three others from npm: the same tiny GPT, tokens, learning rate and clock. Counters come first, then speed
 * in interleaved rounds with all pages open in one browser, so that what disturbs the machine disturbs all alike.
 *
 * How each number is taken, alike for all:
 * 1. A step is everything from tokens on the host to the loss on the host. The first three are not timed.
 * 2. Dispatches, submits, passes, buffers and bind groups are counted at WebGPU's own calls (`probe.ts`), in one step
 *    after two others.
 * 3. Milliseconds are the page's clock around a step. JavaScript milliseconds are processor time of the page's main
 *    thread between two readings around a round, over its steps; a round of no steps is taken off.
 * 4. A loss that is not a number or does not fall posts no speed; nor does ours if its losses leave those of a float64
 *    reference.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Float64Reference } from '../../src/engine/train/float64-reference.ts';
import { oursConfig, oursSettings, oursWeights } from './ours-model.ts';
import { installed } from './packages.ts';
import { Bench, type BenchPage, repository } from './page.ts';
import { type Steps, tokensOf } from './peers/peer.ts';
import { countsBetween, type ProbeCounts } from './probe.ts';
import { type BenchOptions, type BenchShape, type PeerReport, spread } from './report.ts';

interface Peer {
  name: string;
  entry: string;
  /** What to install, or null where the repository has it. */
  package: { name: string; version: string } | null;
  version: string;
  note: string;
}

const versionOf = (name: string): string =>
  JSON.parse(readFileSync(join(repository, 'node_modules', name, 'package.json'), 'utf8')).version;

const fromNpm = (name: string, version: string) => ({ package: { name, version }, version });

const PEERS: Peer[] = [
  {
    name: 'ours',
    entry: 'peers/ours.ts',
    package: null,
    version: 'this tree',
    note: 'Llama-shaped: RMSNorm, rotary positions, SwiGLU of 8/3·C to the nearest 32; AdamW with a clip by the global norm.',
  },
  {
    name: 'stock-tfjs',
    entry: 'peers/stock-tfjs.mjs',
    package: null, // tfjs is what ours is built on, at a pinned version
    version: versionOf('@tensorflow/tfjs-core'),
    note: "GPT-2-shaped; tfjs's own Adam (it has none with decay), no clip.",
  },
  {
    name: 'jax-js',
    entry: 'peers/jax-js.mjs',
    ...fromNpm('@jax-js/jax', '0.1.25'),
    note: 'GPT-2-shaped, norms without bias, embedding and loss by one-hot products; AdamW, no clip.',
  },
  {
    name: 'nanogpt',
    entry: 'peers/nanogpt.mjs',
    ...fromNpm('@genai-fi/nanogpt', '1.3.0'),
    note: 'its own v2 model (RMSNorm without weights, rotary positions, ReLU², norms of q and k) and AdamW, f32, no clip.',
  },
];

const WARM_UP = 3;
const REFERENCE_STEPS = 50;
const REFERENCE_TOLERANCE = 1e-3;

/** A peer on its way through the bench. */
interface Run {
  peer: Peer;
  page: BenchPage;
  report: PeerReport;
  losses: number[];
  wallMs: number[];
  jsMs: number[];
}

export async function run(options: BenchOptions): Promise<Record<string, PeerReport>> {
  const unknown = options.peers.filter((name) => !PEERS.some((peer) => peer.name === name));
  if (unknown.length > 0)
    throw new Error(
      `there is no peer ${unknown.join(', ')}; there are ${PEERS.map(({ name }) => name).join(', ')}`,
    );
  const wanted = PEERS.filter(({ name }) => options.peers.length === 0 || options.peers.includes(name));
  return Bench.run(async (bench) => {
    const runs: Run[] = [];
    for (const peer of wanted) {
      const opened = await open(bench, peer, options);
      if (opened) runs.push(opened);
    }
    for (let round = 0; round < options.rounds; round++)
      for (let i = 0; i < runs.length; i++) await timed(runs[(i + round) % runs.length], round, options);
    const reports: [string, PeerReport][] = [];
    for (const one of runs) {
      if (one.peer.name === 'ours' && !one.report.invalid)
        await checkOurs(one, options).catch((error: Error) => {
          one.report.invalid = `it failed while it was checked: ${error.message}`;
        });
      reports.push([one.peer.name, finish(one, options)]);
    }
    return Object.fromEntries(reports);
  });
}

/** Installs, bundles, counts and warms up; null where the peer cannot be had. */
async function open(
  bench: Bench,
  peer: Peer,
  { shape, onAdapter, onFailure }: BenchOptions,
): Promise<Run | null> {
  const { name, entry, version, note } = peer;
  let folder: string | undefined;
  try {
    folder = peer.package ? await installed(peer.package.name, peer.package.version) : undefined;
  } catch (error) {
    onFailure(
      `${peer.package!.name}@${version} cannot be installed (${(error as Error).message}): without it.`,
    );
    return null;
  }
  try {
    await bench.bundle(name, entry, folder);
    const { dispatches: ofOne } = (await counted(bench, name, { ...shape, layers: 1 }, true)).counts;
    const { page, parameters, losses, counts } = await counted(bench, name, shape, false);
    onAdapter(await page.adapter());
    const { dispatches, submits, passes, newBuffers, newBindGroups, bytes: gpuBytes } = counts;
    const dispatchesPerLayer = shape.layers > 1 ? (dispatches - ofOne) / (shape.layers - 1) : undefined;
    const counters = { dispatches, dispatchesPerLayer, submits, passes, newBuffers, newBindGroups, gpuBytes };
    console.log(`  ${name}: ${dispatches} dispatches, ${submits} submits a step`);
    return { peer, page, losses, wallMs: [], jsMs: [], report: { version, note, parameters, ...counters } };
  } catch (error) {
    onFailure(`${name} does not run: ${(error as Error).message}`);
    return null;
  }
}

/** A page that has taken the steps of the warm-up; the last of them is counted. */
async function counted(bench: Bench, name: string, shape: BenchShape, close: boolean) {
  const page = await bench.open(name);
  try {
    const parameters = await page.evaluate<number>(`bench.setup(${JSON.stringify(shape)})`);
    const warm = await page.evaluate<Steps>(`bench.steps(${WARM_UP - 1})`);
    const before = await page.counts();
    const last = await page.evaluate<Steps>('bench.steps(1)');
    const counts: ProbeCounts = countsBetween(before, await page.counts());
    return { page, parameters, counts, losses: [...warm.losses, ...last.losses] };
  } finally {
    if (close) await page.close();
  }
}

/** A round of one peer. */
async function timed(run: Run, round: number, { rounds, steps }: BenchOptions): Promise<void> {
  if (run.report.invalid) return;
  const { page, peer } = run;
  try {
    await page.front();
    const cost = async (count: number): Promise<Steps & { thread: number }> => {
      const before = await page.threadTime();
      const done = await page.evaluate<Steps>(`bench.steps(${count})`);
      return { ...done, thread: (await page.threadTime()) - before };
    };
    const { thread: overhead } = await cost(0);
    const { losses, ms, thread } = await cost(steps);
    run.losses.push(...losses);
    run.wallMs.push(...ms);
    run.jsMs.push(Math.max(0, thread - overhead) / steps);
    console.log(
      `  round ${round + 1} of ${rounds}, ${peer.name}: ${ms.map((one) => one.toFixed(0)).join(', ')} ms, loss ${losses.at(-1)!.toFixed(4)}`,
    );
  } catch (error) {
    run.report.invalid = `it failed in mid-run: ${(error as Error).message}`;
  }
}

/** Goes on until memory has shown whether it grows, and holds the losses against float64. */
async function checkOurs(run: Run, { shape, growthSteps }: BenchOptions): Promise<void> {
  const { page, report } = run;
  const missing = Math.max(0, REFERENCE_STEPS - run.losses.length);
  const losses = [...run.losses, ...(await page.evaluate<Steps>(`bench.steps(${missing})`)).losses];
  console.log(`  ours: ${growthSteps} steps more, for the growth of memory …`);
  const state = async () => ({
    bytes: (await page.counts()).bytes,
    tensors: await page.evaluate<number>('bench.tensors()'),
  });
  const before = await state();
  await page.evaluate(`bench.steps(${growthSteps})`);
  const after = await state();
  report.bytesGrowth500 = ((after.bytes - before.bytes) * 500) / growthSteps;
  report.tensorsGrowth500 = ((after.tensors - before.tensors) * 500) / growthSteps;
  console.log(`  float64 reference: ${REFERENCE_STEPS} steps …`);
  const config = oursConfig(shape);
  const reference = new Float64Reference(config, oursWeights(config));
  let gap = 0;
  for (let step = 0; step < REFERENCE_STEPS; step++) {
    const expected = reference.add({ B: shape.batch, T: shape.length, ...tokensOf(shape, step) });
    reference.apply(oursSettings, oursSettings.learningRate);
    gap = Math.max(gap, Math.abs(losses[step] - expected) / expected);
  }
  report.referenceGap = gap;
  if (!(gap <= REFERENCE_TOLERANCE))
    report.invalid = `its losses differ from the float64 reference by up to ${gap}, relative`;
}

/** Speed where it counts. */
function finish({ peer, report, losses, wallMs, jsMs }: Run, { shape, onFailure }: BenchOptions): PeerReport {
  const [first, last] = [losses[0], losses[losses.length - 1]];
  if (!losses.every(Number.isFinite)) report.invalid ??= 'its loss is not a number';
  else if (!(last < first)) report.invalid ??= `its loss does not fall (${first} to ${last})`;
  Object.assign(report, { lossFirst: first, lossFinal: last, steps: losses.length });
  if (report.invalid) {
    onFailure(`${peer.name} posts no speed: ${report.invalid}.`);
    return report;
  }
  const N = shape.batch * shape.length;
  return {
    ...report,
    jsMs: spread(jsMs),
    wallMs: spread(wallMs),
    tokensPerSecond: spread(wallMs.map((ms) => (1000 * N) / ms)),
  };
}
