/** The verifier against answers that others graded, and against golds that it was never tuned on. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, type TestContext, test } from 'vitest';
import { equivalent } from './answer-value.ts';
import graded from './fixtures/graded-answers.json' with { type: 'json' };
import { verify } from './verifier.ts';

/** The folder `shared` lies beside the repository, here and in CI. */
const SHARED = fileURLToPath(new URL('../../../../shared/data/math/', import.meta.url));

function rowsOf<T>(name: string, context: TestContext): T[] {
  const path = SHARED + name;
  if (!existsSync(path)) {
    if (process.env.CI) throw new Error(`CI must have ${path}`);
    console.warn(`SKIPPED: this verifier test needs ${path}`);
    context.skip();
  }
  const lines = readFileSync(path, 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as T);
}

/** Labels of the graded set that are wrong, by row and sample, and why. */
const WRONG_LABELS: Record<number, { samples: number[]; why: string }> = {
  3: {
    samples: [0, 1, 2, 3, 4, 5, 6, 7],
    why: 'MATH says 4:30 p.m., and so do all eight responses. The grader compared them with "4:30p..", which its own clean-up had made of "\\text{4:30 p.m.}".',
  },
};

test('the answers of the graded set, without its texts', () => {
  for (const [gold, boxed, label] of graded.answers as [string, string, boolean][]) {
    const mislabelled = gold.includes('4:30');
    expect(
      verify(`Therefore, it is \\(\\boxed{${boxed}}\\).`, gold).correct,
      `${boxed} against ${gold}`,
    ).toBe(mislabelled ? !label : label);
  }
  expect(graded.answers.filter(([, , label]) => !label).length).toBeGreaterThan(10);
});

interface Graded {
  idx: number;
  answer: string;
  gt: string;
  code: string[];
  score: boolean[];
}

test('all 8 × 50 graded responses, but for the labels that are wrong', (context) => {
  const rows = rowsOf<Graded>('graded_math_cot_first50x8.jsonl', context);
  let judged = 0;
  for (const { idx, answer, code, score } of rows)
    code.forEach((response, i) => {
      const mislabelled = WRONG_LABELS[idx]?.samples.includes(i) ?? false;
      const verdict = verify(response, answer);
      expect(verdict.correct, `row ${idx}, sample ${i}: ${JSON.stringify(verdict)}`).toBe(
        score[i] !== mislabelled,
      );
      judged++;
    });
  expect(judged).toBe(400);
  // What makes those labels wrong, from the data itself
  for (const idx of Object.keys(WRONG_LABELS).map(Number)) {
    expect(rows[idx]).toMatchObject({ answer: '\\text{4:30 p.m.}', gt: '4:30p..' });
    for (const response of rows[idx].code) expect(response).toMatch(/boxed\{4:30 ?\\text\{ ?p\.m\.\}\}/);
  }
});

test('at least 1,000 responses a second', (context) => {
  const rows = rowsOf<Graded>('graded_math_cot_first50x8.jsonl', context);
  const pairs = rows.flatMap(({ answer, code }) => code.map((response) => [response, answer] as const));
  const begin = performance.now();
  for (let round = 0; round < 5; round++) for (const [response, gold] of pairs) verify(response, gold);
  // About 5,000 a second here on half a busy machine; responses have 800 characters on average.
  expect((5 * pairs.length) / ((performance.now() - begin) / 1000)).toBeGreaterThan(1000);
});

describe('golds that the verifier was not tuned on', () => {
  test('500 solutions of MATH are right by their own answers', (context) => {
    const rows = rowsOf<{ solution: string; answer: string; problem: string }>('math500.jsonl', context);
    const wrong = rows.filter(({ solution, answer, problem }) => !verify(solution, answer, problem).correct);
    expect(wrong.map(({ answer }) => answer)).toEqual([]);
    expect(rows).toHaveLength(500);
  });

  test('1,319 solutions of GSM8K are right by their own answers, and wrong by those of the next row', (context) => {
    const rows = rowsOf<{ answer: string }>('gsm8k_test.jsonl', context);
    const golds = rows.map(({ answer }) => answer.split('#### ')[1]);
    rows.forEach(({ answer }, i) => {
      expect(verify(answer, golds[i]).correct, golds[i]).toBe(true);
      expect(verify(`Final Answer: ${golds[i]}`, answer).correct, golds[i]).toBe(true);
      const next = golds[(i + 1) % golds.length];
      expect(verify(answer, next).correct, next).toBe(
        Number(next.replaceAll(',', '')) === Number(golds[i].replaceAll(',', '')),
      );
    });
    expect(rows).toHaveLength(1319);
  });

  /** One spelling by the simplest means: what two of the 500 golds need to be the same. */
  const spelling = (gold: string) =>
    gold
      .replace(/\\mbox\{.*\}\^2|\^\\circ|\\text\{ (?:degrees|cents)\}|\\\$|\\!|\s/g, '')
      .replace(/^x=/, '')
      .replace(/frac(\d)(\d)/, 'frac{$1}{$2}')
      .replace(/^10,080$/, '10080')
      .replace(/^-2,1$/, '1,-2');

  test('two different golds of MATH are different answers', (context) => {
    const golds = rowsOf<{ answer: string }>('math500.jsonl', context).map(({ answer }) => answer);
    let pairs = 0;
    for (let i = 0; i < golds.length; i++)
      for (let j = i % 10; j < i; j += 10) {
        pairs++;
        const same = spelling(golds[i]) === spelling(golds[j]);
        expect(equivalent(golds[i], golds[j]), `${golds[i]} and ${golds[j]}`).toBe(same);
      }
    expect(pairs).toBeGreaterThan(12_000);
  });
});
