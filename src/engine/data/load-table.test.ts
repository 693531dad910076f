import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync, strToU8, zipSync } from 'fflate';
import { describe, expect, test } from 'vitest';
import { UserError } from '../../base/assert.ts';
import { dataFiles, type LoadOptions, loadTable, nothingKept } from './load-table.ts';
import { blobSource } from './read/bytes.ts';
import type { TextTable } from './table.ts';

const source = (name: string, content: string | Uint8Array) =>
  blobSource(name, new Blob([content as BlobPart]));
const load = (content: string | Uint8Array, options: LoadOptions & { name?: string } = {}) =>
  loadTable(source(options.name ?? 'rows.jsonl', content), options);
const rowsOf = (table: TextTable) => Array.from({ length: table.length }, (_, i) => table.row(i));
const row = (question: string, answer: string) => JSON.stringify({ question, answer });
const good = row('2+2?', 'Two and two is <<2+2=4>>4.\n#### 4');
const kept = { prompt: '2+2?', completion: 'Two and two is 4.\nFinal Answer: 4', answer: '4', turns: null };

/** Of ../shared/data, which stands beside the repository here and in CI. */
const shared = (path: string) => fileURLToPath(new URL(`../../../../shared/data/${path}`, import.meta.url));

describe('malformed rows: line, byte, reason, and the rest goes on', () => {
  test('each with its own words', async () => {
    const lines = [
      good,
      '',
      '{"question": "cut',
      '[1]',
      '{"q": 1, "r": 2}',
      '{"question": null, "answer": "#### 1"}',
      row(' ', '#### 1'),
      row('why?', `${'because '.repeat(20)}so.`),
      row('why?', 'None'),
      '{"prompt": "x", "completion": ["y"]}',
      '{"messages": [{"role": "user", "content": "hi"}]}',
      '{"messages": [{"role": "wizard", "content": "hi"}]}',
      good,
    ];
    const { report } = await load(lines.join('\n'));
    expect(report).toMatchObject({ rows: 12, kept: 2, issueCount: 10 });
    expect(report.issues.map(({ line, code }) => [line, code])).toEqual([
      [3, 'cut-off'],
      [4, 'not-an-object'],
      [5, 'unknown-shape'],
      [6, 'wrong-type'],
      [7, 'empty'],
      [8, 'no-answer'],
      [9, 'no-answer'],
      [10, 'wrong-type'],
      [11, 'no-reply'],
      [12, 'wrong-type'],
    ]);
    expect(report.issues[0]).toMatchObject({
      byte: new TextEncoder().encode(`${good}\n\n`).length,
      snippet: '{"question": "cut',
    });
    expect(report.issues[2].reason).toMatch(/\(q, r\)/);
    expect(report.issues[9].reason).toMatch(/turn 1 .* unknown role "wizard"/);
    expect(report.issuesByReason).toEqual({
      'cut-off': 1,
      'not-an-object': 1,
      'unknown-shape': 1,
      'wrong-type': 3,
      empty: 1,
      'no-answer': 2,
      'no-reply': 1,
    });
  });

  test('many issues are counted, the first are listed', async () => {
    const { report } = await load(`${good}\n${'x\n'.repeat(500)}`, { maxIssues: 3 });
    expect(report).toMatchObject({ rows: 501, kept: 1, issueCount: 500 });
    expect(report.issues.map(({ line }) => line)).toEqual([2, 3, 4]);
  });

  test('a row that is too long is reported by its beginning', async () => {
    const { report } = await load(`${row('y'.repeat(300_000), '#### 1')}\n${good}`, {
      maxCharacters: 100_000,
    });
    expect(report).toMatchObject({ rows: 2, kept: 1, issueCount: 1 });
    expect(report.issues[0]).toMatchObject({ line: 1, code: 'too-long' });
    expect(report.issues[0].snippet.length).toBeLessThanOrEqual(120);
  });

  test('a row of 10 MB is read', async () => {
    const { table } = await load(row('z'.repeat(10_000_000), '#### 1'));
    expect(table.row(0).prompt).toHaveLength(10_000_000);
  });

  test('abort takes nothing and says which row it was', async () => {
    const text = `${good}\n{"question": null, "answer": "#### 1"}`;
    await expect(load(text, { policy: 'abort' })).rejects.toThrow(
      /rows\.jsonl was not loaded, because row 2 \(line 2, byte \d+\) is no good: its "question" is null/,
    );
  });
});

describe('what can be mended is offered, and mended on request', () => {
  const latex = String.raw`{"prompt": "Half?", "completion": "\frac{1}{2} and \boxed{\text{x}} \times \sqrt{2}\n"}`;
  test.each([
    ['latex', latex, { completion: '\\frac{1}{2} and \\boxed{\\text{x}} \\times \\sqrt{2}\n' }],
    ['trailing-comma', '{"prompt": "a", "completion": "b",}', { completion: 'b' }],
    ['single-quotes', `{'prompt': 'it\\'s', 'completion': 'say "b"', 'ok': True}`, { completion: 'say "b"' }],
    ['raw-newline', '{"prompt": "a", "completion": "b\nc"}', { completion: 'b\nc' }],
    ['bare-number', '{"prompt": "a", "completion": "b", "score": NaN}', { completion: 'b' }],
  ])('%s', async (repair, line, mended) => {
    const text = `${line}\n${good}`;
    const skipped = await load(text);
    expect(skipped.report).toMatchObject({ rows: 2, kept: 1, fixable: 1, repairs: {} });
    expect(skipped.report.issues[0].reason).toMatch(/choose “fix”/);
    const fixed = await load(text, { policy: 'fix' });
    expect(fixed.report).toMatchObject({ rows: 2, kept: 2, issueCount: 0, repairs: { [repair]: 1 } });
    expect(fixed.table.row(0)).toMatchObject(mended);
  });

  test('a line break before a word is no LaTeX, and right escapes are left alone', async () => {
    const text = JSON.stringify({ prompt: 'a\nunder\tthe\rsea', completion: 'x\\frac12 \\\\ \\to' });
    const { table, report } = await load(text, { policy: 'fix' });
    expect(report.repairs).toEqual({});
    expect(table.row(0).completion).toBe('x\\frac12 \\\\ \\to');
    expect(table.row(0).prompt).toBe('a\nunder\tthe\rsea');
  });
});

describe('JSON, however it is laid out', () => {
  const three = [kept, kept, kept];
  const value = JSON.parse(good);
  test.each([
    [
      'pretty-printed and named .jsonl',
      Array(3)
        .fill(JSON.stringify(value, null, 2))
        .join('\n'),
    ],
    ['one array', JSON.stringify([value, value, value])],
    ['a pretty array', JSON.stringify([value, value, value], null, 4)],
    ['an array named .jsonl with a mark before it', `\uFEFF  ${JSON.stringify([value, value, value])}\n`],
    ['one behind the other', good + good + good],
    ['with commas behind the lines', `${good},\n${good},\n${good}`],
    ['CRLF and lone CR', `${good}\r\n${good}\r${good}`],
    ['blank lines', `\n\n${good}\n \n${good}\n\n\n${good}\n`],
  ])('%s', async (_, text) => {
    for (const name of ['rows.jsonl', 'rows.json']) {
      const { table, report } = await load(text, { name });
      expect(report).toMatchObject({ rows: 3, kept: 3, issueCount: 0 });
      expect(rowsOf(table)).toEqual(three);
    }
  });

  test('in a pretty array a broken element is one issue with its own line', async () => {
    const pretty = JSON.stringify([value, { question: 1 }, value], null, 2).replace('1\n', '1 oops\n');
    const { report } = await load(pretty, { name: 'rows.json' });
    expect(report).toMatchObject({ rows: 3, kept: 2, issueCount: 1 });
    expect(report.issues[0]).toMatchObject({ line: 6, code: 'not-json' });
  });

  test('an array that is cut off keeps its whole elements', async () => {
    const { report } = await load(`${JSON.stringify([value, value]).slice(0, -10)}`, { name: 'r.json' });
    expect(report).toMatchObject({ rows: 2, kept: 1, issueCount: 1 });
    expect(report.issues[0].code).toBe('cut-off');
  });

  test('the last of two keys wins, and that is told; __proto__ is a key; long integers keep their digits', async () => {
    const text =
      '{"__proto__": {"text": "no"}, "question": 1, "question": "q", "answer": 12345678901234567890}';
    const { table, report } = await load(text);
    expect(table.row(0)).toMatchObject({ prompt: 'q', answer: '12345678901234567890' });
    expect(report.notes?.join()).toMatch(/1 key came twice/);
    expect(report.columns?.map(({ name }) => name)).toEqual(['__proto__', 'question', 'answer']);
    expect(({} as { text?: string }).text).toBeUndefined();
  });
});

describe('encodings', () => {
  test('byte order marks, UTF-16, Latin-1', async () => {
    const text = '{"prompt": "café ✓", "completion": "ja"}\n';
    const utf16 = (big: boolean) => {
      const bytes = new Uint8Array(2 * text.length + 2);
      const view = new DataView(bytes.buffer);
      view.setUint16(0, 0xfeff, !big);
      for (let i = 0; i < text.length; i++) view.setUint16(2 * i + 2, text.charCodeAt(i), !big);
      return bytes;
    };
    for (const bytes of [utf16(true), utf16(false)]) {
      const { table, report } = await load(bytes);
      expect(table.row(0).prompt).toBe('café ✓');
      expect(report.notes?.join()).toMatch(/UTF-16/);
    }
    const latin = Uint8Array.from('{"prompt": "caf\xe9", "completion": "ja"}', (c) => c.charCodeAt(0));
    const { table, report } = await load(latin, { policy: 'fix' });
    expect(table.row(0).prompt).toBe('café');
    expect(report.repairs).toEqual({ encoding: 1 });
  });

  test('U+2028 stands inside a string and ends no line', async () => {
    const { table } = await load(`${row('a\u2028b', '#### 5')}\n${good}`);
    expect(table.row(0).prompt).toBe('a\u2028b');
    expect(table.length).toBe(2);
  });

  test('letters and line ends on the border of two pieces', async () => {
    for (let shift = 1; shift <= 8; shift++)
      for (const newline of ['\n', '\r\n', '\r']) {
        const long = row('é€😀'.repeat(30_000), '#### 1');
        const text = [row('x'.repeat(shift), '#### 1'), long, good].join(newline);
        const { table, report } = await load(text);
        expect(report).toMatchObject({ rows: 3, kept: 3 });
        expect(table.row(1).prompt).toBe('é€😀'.repeat(30_000));
      }
  });
});

describe('shapes', () => {
  const turn = (role: string, content: unknown) => ({ role, content });
  const said = (from: string, value: string) => ({ from, value });
  test.each<[string, object, object]>([
    [
      'prompt and completion',
      { prompt: 'p', completion: 'so\nFinal Answer: 7' },
      { prompt: 'p', answer: '7' },
    ],
    [
      'problem and answer',
      { question: 'q', answer: '1,000' },
      { prompt: 'q', completion: '', answer: '1000' },
    ],
    ['problem and answer', { input: 'q', target: 39 }, { prompt: 'q', answer: '39' }],
    ['text', { text: 'just text' }, { prompt: '', completion: 'just text', answer: null }],
    [
      'messages',
      {
        messages: [
          turn('system', 's'),
          turn('user', 'u1'),
          turn('assistant', 'a1'),
          turn('user', [{ type: 'text', text: 'u2' }]),
          turn('assistant', [{ type: 'text', value: 'a2' }]),
          turn('user', 'without a reply'),
        ],
      },
      {
        prompt: 'u2',
        completion: 'a2',
        turns: [turn('system', 's'), turn('user', 'u1'), turn('assistant', 'a1'), turn('user', 'u2')],
      },
    ],
    [
      'ShareGPT conversation',
      { conversations: [said('gpt', 'hello'), said('human', 'hi'), said('gpt', 'yes?')] },
      { prompt: 'hi', completion: 'yes?', turns: [turn('assistant', 'hello'), turn('user', 'hi')] },
    ],
    [
      'Alpaca: instruction, input, output',
      { instruction: 'Add', input: '1 2', output: '3' },
      { prompt: 'Add\n\n1 2', completion: '3' },
    ],
    [
      'MATH: problem and solution',
      { problem: 'p', solution: 'so \\boxed{1} or rather \\boxed{\\frac{1}{2}}' },
      { prompt: 'p', answer: '\\frac{1}{2}' },
    ],
    [
      'preference, chosen side',
      { prompt: 'p', chosen: 'good', rejected: 'bad' },
      { prompt: 'p', completion: 'good' },
    ],
    [
      'preference, chosen side',
      { conversations: [said('human', 'h')], chosen: said('gpt', 'good'), rejected: said('gpt', 'bad') },
      { prompt: 'h', completion: 'good' },
    ],
    [
      'prompt as messages, with an answer (verl)',
      { prompt: [turn('user', 'p')], reward_model: { ground_truth: '540', style: 'rule' } },
      { prompt: 'p', completion: '', answer: '540' },
    ],
    [
      'SVAMP: body, question and answer',
      { Body: 'There are 3', Question: 'How many?', Answer: 145 },
      { prompt: 'There are 3. How many?', answer: '145' },
    ],
  ])('%s', async (format, record, expected) => {
    const { table, report } = await load(JSON.stringify(record));
    expect(report.format).toBe(format);
    expect(table.row(0)).toMatchObject(expected);
  });

  test('an Alpaca row with an empty output is reported', async () => {
    const { report } = await load(`${good}\n{"instruction":"a","input":"","output":""}`);
    expect(report.issues[0]).toMatchObject({ line: 2, code: 'empty', reason: 'its "output" is empty' });
  });

  test('unknown columns are listed with examples, and a mapping says what they are', async () => {
    const text = '{"frage": "2+2?", "antwort": "vier", "nr": "007"}';
    const { report } = await load(text);
    expect(report.kept).toBe(0);
    expect(report.columns).toEqual([
      { name: 'frage', examples: ['2+2?'] },
      { name: 'antwort', examples: ['vier'] },
      { name: 'nr', examples: ['007'] },
    ]);
    expect(nothingKept(report)).toMatch(
      /no usable row \(1 read\).*Say which of its columns \(frage, antwort, nr\)/,
    );
    const mapped = await load(text, { mapping: { prompt: 'frage', completion: 'antwort', answer: 'nr' } });
    expect(mapped.table.row(0)).toEqual({ prompt: '2+2?', completion: 'vier', answer: '007', turns: null });
  });
});

describe('CSV', () => {
  const csv = (text: string, options: LoadOptions & { name?: string } = {}) =>
    load(text, { name: 'rows.csv', ...options });
  test.each([
    [',', 'rows.csv'],
    [';', 'rows.csv'],
    ['\t', 'rows.tsv'],
    ['\t', 'rows.txt.csv'],
  ])('fields between %j, quoted line breaks, doubled quotes', async (delimiter, name) => {
    const text = [
      ['question', 'answer'],
      ['"a\n""b"""', '007'],
      ['c', '2'],
    ]
      .map((fields) => fields.join(delimiter))
      .join('\r\n');
    const { table, report } = await csv(text, { name });
    expect(report).toMatchObject({ rows: 2, kept: 2 });
    expect(table.row(0)).toMatchObject({ prompt: 'a\n"b"', answer: '007' });
  });

  test('one text column may have commas', async () => {
    const { table } = await csv('text\nred, green, blue\n"quoted, too"\n');
    expect(rowsOf(table).map(({ completion }) => completion)).toEqual(['red, green, blue', 'quoted, too']);
  });

  test('a quote that nobody closes spoils its own row', async () => {
    const { report, table } = await csv('question,answer\na,1\n"b,2\nc,3\nd,4\n');
    expect(report).toMatchObject({ rows: 4, kept: 3, issueCount: 1 });
    expect(report.issues[0]).toMatchObject({ line: 3, code: 'quotes' });
    expect(rowsOf(table).map(({ prompt }) => prompt)).toEqual(['a', 'c', 'd']);
  });

  test('a row with too few or too many fields is reported; __proto__ is a column', async () => {
    const { report, table } = await csv('question,answer,__proto__\na,1,x\nb\nc,3,x,y\nd,4,z');
    expect(report.issues.map(({ line, code }) => [line, code])).toEqual([
      [3, 'columns'],
      [4, 'columns'],
    ]);
    expect(table.length).toBe(2);
  });
});

describe('other files', () => {
  test('plain text: short lines are rows, longer ones paragraphs', async () => {
    const names = await load('emma\nolivia\n\nava\n'.replace('\n\n', '\n'), { name: 'names.txt' });
    expect(names.table.length).toBe(3);
    const prose = await load(`${'long '.repeat(80)}\nmore\n\nsecond\n`, { name: 'book.txt' });
    expect(prose.table.length).toBe(2);
    expect(prose.report.notes?.join()).toMatch(/paragraph/);
  });

  const members = async (content: Uint8Array, name: string) => {
    const found: [string, number][] = [];
    for await (const file of dataFiles(source(name, content))) {
      const { report } = await loadTable(file);
      found.push([file.name, report.kept]);
    }
    return found;
  };
  const text = strToU8(`${good}\n${good}`);

  test('gz, zip, and gz within zip; what systems add is passed over', async () => {
    expect(await members(gzipSync(text), 'rows.jsonl.gz')).toEqual([['rows.jsonl', 2]]);
    const zip = zipSync({
      'data/rows.jsonl': text,
      'data/more.jsonl.gz': gzipSync(text),
      '__MACOSX/data/._rows.jsonl': text,
      'data/readme.pdf': strToU8('%PDF'),
      'data/table.csv': strToU8('question,answer\na,1\n'),
    });
    expect(await members(zip, 'all.zip')).toEqual([
      ['data/rows.jsonl', 2],
      ['data/more.jsonl', 2],
      ['data/table.csv', 1],
    ]);
  });

  test.each([
    [
      'a zip that is cut off',
      zipSync({ 'a.jsonl': strToU8(good.repeat(2000)) }).slice(0, 200),
      'x.zip',
      /x\.zip|cut off/,
    ],
    [
      'a gz that is cut off',
      gzipSync(strToU8(good.repeat(50))).slice(0, 60),
      'x.jsonl.gz',
      /can't be unpacked/,
    ],
    ['archives within archives', gzipSync(gzipSync(gzipSync(text))), 'x.gz', /archives within archives/],
    ['a bomb', zipSync({ 'a.txt': new Uint8Array(3e8) }, { level: 9 }), 'b.zip', /more than its size|NUL/],
  ])('%s is a sentence', async (_, bytes, name, message) => {
    const reading = members(bytes, name);
    await expect(reading).rejects.toThrow(UserError);
    await expect(reading).rejects.toThrow(message);
  });

  test.each([
    ['nothing', '', /is empty/],
    ['blank lines', '\n \r\n', /is empty/],
    ['a picture', Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0, 0, 0, 0), /not a text file/],
  ])('%s is a sentence', async (_, content, message) => {
    await expect(load(content)).rejects.toThrow(UserError);
    await expect(load(content)).rejects.toThrow(message);
  });

  test('loading can be given up', async () => {
    const controller = new AbortController();
    const loading = load(`${good}\n`.repeat(2000), {
      signal: controller.signal,
      progress: () => controller.abort(),
    });
    await expect(loading).rejects.toThrow(/abort/i);
  });
});

describe('the data sets of ../shared/data', () => {
  test.each<[string, number, object]>([
    ['math/gsm8k_train.jsonl', 7473, { format: 'GSM8K: question and answer', answers: 7473 }],
    ['math/gsm8k_test.jsonl', 1319, { answers: 1319 }],
    ['math/math500.jsonl', 500, { format: 'MATH: problem and solution', answers: 500 }],
    ['math/svamp.jsonl', 1000, { format: 'SVAMP: body, question and answer', completions: 0 }],
    ['math/mawps_multiarith.jsonl', 600, { format: 'problem and answer' }],
    [
      'math/aime24_dapo_format.parquet',
      960,
      { format: 'prompt as messages, with an answer (verl)', answers: 960 },
    ],
    ['formats/alpaca_en_demo.json', 999, { format: 'Alpaca: instruction, input, output' }],
    ['formats/alpaca_identity.json', 91, {}],
    ['formats/messages_typed_content_v1_sft_demo.jsonl', 500, { format: 'messages' }],
    ['formats/openai_messages_toy_chat_fine_tuning.jsonl', 10, { format: 'messages' }],
    ['formats/preference_v1_dpo_demo.jsonl', 10, { format: 'preference, chosen side' }],
    ['formats/sharegpt_chat_tiny.json', 1, { format: 'ShareGPT conversation' }],
    ['formats/sharegpt_dummy_conversation.json', 500, { format: 'ShareGPT conversation' }],
    ['formats/prompt_completion_wwdc25_valid.jsonl', 144, { format: 'prompt and completion' }],
    ['formats/text_only_lora_valid.jsonl', 100, { format: 'text' }],
    ['formats/csv_multiline_answers.csv', 7, {}],
    ['formats/plain_names.txt', 32033, {}],
  ])('%s', async (path, rows, facts) => {
    const file = shared(path);
    if (!existsSync(file)) {
      console.warn(`NOT TESTED: ${file} is not on this machine`);
      expect(process.env.CI, `CI must have ${path}`).toBeFalsy();
      return;
    }
    const { report, table } = await load(readFileSync(file), { name: path });
    expect(report.rows).toBe(report.kept + report.issueCount);
    expect(report).toMatchObject({ kept: rows, ...facts });
    if (path.includes('gsm8k'))
      for (const one of rowsOf(table)) expect(one.completion).not.toMatch(/<<|>>|####/);
  });
});
