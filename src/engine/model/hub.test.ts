import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { UserError } from '../../base/assert.ts';
import { chooseFiles, fetchHubModel, type HubOptions, parseHubName } from './hub.ts';
import { type HubServer, openHub } from './hub-server.ts';
import { importModel } from './import.ts';
import { MemoryParts } from './memory-parts.ts';
import { keptFiles } from './model-files.ts';

const ID = 'owner/tiny-model';
const NAME = parseHubName(ID);
const fixture = (file: string) =>
  new Uint8Array(readFileSync(new URL(`./fixtures/ckpt/qwen3/${file}`, import.meta.url)));
const FILES = new Map<string, Uint8Array>([
  ['config.json', fixture('config.json')],
  ['model.safetensors', fixture('model.safetensors')],
  ['README.md', new Uint8Array(10)],
  ['onnx/model.onnx', new Uint8Array(10)],
]);
const WEIGHTS = FILES.get('model.safetensors')!.length;
const PART = 20_000;

let hub: HubServer;
let store: MemoryParts;
let waits: number[];

beforeEach(async () => {
  hub = await openHub(ID, FILES);
  store = new MemoryParts();
  waits = [];
});
afterEach(() => hub.close());

const options = (more: Partial<HubOptions> = {}): HubOptions => ({
  store,
  fetch,
  endpoint: hub.endpoint,
  partSize: PART,
  sleep: async (time) => {
    waits.push(time);
  },
  ...more,
});
const resolved = () => hub.requests.filter((request) => request.includes('/resolve/'));

async function loads(): Promise<void> {
  const manifest = await fetchHubModel(NAME, options());
  const { weights } = await importModel((await keptFiles(store, manifest))!);
  const { weights: expected } = await importModel(
    ['config.json', 'model.safetensors'].map((path) => ({
      path,
      blob: new Blob([FILES.get(path)! as Uint8Array<ArrayBuffer>]),
    })),
  );
  expect(weights).toEqual(expected);
}

test('downloads what a model needs, in parts, and never again', async () => {
  const seen: number[] = [];
  const manifest = await fetchHubModel(NAME, options({ progress: (done, all) => seen.push(done / all) }));
  expect(manifest.files.map(({ path, size }) => [path, size])).toEqual([
    ['config.json', FILES.get('config.json')!.length],
    ['model.safetensors', WEIGHTS],
  ]);
  expect(manifest).toMatchObject({ source: 'hub', name: ID, revision: hub.commit });
  expect(seen.at(-1)).toBe(1);
  expect(seen).toEqual([...seen].sort((a, b) => a - b));
  expect(resolved().length).toBe(1 + Math.ceil(WEIGHTS / PART));
  await hub.close();
  await loads(); // offline
});

test('without sizes in the list', async () => {
  hub.sizes = false;
  await loads();
});

test('a cut connection goes on at the byte where it stopped', async () => {
  let cuts = 0;
  hub.intercept = (request, response) => {
    if (!request.url?.includes('model.safetensors') || cuts >= 4) return false;
    cuts++;
    const from = Number(/\d+/.exec(request.headers.range!)![0]);
    response.writeHead(206, {
      'content-range': `bytes ${from}-${WEIGHTS - 1}/${WEIGHTS}`,
      'content-length': WEIGHTS - from,
    });
    response.write(FILES.get('model.safetensors')!.subarray(from, from + 1000), () => response.destroy());
    return true;
  };
  await loads();
  expect(cuts).toBe(4);
  const starts = resolved().map((request) => Number(/bytes=(\d+)/.exec(request)![1]));
  expect(starts.slice(1, 6)).toEqual([0, 1000, 2000, 3000, 4000]);
});

test('a download that was stopped goes on from its parts', async () => {
  const controller = new AbortController();
  const stop = options({
    signal: controller.signal,
    progress: (done) => {
      if (done > 45_000) controller.abort(new UserError('cancelled'));
    },
  });
  await expect(fetchHubModel(NAME, stop)).rejects.toThrow('cancelled');
  expect(store.parts.has('hub--owner--tiny-model--main/manifest.json')).toBe(false);
  hub.requests.length = 0;
  await loads();
  expect(resolved().length).toBeLessThan(Math.ceil(WEIGHTS / PART));
});

test('parts of another commit are thrown away', async () => {
  const controller = new AbortController();
  const progress = (done: number) => {
    if (done > 45_000) controller.abort(new UserError('cancelled'));
  };
  await expect(fetchHubModel(NAME, options({ signal: controller.signal, progress }))).rejects.toThrow();
  hub.commit = 'beef'.padEnd(40, '0');
  hub.requests.length = 0;
  await loads();
  expect(resolved().length).toBe(1 + Math.ceil(WEIGHTS / PART));
});

test('a server that knows no ranges', async () => {
  hub.intercept = (request, response) => {
    const file = [...FILES].find(([name]) => request.url?.endsWith(`/${name}`));
    if (!file) return false;
    response.writeHead(200, { 'content-length': file[1].length });
    response.end(file[1]);
    return true;
  };
  await loads();
});

test('busy servers are waited for, as long as they ask', async () => {
  let refusals = 0;
  hub.intercept = (_, response) => {
    refusals++;
    if (refusals === 1) response.writeHead(429, { 'retry-after': '7' }).end();
    else if (refusals === 3) response.writeHead(503).end();
    else if (refusals === 5) response.destroy();
    else return false;
    return true;
  };
  await loads();
  expect(waits).toEqual([7000, 1000, 1000]);
});

describe.each<[string, (response: import('node:http').ServerResponse) => unknown, RegExp]>([
  ['a busy Hub', (r) => r.writeHead(429).end(), /asks to wait.*6 times.*goes on where it stopped/],
  ['a broken Hub', (r) => r.writeHead(500).end(), /in trouble \(status 500\)/],
  ['a dead connection', (r) => r.destroy(), /could not be reached/],
  [
    'an unknown model',
    (r) => r.writeHead(404).end(),
    /The Hub has no owner\/tiny-model\. Check the spelling/,
  ],
  [
    'a private or unknown model',
    (r) => r.writeHead(401).end(),
    /name is wrong, or the model is private.*kept in memory only/,
  ],
  [
    'a gated model',
    (r) => r.writeHead(401, { 'x-error-code': 'GatedRepo' }).end(),
    /gated or private.*needs an access token/,
  ],
  ['a forbidden model', (r) => r.writeHead(403).end(), /gated or private/],
  ['no JSON', (r) => r.end('<html>'), /is not JSON/],
  ['no list', (r) => r.end('{}'), /lists no files/],
])('%s', (_, answer, message) => {
  test('is explained', async () => {
    hub.intercept = (_request, response) => {
      answer(response);
      return true;
    };
    await expect(fetchHubModel(NAME, options())).rejects.toThrow(UserError);
    await expect(fetchHubModel(NAME, options())).rejects.toThrow(message);
    expect([...store.parts.keys()].some((path) => path.endsWith('manifest.json'))).toBe(false);
  });
});

test('the token is sent, and never stored', async () => {
  const seen = new Set<string | undefined>();
  hub.intercept = (request) => {
    seen.add(request.headers.authorization);
    return false;
  };
  await fetchHubModel(NAME, options({ token: 'hf_secret' }));
  expect([...seen]).toEqual(['Bearer hf_secret']);
  for (const part of store.parts.values()) expect(await part.text()).not.toContain('hf_secret');
});

test('a file that vanishes, and one that never gets further', async () => {
  hub.intercept = (request, response) => {
    if (!request.url?.includes('/resolve/')) return false;
    response.writeHead(404).end();
    return true;
  };
  await expect(fetchHubModel(NAME, options())).rejects.toThrow(/no file config.json/);
  hub.intercept = (request, response) => {
    if (!request.url?.includes('/resolve/')) return false;
    response.writeHead(206, { 'content-range': 'bytes 0-9/10', 'content-length': 10 });
    response.flushHeaders();
    setTimeout(() => response.destroy(), 5);
    return true;
  };
  await expect(fetchHubModel(NAME, options())).rejects.toThrow(/cut off 5 times without getting further/);
});

test('names', () => {
  expect(parseHubName(' Qwen/Qwen2.5-0.5B@v1.0 ')).toEqual({ id: 'Qwen/Qwen2.5-0.5B', revision: 'v1.0' });
  expect(parseHubName('https://huggingface.co/a/b/tree/dev')).toEqual({ id: 'a/b', revision: 'dev' });
  expect(parseHubName('a/b', 'x')).toEqual({ id: 'a/b', revision: 'x' });
  for (const wrong of ['', 'gpt2', 'a/b/c', '../b', 'a/..', 'a b/c'])
    expect(() => parseHubName(wrong), wrong).toThrow(UserError);
});

test('which files', () => {
  const named = (...paths: string[]) => paths.map((path) => ({ path }));
  const chosen = (...paths: string[]) => chooseFiles(named(...paths), NAME).map(({ path }) => path);
  const shards = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors'];
  const index = 'model.safetensors.index.json';
  expect(chosen('config.json', ...shards, index, 'pytorch_model.bin')).toEqual([
    'config.json',
    ...shards,
    index,
  ]);
  expect(() => chosen('config.json', 'pytorch_model.bin')).toThrow(/no safetensors/);
  expect(() => chosen('a.Q4_K.gguf')).toThrow(/download one \(e\.g\. a\.Q4_K\.gguf\)/);
});
