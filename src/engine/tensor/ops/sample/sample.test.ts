import { beforeAll, describe, expect, test } from 'vitest';
import { openBackend } from '../../device.ts';
import { expectClose, expectOpMatches, f32, i32, runOp } from '../../testing.ts';
import filters from './fixtures/filters.json' with { type: 'json' };
import { filterCases, sampleCases } from './sample.cases.ts';
import { keptTokens } from './sample.reference.ts';
import { sampleOp } from './sample.ts';

const exact = { atol: 0, rtol: 0, why: 'the host kernel is the reference itself' };

describe.each(['cpu', 'wasm'] as const)('sample on %s', (backend) => {
  beforeAll(async () => {
    await openBackend(backend);
  });

  test.each(sampleCases())('$name', (c) => expectOpMatches(sampleOp, c, exact));

  test('draws follow the softmax', async () => {
    const N = 20000;
    const logits = [0.3, -1, 2, 0.7];
    const column = (value: (n: number) => number) =>
      i32(
        [N],
        Array.from({ length: N }, (_, n) => value(n)),
      );
    const { outputs } = await runOp(sampleOp, {
      name: 'frequencies',
      attributes: { temperature: 0.8, topK: 0, topP: 1, minP: 0 },
      inputs: [
        f32([N, 4], Array(N).fill(logits).flat()),
        column((n) => n * 31),
        column(() => 5),
        column(() => -1),
      ],
    });
    const exps = logits.map((x) => Math.exp(x / 0.8));
    const total = exps.reduce((a, b) => a + b, 0);
    exps.forEach((e, id) => {
      const p = e / total;
      const share = outputs[0].filter((drawn) => drawn === id).length / N;
      // Five standard deviations of a binomial share
      expect(Math.abs(share - p)).toBeLessThan(5 * Math.sqrt((p * (1 - p)) / N));
    });
  });
});

describe('filters equal the golden ones', () => {
  test.each(filterCases())('$name', ({ inputs, attributes, kept }) => {
    const golden = filters.cases.find((c) => c.kept === kept)!;
    const V = inputs[0].shape[1];
    const scores = Float64Array.from(inputs[0].values.slice(0, V), (x) => x / attributes.temperature);
    const mask = keptTokens(scores, attributes);
    const ids = Array.from(mask.keys()).filter((v) => mask[v]);
    // Where the cut falls into a tie, the fixture only fixes how many are kept.
    if ((golden as { ambiguous_tie?: boolean }).ambiguous_tie) expect(ids).toHaveLength(kept.length);
    else expect(ids).toEqual(kept);
    const max = Math.max(...ids.map((v) => scores[v]));
    const exps = ids.map((v) => Math.exp(scores[v] - max));
    const total = exps.reduce((a, b) => a + b, 0);
    expectClose(
      exps.map((e) => e / total),
      golden.probs,
      { atol: 1e-5, rtol: 0, why: 'the fixture promises this' },
    );
  });
});
