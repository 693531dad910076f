/** The bench's report: what its JSON holds, and how it is printed. */

/** A measurement that was repeated. */
export interface Spread {
  median: number;
  min: number;
  max: number;
  runs: number;
}

/** Model and batch, letters as in `engine/model/config.ts`. */
export interface BenchShape {
  layers: number; // L
  hidden: number; // C
  heads: number; // H
  length: number; // T
  batch: number; // B
  vocab: number; // V
}

/** One training step: forward, loss, backward, optimizer, and reading the loss. */
export interface StepReport {
  dispatches: number;
  /** Dispatches that one more layer costs. */
  dispatchesPerLayer: number;
  submits: number;
  passes: number;
  newBuffers: number;
  newBindGroups: number;
  /** Processor time of the page's main thread. */
  jsMs: Spread;
  wallMs: Spread;
  tokensPerSecond: Spread;
  /** Bytes of buffers that were made and not destroyed. */
  gpuBytes: number;
  /** What 500 steps added to them. */
  bytesGrowth500: number;
  tensorsGrowth500: number;
}

export interface RolloutReport {
  dispatchesPerToken: number;
  submitsPerToken: number;
  readbacksPer32Tokens: number;
  jsMsPerToken: Spread;
  eagerJsMsPerToken: Spread;
  tokensPerSecond: Spread;
  /** Largest |log-prob when sampled − log-prob when trained|. */
  maxLogProbGap: number;
}

export interface OpReport {
  name: string;
  shape: string;
  gflops: number;
  gbps: number;
  /** Share of the device's peak, whichever of the two bounds the op. */
  ofPeak: number;
}

/** A peer's step. One that posts no speed says why in `invalid`. */
export interface PeerReport extends Partial<StepReport> {
  version: string;
  /** How its model or its optimizer differs from the others'. */
  note: string;
  parameters?: number;
  lossFirst?: number;
  /** Loss of the last timed step, as many for all. */
  lossFinal?: number;
  /** Steps up to then, warm-up included. */
  steps?: number;
  /** Ours only: largest relative difference from the float64 reference's loss over its first 50 steps. */
  referenceGap?: number;
  invalid?: string;
}

export interface Report {
  /** Vendor and architecture of the GPU. */
  adapter: string;
  config: BenchShape & { rounds: number; steps: number };
  step?: StepReport;
  rollout?: RolloutReport;
  ops?: OpReport[];
  peers?: Record<string, PeerReport>;
}

export type SectionName = 'step' | 'rollout' | 'ops' | 'peers';

/** What every section is told. */
export interface BenchOptions {
  shape: BenchShape;
  /** Interleaved repeats. */
  rounds: number;
  /** Steps a repeat. */
  steps: number;
  /** Steps over which growth of memory is measured; at least 50. */
  growthSteps: number;
  /** Peers to compare; empty = all. */
  peers: string[];
  /** Tells what the adapter is, once a section knows. */
  onAdapter(adapter: string): void;
  /** Something that could not be measured: the bench goes on, and ends with an error. */
  onFailure(message: string): void;
}

export function spread(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const median = (sorted[Math.floor(middle)] + sorted[Math.ceil(middle) - 1]) / 2;
  return { median, min: sorted[0], max: sorted[sorted.length - 1], runs: sorted.length };
}

export function number(value: number | undefined): string {
  if (value === undefined) return '–';
  if (Number.isInteger(value)) return String(value);
  return value.toPrecision(3).includes('e') ? value.toExponential(2) : String(Number(value.toPrecision(3)));
}

/** Median (range). */
export function range(value: Spread | undefined): string {
  return value ? `${number(value.median)} (${number(value.min)}–${number(value.max)})` : '–';
}

/** Lines of a table, columns as wide as their widest cell. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const line = (row: readonly string[]) => row.map((cell, i) => cell.padEnd(widths[i])).join('  ');
  return [line(rows[0]), widths.map((width) => '-'.repeat(width)).join('  '), ...rows.slice(1).map(line)]
    .map((text) => text.trimEnd())
    .join('\n');
}

const MEGABYTE = 2 ** 20;

/** A row a measurement, a column an engine. */
export function stepTable(columns: Record<string, Partial<StepReport> & Partial<PeerReport>>): string {
  const rows: [string, (of: Partial<StepReport> & Partial<PeerReport>) => string][] = [
    ['parameters', (of) => number(of.parameters)],
    ['dispatches a step', (of) => number(of.dispatches)],
    ['  one more layer', (of) => number(of.dispatchesPerLayer)],
    ['submits', (of) => number(of.submits)],
    ['compute passes', (of) => number(of.passes)],
    ['new buffers', (of) => number(of.newBuffers)],
    ['new bind groups', (of) => number(of.newBindGroups)],
    ['JavaScript ms', (of) => range(of.jsMs)],
    ['ms a step', (of) => range(of.wallMs)],
    ['tokens/s', (of) => range(of.tokensPerSecond)],
    ['GPU MB', (of) => number(of.gpuBytes === undefined ? undefined : of.gpuBytes / MEGABYTE)],
    ['bytes grown in 500 steps', (of) => number(of.bytesGrowth500)],
    ['tensors grown in 500 steps', (of) => number(of.tensorsGrowth500)],
    ['loss, first step', (of) => number(of.lossFirst)],
    ['loss, last timed step', (of) => number(of.lossFinal)],
    ['off the float64 loss', (of) => number(of.referenceGap)],
  ];
  const names = Object.keys(columns);
  const cells = rows.map(([label, cell]) => [label, ...names.map((name) => cell(columns[name]))]);
  const told = cells.filter(([, ...values]) => values.some((value) => value !== '–'));
  return table([['', ...names], ...told]);
}

export function printReport({ step, rollout, ops, peers }: Report): void {
  const heading = (text: string) => console.log(`\n${text}\n`);
  if (step) {
    heading('A training step');
    console.log(stepTable({ ours: step }));
  }
  if (rollout) {
    heading('Rollouts');
    const rows = Object.entries(rollout).map(([name, value]) => [
      name,
      typeof value === 'number' ? number(value) : range(value),
    ]);
    console.log(table([['', ''], ...rows]));
  }
  if (ops) {
    heading('Kernels');
    const rows = ops.map(({ name, shape, gflops, gbps, ofPeak }) => [
      name,
      shape,
      number(gflops),
      number(gbps),
      `${number(100 * ofPeak)} %`,
    ]);
    console.log(table([['op', 'shape', 'GFLOP/s', 'GB/s', 'of peak'], ...rows]));
  }
  if (peers) {
    heading('Peers: the same step, in interleaved rounds');
    console.log(stepTable(peers));
    for (const [name, { version, note, invalid }] of Object.entries(peers))
      console.log(`${name} ${version}: ${invalid ? `INVALID, no speed: ${invalid}. ` : ''}${note}`);
  }
}
