/** The endpoint writer and a whole cold start over it, against a real server that misbehaves. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ChatServer, completion, GOOD, openChat, status } from './chat-server.ts';
import { freeText } from './check.ts';
import { type ColdStartOptions, coldStart } from './cold-start.ts';
import { completionsAddress, type EndpointOptions, endpointWriter, waitFor } from './endpoint.ts';

let chat: ChatServer;
let waits: number[];
beforeEach(async () => {
  chat = await openChat();
  waits = [];
});
afterEach(() => chat.close());

const problems = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ prompt: `problem ${i}`, answer: '4' }));
const writerWith = (options: Partial<EndpointOptions> = {}) =>
  endpointWriter({
    url: chat.url,
    model: 'teacher',
    fetch,
    concurrency: 1,
    retries: 2,
    timeoutMs: 2000,
    prompt: (question) => question,
    sleep: async (milliseconds) => {
      waits.push(milliseconds);
    },
    ...options,
  });
const run = (endpoint: Partial<EndpointOptions> = {}, options: Partial<ColdStartOptions> = {}) =>
  coldStart({ problems: problems(1), writer: writerWith(endpoint), check: freeText(), ...options });

test('a good server: rows, tokens as reported, and what was asked', async () => {
  const { rows, rejected, report, stopped } = await run(
    { key: 'secret', maxTokens: 99, temperature: 0.5 },
    { problems: problems(3) },
  );
  expect([rows.length, rejected, stopped]).toEqual([3, [], null]);
  expect(report).toEqual({
    problems: 3,
    kept: 3,
    rejected: 0,
    pending: 0,
    passRate: 1,
    byReason: {},
    tokens: { prompt: 30, completion: 60, unreported: 0 },
  });
  expect(rows[0].completion).toBe(
    'Think.\n<Parallel><Path>one way</Path><Path>another way</Path></Parallel>\n<Summary>both agree</Summary>\nFinal Answer: 4',
  );
  expect(chat.requests[0]).toEqual({
    content: 'problem 0',
    authorization: 'Bearer secret',
    body: {
      model: 'teacher',
      messages: [{ role: 'user', content: 'problem 0' }],
      max_tokens: 99,
      temperature: 0.5,
    },
  });
});

describe('a hiccup is got over', () => {
  test.each<[string, (response: Parameters<typeof status>[0]) => boolean, number]>([
    ['429 with Retry-After', (r) => status(r, 429, { 'retry-after': '7' }), 7000],
    ['500', (r) => status(r, 500, {}, 'out of memory'), 1000],
    ['503', (r) => status(r, 503), 1000],
    ['JSON that is cut off', (r) => !!r.end('{"choices": [{"mess'), 1000],
    ['no choices', (r) => !!r.end('{"choices": []}'), 1000],
    ['null', (r) => !!r.end('null'), 1000],
    ['a cut connection before the head', (r) => !!r.destroy(), 1000],
    [
      'a cut connection in the body',
      (r) => {
        r.writeHead(200, { 'content-length': 1000 });
        r.write('{"choices"', () => r.destroy());
        return true;
      },
      1000,
    ],
  ])('%s', async (_, misbehave, wait) => {
    chat.misbehave = (response, __, count) => count === 0 && misbehave(response);
    const { rows, stopped } = await run();
    expect([rows.length, stopped, waits, chat.requests.length]).toEqual([1, null, [wait], 2]);
  });

  test('a server that does not answer, and one that stops in the body', async () => {
    chat.misbehave = (response, _, count) => {
      if (count === 1) response.writeHead(200).write('{"choi');
      return count < 2;
    };
    const { rows } = await run({ timeoutMs: 100 });
    expect([rows.length, waits]).toEqual([1, [1000, 2000]]);
  });
});

describe('what stays wrong is told', () => {
  test('one problem that always fails costs no other', async () => {
    chat.misbehave = (response, content) => content === 'problem 1' && status(response, 500, {}, 'no memory');
    const { rows, rejected, report, stopped } = await run({}, { problems: problems(3) });
    expect([rows.length, stopped, report.pending]).toEqual([2, null, 0]);
    expect(report.passRate).toBe(1);
    expect(rejected).toMatchObject([{ index: 1, reason: 'request_failed' }]);
    expect(rejected[0].detail).toMatch(/is in trouble \(status 500: no memory\), 3 times in a row/);
  });

  test('a request that the server refuses is not repeated', async () => {
    chat.misbehave = (response) => status(response, 400, {}, '{"error":{"message":"too long"}}');
    const { rejected } = await run();
    expect(chat.requests.length).toBe(1);
    expect(rejected[0].detail).toMatch(/refused the request \(status 400: too long\)/);
  });

  test('a server that fails every request is left alone', async () => {
    chat.misbehave = (response) => status(response, 400);
    const { rejected, report, stopped } = await run({}, { problems: problems(30) });
    expect([rejected.length, report.pending]).toEqual([8, 22]);
    expect(stopped).toMatch(/^8 requests in a row failed/);
  });

  test.each([401, 403])(
    'a wrong key (%i) stops at once, and is never repeated in what is told',
    async (code) => {
      chat.misbehave = (response) => status(response, code, {}, '{"error":{"message":"bad key sk-secret"}}');
      const { rows, rejected, report, state, stopped } = await run(
        { key: 'sk-secret' },
        { problems: problems(5) },
      );
      expect([rows.length, rejected.length, report.pending, chat.requests.length]).toEqual([0, 0, 5, 1]);
      expect(stopped).toMatch(/refuses the key that you entered \(status 40[13]: bad key \[key\]\)/);
      expect(JSON.stringify([state, stopped])).not.toContain('sk-secret');
    },
  );

  test('a model that is not there', async () => {
    chat.misbehave = (response) => status(response, 404);
    expect((await run()).stopped).toMatch(/no model "teacher"/);
  });

  test('nobody at the address: the page is told of CORS', async () => {
    const { url } = chat;
    await chat.close();
    const { stopped, report } = await run({ url }, { problems: problems(4) });
    expect(stopped).toMatch(/3 times in a row\. Is the server running.*CORS/);
    expect(report.pending).toBe(4);
    chat = await openChat();
  });

  test('a server that never answers', async () => {
    chat.misbehave = () => true;
    const { stopped } = await run({ timeoutMs: 50 });
    expect(stopped).toMatch(/gave no whole reply within 0.05 s, 3 times in a row/);
  });

  test('what is no address', () => {
    for (const url of ['', 'localhost', 'ftp://x', 'javascript:1'])
      expect(() => writerWith({ url }), url).toThrow(/no address of an endpoint/);
    expect(completionsAddress('http://a/v1/')).toBe('http://a/v1/chat/completions');
    expect(completionsAddress('http://a/v1/chat/completions')).toBe('http://a/v1/chat/completions');
  });
});

test('a reply at the token limit is cut off, whatever it says', async () => {
  chat.misbehave = (response) => completion(response, GOOD, 'length');
  expect((await run()).report.byReason).toEqual({ truncated: 1 });
});

test('thoughts are no part of the solution; a reply without text or usage is one', async () => {
  chat.misbehave = (response, content) =>
    content === 'problem 0'
      ? completion(response, `<think>\nif 5 <Parallel>\n</think>\n\n${GOOD}`)
      : !!response.end('{"choices":[{"message":{"content":null}}]}');
  const { rows, report } = await run({}, { problems: problems(2) });
  expect(rows[0].completion).toMatch(/^Think\./);
  expect(report).toMatchObject({ byReason: { empty: 1 }, tokens: { prompt: 10, unreported: 1 } });
});

test('as many requests at the same time as asked for, never more', async () => {
  let [open, most] = [0, 0];
  chat.misbehave = (response, _content) => {
    most = Math.max(most, ++open);
    setTimeout(() => {
      open--;
      completion(response, GOOD);
    }, 30);
    return true;
  };
  await run({ concurrency: 3 }, { problems: problems(9) });
  expect(most).toBe(3);
});

describe('cancel and go on', () => {
  test('cancelled midway, saved as JSON, gone on with: nothing is asked twice', async () => {
    const cancel = new AbortController();
    const first = await run(
      {},
      {
        problems: problems(6),
        signal: cancel.signal,
        progress: ({ kept }) => kept === 2 && cancel.abort(),
      },
    );
    expect([first.rows.length, first.report.pending]).toEqual([2, 4]);
    expect(first.stopped).toMatch(/cancelled/);
    const state: unknown = JSON.parse(JSON.stringify(first.state));
    const second = await run({}, { problems: problems(6), state });
    expect([second.rows.length, second.report.pending, second.stopped]).toEqual([6, 0, null]);
    expect(chat.requests.map(({ content }) => content)).toEqual(problems(6).map(({ prompt }) => prompt));
    expect(second.report.tokens.completion).toBe(6 * 20);
  });

  test('a reply that is awaited is given up, and no wait is sat out', async () => {
    const cancel = new AbortController();
    chat.misbehave = (response, content) => {
      setTimeout(() => cancel.abort(), 20);
      return content === 'problem 0' ? true : status(response, 429, { 'retry-after': '50' });
    };
    const begin = performance.now();
    const { report } = await run(
      { concurrency: 2, timeoutMs: 60_000, sleep: undefined },
      { problems: problems(2), signal: cancel.signal },
    );
    expect(report.pending).toBe(2);
    expect(performance.now() - begin).toBeLessThan(5000);
  });

  test('requests that failed are asked again; rejected texts are not', async () => {
    chat.reply = (content) => (content === 'problem 0' ? 'Final Answer: 4' : GOOD);
    chat.misbehave = (response, content) => content === 'problem 1' && status(response, 400);
    const first = await run({}, { problems: problems(3) });
    expect(first.report.byReason).toEqual({ no_block: 1, request_failed: 1 });
    chat.misbehave = null;
    const second = await run({}, { problems: problems(3), state: first.state });
    expect(second.report).toMatchObject({ kept: 2, rejected: 1, byReason: { no_block: 1 } });
    expect(chat.requests.length).toBe(4);
  });

  test('a state of other problems or of another model is refused, and so is what is none', async () => {
    const { state } = await run({}, { problems: problems(2) });
    await expect(run({}, { problems: problems(3), state })).rejects.toThrow(
      /other problems or another model/,
    );
    await expect(run({ model: 'x' }, { problems: problems(2), state })).rejects.toThrow(/another model/);
    await expect(run({}, { state: { version: 1, done: [] } })).rejects.toThrow(/can't be read/);
  });
});

test('waits: what the server asks, in seconds or as a date, within a minute; else doubling', () => {
  const now = () => Date.parse('Mon, 07 Dec 2026 10:00:00 GMT');
  expect(waitFor(0, '3', now)).toBe(3000);
  expect(waitFor(0, 'Mon, 07 Dec 2026 10:00:09 GMT', now)).toBe(9000);
  expect(waitFor(0, 'Mon, 07 Dec 2026 09:00:00 GMT', now)).toBe(0);
  expect(waitFor(0, '86400', now)).toBe(60_000);
  expect(waitFor(3, null, now)).toBe(8000);
  expect(waitFor(2, 'soon', now)).toBe(4000);
  expect(waitFor(20, null, now)).toBe(60_000);
});
