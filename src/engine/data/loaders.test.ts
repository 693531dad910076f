import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { UserError } from '../../base/assert.ts';
import { loadDataset } from './loaders.ts';

const utf8 = (text: string) => new TextEncoder().encode(text);
const load = (text: string, options = {}) => loadDataset('rows.jsonl', utf8(text), options);
const row = (question: string, answer: string) => JSON.stringify({ question, answer });
const good = row('2+2?', 'Two and two is <<2+2=4>>4.\n#### 4');

describe('GSM8K rows', () => {
  test('calculator marks go, the last line becomes the final answer', async () => {
    const solution = 'In April 48/2 = <<48/2=24>>24 clips.\nThen $<<0.2*50=10>>10.\n#### 1,042';
    const { documents, problems, report } = await load(row('How many?', solution));
    expect(documents).toEqual([
      { prompt: 'How many?', completion: 'In April 48/2 = 24 clips.\nThen $10.\nFinal Answer: 1042' },
    ]);
    expect(problems).toEqual([{ prompt: 'How many?', answer: '1042' }]);
    expect(report).toMatchObject({ rows: 1, kept: 1, issueCount: 0, format: 'GSM8K: question and answer' });
    expect(report.sample).toEqual(documents[0]);
  });

  test('the whole training set, if it is on this machine', async () => {
    // The folder `shared` lies beside the repository, here and in CI.
    const path = fileURLToPath(new URL('../../../../shared/data/math/gsm8k_train.jsonl', import.meta.url));
    if (!existsSync(path)) {
      console.warn(`NOT TESTED: ${path} is not on this machine`);
      expect(process.env.CI, 'CI must have the GSM8K file').toBeFalsy();
      return;
    }
    const { documents, problems, report } = await loadDataset(
      'gsm8k_train.jsonl',
      new Blob([readFileSync(path)]),
    );
    expect(report).toMatchObject({ rows: 7473, kept: 7473, issueCount: 0 });
    expect(problems).toHaveLength(7473);
    expect(problems.every(({ answer }) => /^-?\d+(\.\d+)?$/.test(answer))).toBe(true);
    expect(documents.some(({ completion }) => /<<|>>|####/.test(completion))).toBe(false);
    expect(problems[0].answer).toBe('72');
  });
});

test('other shapes, mixed in one file', async () => {
  const { documents, problems, report } = await load(
    [
      JSON.stringify({ prompt: 'p', completion: 'so\nFinal Answer: 7' }),
      JSON.stringify({ prompt: 'q', completion: 'no answer' }),
      JSON.stringify({ text: 'just text' }),
    ].join('\n'),
  );
  expect(documents.map(({ prompt }) => prompt)).toEqual(['p', 'q', '']);
  expect(problems).toEqual([{ prompt: 'p', answer: '7' }]);
  expect(report.format).toBe('prompt and completion, text');
});

describe('malformed rows are reported and the rest goes on', () => {
  test('line, reason, snippet', async () => {
    const lines = [
      good,
      '',
      '{"question": "cut',
      row('no mark', 'twelve'),
      '[1]',
      '{"q": 1}',
      '{"question": null, "answer": "#### 1"}',
      row(' ', '#### 1'),
      '{"prompt": "x", "completion": "\\frac12"}',
      good,
    ];
    const { report } = await load(lines.join('\n'));
    expect(report).toMatchObject({ rows: 9, kept: 2, issueCount: 7 });
    expect(report.issues.map(({ line }) => line)).toEqual([3, 4, 5, 6, 7, 8, 9]);
    const reasons = [
      /not JSON/,
      /no "#### …" line/,
      /not a JSON object/,
      /its keys: q/,
      /"question" is null/,
      /"question" is empty/,
      /control characters/,
    ];
    for (const [i, reason] of reasons.entries()) expect(report.issues[i].reason).toMatch(reason);
    expect(report.issues[0].snippet).toBe('{"question": "cut');
  });

  test('many issues are counted, the first are listed', async () => {
    const { report } = await load(`${good}\n${'x\n'.repeat(500)}`, { maxIssues: 3 });
    expect(report).toMatchObject({ rows: 501, kept: 1, issueCount: 500 });
    expect(report.issues.map(({ line }) => line)).toEqual([2, 3, 4]);
  });

  test('a line that is too long is not kept in memory', async () => {
    const { report } = await load(`${'y'.repeat(300_000)}\n${good}`, { maxLineCharacters: 100_000 });
    expect(report).toMatchObject({ rows: 2, kept: 1, issueCount: 1 });
    expect(report.issues[0]).toMatchObject({ line: 1, reason: 'it is longer than 100000 characters' });
    expect(report.issues[0].snippet.length).toBeLessThanOrEqual(120);
  });
});

describe('text as it comes', () => {
  test('byte order mark, CRLF, lone CR, no line end at the end, U+2028 in a string', async () => {
    const separator = row('a\u2028b', '#### 5');
    const { documents, report } = await load(`\uFEFF${good}\r\n\r\n${separator}\r${good}`);
    expect(report).toMatchObject({ rows: 3, kept: 3 });
    expect(documents[1].prompt).toBe('a\u2028b');
  });

  test('the same rows wherever the chunks are cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 13 }),
        fc.constantFrom('\n', '\r\n', '\r'),
        async (shift, newline) => {
          // A multi-byte letter or a CRLF lands on the 64 KiB border for some shift.
          const long = row('é€😀'.repeat(7280), '#### 1');
          const text = `${row('x'.repeat(shift), '#### 1')}${newline}${long}${newline}${good}`;
          const { documents, report } = await load(text);
          expect(report).toMatchObject({ rows: 3, kept: 3 });
          expect(documents.at(-2)?.prompt).toBe('é€😀'.repeat(7280));
        },
      ),
      { numRuns: 39 },
    );
  });

  test('a CRLF on the border of two chunks is one line end', async () => {
    const filler = (1 << 16) - utf8(row('', '#### 1')).length - 1;
    const { report } = await load(`${row('x'.repeat(filler), '#### 1')}\r\nbad\r\n${good}`);
    expect(report).toMatchObject({ rows: 3, kept: 2 });
    expect(report.issues[0].line).toBe(2);
  });

  test.each([
    ['empty', utf8(''), /is empty/],
    ['blank lines only', utf8('\n \r\n'), /is empty/],
    ['NUL bytes', Uint8Array.of(80, 75, 3, 4, 0, 0), /NUL bytes/],
    ['invalid UTF-8', Uint8Array.of(123, 0xe9, 0x20), /not UTF-8/],
    ['cut in a letter', utf8('{"text":"é').slice(0, -1), /not UTF-8/],
    ['UTF-16', Uint8Array.of(0xff, 0xfe, 123, 0), /UTF-16/],
    ['no usable row', utf8('{"a":1}\n{"a":2}'), /no usable row \(2 read\)\. Line 1: it has neither/],
  ])('%s is a UserError', async (_, bytes, message) => {
    await expect(loadDataset('d.jsonl', bytes)).rejects.toThrow(UserError);
    await expect(loadDataset('d.jsonl', bytes)).rejects.toThrow(message);
  });

  test('any bytes: rows in = kept + reported, or a UserError', async () => {
    const piece = fc.oneof(
      fc.string(),
      fc.constant(good),
      fc.json(),
      fc.constantFrom('\r', '\n', '\r\n', '\u2029'),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece), async (pieces) => {
        try {
          const { report, documents } = await load(pieces.join('\n'));
          expect(report.rows).toBe(report.kept + report.issueCount);
          expect(documents).toHaveLength(report.kept);
        } catch (error) {
          expect(error).toBeInstanceOf(UserError);
        }
      }),
      { numRuns: 200 },
    );
  });
});
