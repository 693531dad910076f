/** What passes the checks of a cold start, and the writers that need no network. */
import { describe, expect, test } from 'vitest';
import { TASKS } from '../../data/tasks/index.ts';
import { GOOD } from './chat-server.ts';
import { canonical, checkText, freeText, tagsBalance, taskText } from './check.ts';
import { coldStart } from './cold-start.ts';
import { generationPrompt, trainingPrompt } from './prompt.ts';
import { samplerWriter, taskWriter } from './sources.ts';

const problem = { prompt: 'What is 2 + 2?', answer: '4' };
const check = (text: string, { truncated = false, answer = '4' } = {}) =>
  checkText(text, truncated, { ...problem, answer }, freeText());
const block = (paths: string[], summary = '<Summary>s</Summary>') =>
  `a <Parallel>${paths.map((path) => `<Path>${path}</Path>`).join('')}</Parallel>${summary} b`;

describe('free text', () => {
  test.each([
    ['truncated', GOOD, { truncated: true }],
    ['empty', ' \n ', {}],
    ['no_block', '2 + 2 is 4.\nFinal Answer: 4', {}],
    ['no_answer', GOOD.replace('Final Answer: 4', 'So it is 4.'), {}],
    // The verifier reads it, but the format of the training text asks for the line.
    ['no_answer', GOOD.replace('Final Answer: 4', '\\boxed{4}'), {}],
    ['wrong_answer', GOOD.replace('Final Answer: 4', 'Final Answer: 5'), {}],
    ['wrong_answer', GOOD.replace('Final Answer: 4', 'Final Answer: 5\nFinal Answer: 4'), {}],
    ['no_gold', GOOD, { answer: 'None' }],
    ['malformed_tags', `${block(['x', 'y'], '')}\nFinal Answer: 4`, {}],
    ['malformed_tags', `${block(['x'])}\nFinal Answer: 4`, {}],
    ['malformed_tags', `${block(['x', ' '])}\nFinal Answer: 4`, {}],
    ['malformed_tags', `${block(['x', 'x'])}\nFinal Answer: 4`, {}],
    ['malformed_tags', `${block(['x', block(['y', 'z'])])}\nFinal Answer: 4`, {}],
    ['malformed_tags', `${GOOD}<Path>`, {}],
    ['malformed_tags', GOOD.replace('</Path>\n<Path>', '</Path>\nand now\n<Path>'), {}],
    ['malformed_tags', GOOD.replace('<Parallel>', '<Parallel>\nfirst:'), {}],
  ])('%s: %j', (reason, text, options) => {
    expect(check(text, options)).toMatchObject({ reason });
  });

  test('the tags of the result are those that a runtime writes, and blanks within texts stay', () => {
    const text =
      '<Parallel>\n\n<Path>a\n\n b </Path>  <Path>\tc</Path>\n</Parallel>\n\n\n<Summary> d\n</Summary>\n\ne';
    expect(canonical(text, '\n')).toBe(
      '<Parallel><Path>a\n\n b</Path><Path>c</Path></Parallel>\n<Summary>d</Summary>\n\ne',
    );
    expect(canonical(canonical(text, '\n') ?? '', '\n')).toBe(canonical(text, '\n'));
    expect(canonical(text, '')).toContain('</Parallel><Summary>');
  });
});

test('Algorithm 1: a stack', () => {
  expect(tagsBalance('x')).toBe(true);
  expect(tagsBalance('<Parallel><Path></Path></Parallel>')).toBe(true);
  expect(tagsBalance('<Parallel><Path></Parallel></Path>')).toBe(false);
  expect(tagsBalance('<Path>')).toBe(false);
  expect(tagsBalance('</Path>')).toBe(false);
});

describe('built-in tasks', () => {
  const knobs = {
    difficulty: 'easy',
    terms: [3, 4],
    bigShare: 0.5,
    teacherNoiseSmall: 0.1,
    teacherNoiseBig: 0.3,
    redoShare: 0,
    templates: { S: 1, E: 1, L: 1 },
    paths: 2,
    attempts: 3,
    blocks: 1,
    gapProbability: 0.5,
    gapMax: 9,
  };

  test.each(Object.values(TASKS).map((task) => [task.name, task] as const))(
    '%s: rows in = kept + rejected, what is kept is right and forks, and it repeats',
    async (_, task) => {
      const run = (seed: number) => {
        const made = taskWriter(task, knobs, seed, 200);
        return coldStart({ ...made, check: taskText(task), prompt: (question) => question });
      };
      const { rows, rejected, report, stopped } = await run(3);
      expect([rows.length + rejected.length, stopped]).toEqual([200, null]);
      expect(report.byReason.no_block).toBeGreaterThan(20);
      expect(report.byReason.wrong_answer).toBeGreaterThan(5);
      expect(Object.keys(report.byReason).sort()).toEqual(['no_block', 'wrong_answer']);
      expect(report.passRate).toBe(rows.length / 200);
      expect(rows.length).toBeGreaterThan(20);
      for (const { prompt, completion, answer } of rows) {
        const said = task.extractAnswer(completion);
        expect(said !== null && (task.solves ? task.solves({ prompt }, said) : said === answer)).toBe(true);
        expect(completion).toMatch(/<Parallel><Path>[^<]+<\/Path><Path>/);
      }
      expect((await run(3)).rows).toEqual(rows);
      expect((await run(4)).rows).not.toEqual(rows);
    },
  );
});

describe('a sampler', () => {
  const written = (text: string) => ({ text, truncated: false, tokens: null });

  test('asks again until a text passes, and what it throws fails its problem alone', async () => {
    const asked: string[] = [];
    const writer = samplerWriter('model', async (question, attempt) => {
      asked.push(`${question}/${attempt}`);
      if (question === 'b') throw new Error('out of memory');
      return written(attempt === 2 || question === 'c' ? GOOD : 'no');
    });
    const problems = ['a', 'b', 'c', 'd'].map((prompt) => ({ prompt, answer: prompt === 'd' ? '9' : '4' }));
    const { rows, rejected, report } = await coldStart({ problems, writer, check: freeText(), attempts: 3 });
    expect(asked).toEqual(['a/0', 'a/1', 'a/2', 'b/0', 'c/0', 'd/0', 'd/1', 'd/2']);
    expect(rows.map(({ prompt }) => prompt)).toEqual(['a', 'c'].map(trainingPrompt));
    expect(rejected).toMatchObject([
      { index: 1, reason: 'request_failed', detail: 'out of memory' },
      { index: 3, reason: 'wrong_answer', text: GOOD },
    ]);
    expect(report.tokens.unreported).toBe(7);
    expect(report.passRate).toBe(2 / 3);
  });

  test('a fault in what is told of progress is not swallowed', async () => {
    const writer = samplerWriter('model', async () => written(GOOD));
    const progress = () => {
      throw new Error('full disk');
    };
    await expect(coldStart({ problems: [problem], writer, check: freeText(), progress })).rejects.toThrow(
      'full disk',
    );
  });
});

test('the prompts ask for what the check wants', () => {
  const asked = generationPrompt('Q?');
  for (const wanted of [
    'at least two independent paths',
    'no reference to each other',
    'Final Answer:',
    'Q?',
  ])
    expect(asked).toContain(wanted);
  expect(trainingPrompt('Q?')).not.toContain('<Parallel>');
  const [example] = /<Parallel>[\s\S]*<\/Summary>/.exec(asked) ?? [];
  expect(checkText(`${example}\nFinal Answer: 4`, false, problem, freeText())).toHaveProperty('completion');
});
