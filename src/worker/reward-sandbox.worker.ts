/**
 * The inside of the sandbox for custom rewards (`reward-sandbox.ts`): a worker that gives itself up. Before a person's
 * code runs, everything that is not plain computation is deleted from its global scope, so nothing is left that reaches
 * the network, the disk, the page, another thread, the clock or chance; then the constructors that compile text are
 * taken away. What is left of `import(…)`, which is syntax, is refused by `codeFault`. The host ends the
 * worker when a row takes too long.
 */
import { CUSTOM_ARGUMENTS, type CustomRow, codeFault } from '../engine/reward/custom.ts';

export type SandboxRequest = { type: 'code'; code: string } | { type: 'rows'; rows: readonly CustomRow[] };

export type SandboxReply =
  | { type: 'ready' }
  | { type: 'refused'; reason: string }
  /** One a row, in order, so that the host sees which one hangs. */
  | { type: 'value'; value: number | null }
  | { type: 'failed'; reason: string };

/** What stays: the language without clocks, chance, threads and shared memory. */
const KEPT = new Set(
  (
    'globalThis undefined NaN Infinity isNaN isFinite parseInt parseFloat encodeURIComponent decodeURIComponent ' +
    'encodeURI decodeURI escape unescape Object Array String Number Boolean BigInt Symbol Math JSON RegExp Map Set ' +
    'WeakMap WeakSet Promise Proxy Reflect Iterator Error AggregateError EvalError RangeError ReferenceError ' +
    'SyntaxError TypeError URIError ArrayBuffer DataView Int8Array Uint8Array Uint8ClampedArray Int16Array ' +
    'Uint16Array Int32Array Uint32Array Float16Array Float32Array Float64Array BigInt64Array BigUint64Array'
  ).split(' '),
);

/** Lines that stand above the person's code in the compiled function. */
const LINES_ABOVE = 3;

type Compiled = (...values: unknown[]) => unknown;

/** Deletes whatever is not kept, from the scope and the prototypes that it inherits from. */
function closeScope(scope: object): void {
  for (let at: object = scope; at && at !== Object.prototype; at = Object.getPrototypeOf(at))
    for (const key of Reflect.ownKeys(at)) {
      if (typeof key === 'string' && KEPT.has(key)) continue;
      if (Reflect.deleteProperty(at, key)) continue;
      // Constants such as TEMPORARY can't be deleted; a number leads nowhere.
      const { value } = Reflect.getOwnPropertyDescriptor(at, key)!;
      if (typeof value !== 'number')
        throw new Error(`the sandbox of custom rewards could not take "${String(key)}" away in this browser`);
    }
  Object.defineProperty(Math, 'random', {
    value: () => {
      throw new Error('Math.random is not allowed: the same recipe and seed must repeat the run');
    },
  });
}

/** `(() => {}).constructor` and its three relatives compile text, which could then hold what `codeFault` refuses. */
function closeConstructors(): void {
  const kinds = [() => {}, async () => {}, function* () {}, async function* () {}];
  for (const kind of kinds)
    Object.defineProperty(Object.getPrototypeOf(kind), 'constructor', { value: undefined });
}

function compile(code: string): Compiled {
  const fault = codeFault(code);
  if (fault) throw new Error(`its code ${fault}`);
  const compiled = new Function(...CUSTOM_ARGUMENTS, `'use strict';\n${code}`) as Compiled;
  closeScope(self);
  closeConstructors();
  return compiled;
}

function checked(value: unknown): number | null {
  if (value === null || (typeof value === 'number' && Number.isFinite(value))) return value;
  const what = typeof value === 'object' ? 'an object' : typeof value === 'string' ? 'a text' : String(value);
  throw new Error(`it returned ${what}; return a finite number, or null where it does not apply`);
}

/** What went wrong, and on which line of the person's code. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return `it threw ${String(error)}`;
  const line = /<anonymous>:(\d+):\d+/.exec(error.stack ?? '');
  const at = line && Number(line[1]) > LINES_ABOVE ? ` (line ${Number(line[1]) - LINES_ABOVE})` : '';
  return error.name === 'Error' ? `${error.message}${at}` : `${error.name}: ${error.message}${at}`;
}

// Held on to before the scope is closed: the person's code can't reach the variables of this module.
const reply = (self.postMessage as (reply: SandboxReply) => void).bind(self);
let compiled: Compiled | null = null;

self.onmessage = ({ data }: MessageEvent<SandboxRequest>) => {
  if (data.type === 'code') {
    try {
      compiled = compile(data.code);
      reply({ type: 'ready' });
    } catch (error) {
      reply({ type: 'refused', reason: reasonOf(error) });
    }
    return;
  }
  for (const row of data.rows) {
    try {
      const value = checked(compiled!(...CUSTOM_ARGUMENTS.map((name) => row[name])));
      reply({ type: 'value', value });
    } catch (error) {
      reply({ type: 'failed', reason: reasonOf(error) });
      return;
    }
  }
};
