/**
 * Rollouts that stay on the GPU. "A token" is one decode step of all lanes together. JavaScript milliseconds are
 * processor time of the page's main thread (see `peers.ts`), against a decode step of the same model and as many lanes in
 * plain tfjs ops (`pages/eager-decode.ts`), in turns.
 */
import { Bench, type BenchPage } from './page.ts';
import type { RolloutRound } from './pages/rollout.ts';
import { countsBetween } from './probe.ts';
import { type BenchOptions, type RolloutReport, spread } from './report.ts';

/** Rollouts a round, and eager decode steps a round. */
const REQUESTS = 16;
const EAGER_STEPS = 3;

async function threadTime<T>(page: BenchPage, expression: string): Promise<{ value: T; ms: number }> {
  const before = await page.threadTime();
  await page.evaluate('0');
  const overhead = (await page.threadTime()) - before;
  const start = await page.threadTime();
  const value = await page.evaluate<T>(expression);
  return { value, ms: Math.max(0, (await page.threadTime()) - start - overhead) };
}

export async function run({ shape, rounds, onAdapter }: BenchOptions): Promise<RolloutReport> {
  return Bench.run(async (bench) => {
    await bench.bundle('rollout', 'pages/rollout.ts');
    const page = await bench.open('rollout');
    onAdapter(await page.adapter());
    await page.evaluate(`bench.setup(${JSON.stringify(shape)}, ${REQUESTS})`);
    await page.evaluate('bench.rollouts(0)');
    await page.evaluate(`bench.eager(${EAGER_STEPS})`);
    const [jsMs, eagerJsMs, tokensPerSecond]: number[][] = [[], [], []];
    let most = { dispatches: 0, submits: 0, readbacks: 0 };
    for (let round = 1; round <= rounds; round++) {
      const before = await page.counts();
      const { value, ms } = await threadTime<RolloutRound>(page, `bench.rollouts(${round})`);
      const counts = countsBetween(before, await page.counts());
      const per = (count: number) => count / value.steps;
      most = {
        dispatches: Math.max(most.dispatches, per(counts.dispatches)),
        submits: Math.max(most.submits, per(counts.submits)),
        readbacks: Math.max(most.readbacks, per(counts.readbacks)),
      };
      jsMs.push(ms / value.steps);
      tokensPerSecond.push((1000 * value.tokens) / value.ms);
      const eager = await threadTime<null>(page, `bench.eager(${EAGER_STEPS})`);
      eagerJsMs.push(eager.ms / EAGER_STEPS);
      console.log(
        `  round ${round} of ${rounds}: ${value.tokens} tokens in ${value.steps} steps, ${value.ms.toFixed(0)} ms`,
      );
    }
    return {
      dispatchesPerToken: most.dispatches,
      submitsPerToken: most.submits,
      readbacksPer32Tokens: 32 * most.readbacks,
      jsMsPerToken: spread(jsMs),
      eagerJsMsPerToken: spread(eagerJsMs),
      tokensPerSecond: spread(tokensPerSecond),
      maxLogProbGap: await page.evaluate<number>('bench.logProbGap()'),
    };
  });
}
