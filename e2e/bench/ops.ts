/** Each kernel by itself, against a copy and a matrix product that are measured on the same adapter. */
import { Bench } from './page.ts';
import type { OpsResult } from './pages/ops.ts';
import type { BenchOptions, OpReport } from './report.ts';

/** Software WebGPU takes a second for a product of 512. */
const SIZES = {
  software: { repeats: 5, runs: 5, copyBytes: 2 ** 26, product: 512 },
  hardware: { repeats: 50, runs: 7, copyBytes: 2 ** 28, product: 4096 },
};

export async function run({ shape, onAdapter }: BenchOptions): Promise<OpReport[]> {
  return Bench.run(async (bench) => {
    await bench.bundle('ops', 'pages/ops.ts');
    const page = await bench.open('ops');
    onAdapter(await page.adapter());
    const software = await page.evaluate<boolean>('bench.open()');
    const sizes = software ? SIZES.software : SIZES.hardware;
    const { peak, ops } = await page.evaluate<OpsResult>(
      `bench.ops(${JSON.stringify(shape)}, ${JSON.stringify(sizes)})`,
    );
    console.log(`  measured: ${peak.gflops.toFixed(2)} GFLOP/s, ${peak.gbps.toFixed(2)} GB/s`);
    return ops;
  });
}
