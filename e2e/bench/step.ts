/** Our training step by itself: the counts and times that `peers` tells of ours, without waiting for the others. */
import { run as runPeers } from './peers.ts';
import type { BenchOptions, StepReport } from './report.ts';

export async function run(options: BenchOptions): Promise<StepReport> {
  const { ours } = await runPeers({ ...options, peers: ['ours'] });
  if (!ours || ours.invalid) throw new Error(ours?.invalid ?? 'our own page did not run');
  const { version: _version, note: _note, ...step } = ours;
  return step as StepReport;
}
