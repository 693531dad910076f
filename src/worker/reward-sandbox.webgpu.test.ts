/** The sandbox as it is, in a browser. It needs no WebGPU; this project is the one that has a browser. */
import { afterAll, describe, expect, test } from 'vitest';
import type { CustomRow } from '../engine/reward/custom.ts';
import { RewardSandbox } from './reward-sandbox.ts';

const row: CustomRow = {
  prompt: '+1+2!',
  response:
    '<Parallel><Path>+1=1+2=3</Path><Path>+1=1+2=5</Path></Parallel><Summary>3</Summary>Final Answer:3',
  answer: '3',
  gold: '3',
  tree: {
    segments: [{ kind: 'path', block: 1, path: 1, text: '+1=1+2=3', tokens: 8, open: false }],
    blocks: [{ paths: ['+1=1+2=3', '+1=1+2=5'], summary: '3' }],
  },
  step: 7,
  correct: true,
};
const rows = [row, { ...row, answer: null, correct: false, step: 8 }];

const sandbox = new RewardSandbox();
afterAll(() => sandbox.dispose());
const run = (code: string, limit = 2000) => sandbox.run(code, rows, limit);

test('the code sees prompt, response, answer, gold, tree, step and correct', async () => {
  expect(await run('return step + tree.blocks[0].paths.length')).toEqual([9, 10]);
  expect(await run('return answer === null ? null : Number(answer) + gold.length + prompt.length')).toEqual([
    9,
    null,
  ]);
  expect(await run("const words = response.split('Path');\nreturn correct ? words.length : -1;")).toEqual([
    5, -1,
  ]);
  expect(await run('return new Set([1, 1, 2]).size + Math.max(...[1, 2]) + JSON.parse("[3]")[0]')).toEqual([
    7, 7,
  ]);
});

test('nothing of the worker is left: no network, no storage, no threads, no clock, no chance', async () => {
  const gone =
    'fetch XMLHttpRequest WebSocket EventSource WebTransport importScripts Worker SharedWorker BroadcastChannel ' +
    'MessageChannel indexedDB caches navigator location performance setTimeout setInterval queueMicrotask Date Intl ' +
    'postMessage onmessage addEventListener dispatchEvent close self eval Function WebAssembly SharedArrayBuffer ' +
    'Atomics crypto Blob URL Request Response FileReader OffscreenCanvas RTCPeerConnection WeakRef console';
  const left = await run(
    `const names = ${JSON.stringify(gone.split(' '))};
     const left = names.filter((name) => name in globalThis || typeof globalThis[name] !== 'undefined');
     if (left.length > 0) throw new Error('left: ' + left.join(' '));
     // Nothing but plain values and classes of the language is inherited either.
     for (let at = globalThis; at && at !== Object.prototype; at = Object.getPrototypeOf(at))
       for (const key of Reflect.ownKeys(at))
         if (typeof key === 'symbol' || /fetch|worker|socket|message|store|listener/i.test(key))
           throw new Error('left: ' + String(key));
     return 1;`,
  );
  expect(left).toEqual([1, 1]);
});

test('the frames of a stack trace show no function of the worker', async () => {
  const code = `Error.prepareStackTrace = (_, frames) => frames.map((frame) => [frame.getThis(), frame.getFunction()]);
    const found = new Error('x').stack.flat().filter((value) => value !== undefined);
    return found.length;`;
  expect(await run(code)).toEqual([0, 0]);
});

describe('ways out', () => {
  test.each([
    ['fetch', "return fetch('https://example.test/')", /fetch is not defined/],
    ['import in the open', "return import('https://example.test/x.js')", /word "import"/],
    [
      'import with an escape',
      "return \\u0069mport('https://example.test/x.js')",
      /not the body of a JavaScript function/,
    ],
    [
      'import in made-up code',
      "return (0, eval)('imp' + 'ort(\"https://example.test/\")')",
      /eval is not defined/,
    ],
    ['Function', "return Function('return 1')()", /Function is not defined/],
    [
      'the constructor of functions',
      "return (() => {}).constructor('return 1')()",
      /constructor is not a function/,
    ],
    [
      'of async functions',
      "return (async () => {}).constructor('return 1')()",
      /constructor is not a function/,
    ],
    ['of generators', "return (function* () {}).constructor('return 1')()", /constructor is not a function/],
    ['of a built-in', "return [].map.constructor('return 1')()", /constructor is not a function/],
    ['of the scope', "return globalThis.constructor.constructor('return 1')()", /not a function|undefined/],
    ['this', 'return this.fetch', /Cannot read properties of undefined/],
    ['chance', 'return Math.random()', /Math.random is not allowed/],
    ['globals without a name', 'leak = 1; return 1', /leak is not defined/],
    ['leaving the function', 'return 1 } ; function x() {', /not the body of a JavaScript function/],
  ])('%s', async (_, code, reason) => {
    await expect(run(code)).rejects.toThrow(reason);
  });
});

test('a row that never ends is stopped, and named', async () => {
  const code = 'while (!correct) {}\nreturn 1';
  await expect(run(code, 300)).rejects.toMatchObject({ row: 1, reason: 'it took longer than 300 ms' });
  expect(await run('return 1')).toEqual([1, 1]);
});

test('errors say what and where', async () => {
  await expect(run('const a = 1;\nconst b = null;\nreturn b.length;')).rejects.toThrow(
    /TypeError: .+ \(line 3\)/,
  );
  await expect(run("if (!correct) throw new Error('no answer')\nreturn 1")).rejects.toMatchObject({
    row: 1,
    reason: 'no answer (line 1)',
  });
  await expect(run("throw 'text'")).rejects.toThrow('it threw text');
});

test.each([
  ['nothing', 'correct', 'undefined'],
  ['a text', "return '1'", 'a text'],
  ['a promise', 'return Promise.resolve(1)', 'an object'],
  ['not a number', 'return Number("x")', 'NaN'],
  ['infinity', 'return 1 / 0', 'Infinity'],
  ['a boolean', 'return correct', 'true'],
])('%s is no reward', async (_, code, what) => {
  await expect(run(code)).rejects.toThrow(`it returned ${what}; return a finite number, or null`);
});
