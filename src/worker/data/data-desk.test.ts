/** The data worker's work on disks in memory: loads, archives, cancelling, mapping, full disks, addresses. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { zipSync } from 'fflate';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { TextTable } from '../../engine/data/table.ts';
import { type Disk, MemoryDirectory } from '../run-store/memory-directory.ts';
import { DataDesk } from './data-desk.ts';
import type { DataCommand, LoadChoice } from './data-protocol.ts';
import { DataStore } from './data-store.ts';

const AS_IT_IS: LoadChoice = { policy: 'skip', mapping: null };
const row = (n: number) => JSON.stringify({ prompt: `question ${n}`, completion: `answer ${n}` });
const lines = (count: number, from = 0) => Array.from({ length: count }, (_, i) => row(from + i)).join('\n');
const file = (path: string, content: string | Uint8Array) => ({
  path,
  blob: new Blob([content as Uint8Array<ArrayBuffer>]),
});
const macrotask = () => new Promise<void>((resolve) => setImmediate(resolve));

type Posted = Parameters<ConstructorParameters<typeof DataDesk>[0]['post']>[0];
let posted: Posted[];
let disk: Disk;
let store: DataStore;
let root: MemoryDirectory;

function deskOn(on: DataStore | null): DataDesk {
  let clock = 0;
  return new DataDesk({
    store: on,
    post: (event) => posted.push(event),
    breathe: macrotask,
    // Every look at the clock is 60 ms later.
    now: () => {
      clock += 60;
      return clock;
    },
  });
}
const of = <T extends Posted['type']>(type: T) =>
  posted.filter((event): event is Extract<Posted, { type: T }> => event.type === type);
const load = (files: { path: string; blob: Blob }[], choice = AS_IT_IS, job = 'job'): DataCommand => ({
  type: 'load-data',
  job,
  files,
  choice,
});

beforeEach(() => {
  posted = [];
  disk = { room: Number.POSITIVE_INFINITY };
  root = new MemoryDirectory(disk);
  store = new DataStore(root, (use) => use());
});

test('files and members of archives become data sets on disk, which a reload finds', async () => {
  const archive = zipSync({
    'a/train.jsonl': new TextEncoder().encode(lines(3)),
    'a/picture.png': new Uint8Array(9),
    'b/test.jsonl': new TextEncoder().encode(lines(2)),
  });
  const desk = deskOn(store);
  await desk.handle(load([file('x.jsonl', lines(600)), file('all.zip', archive)]));
  expect(of('dataset').map(({ report, kept }) => [report.name, report.kept, kept])).toEqual([
    ['x.jsonl', 600, true],
    ['a/train.jsonl', 3, true],
    ['b/test.jsonl', 2, true],
  ]);
  expect(of('data-done')).toEqual([{ type: 'data-done', job: 'job' }]);
  expect(of('data-table')).toEqual([]);
  const progress = of('data-progress').filter(({ name }) => name === 'x.jsonl');
  expect(progress.length).toBeGreaterThanOrEqual(2);
  expect(progress.at(-1)).toMatchObject({ rows: 512, size: lines(600).length, read: lines(600).length });

  const table = await new DataStore(root, (use) => use()).open('x.jsonl');
  expect(table!.length).toBe(600);
  expect(table!.row(599)).toMatchObject({ prompt: 'question 599', completion: 'answer 599' });
  expect(table!.contentHash).toBe(of('dataset')[0].report.hash);
  expect((await store.list()).map(({ name }) => name).sort()).toEqual([
    'a/train.jsonl',
    'b/test.jsonl',
    'x.jsonl',
  ]);
});

test('the same name replaces: the old one is there until the new one is whole', async () => {
  const desk = deskOn(store);
  await desk.handle(load([file('x.jsonl', lines(2))]));
  await desk.handle(load([file('x.jsonl', 'nothing of use')], { policy: 'abort', mapping: null }));
  expect((await store.open('x.jsonl'))!.length).toBe(2);
  await desk.handle(load([file('x.jsonl', lines(5))]));
  expect((await store.open('x.jsonl'))!.length).toBe(5);
  expect(await store.list()).toHaveLength(1);
  expect(await (await root.folder('data')).folders()).toHaveLength(1);
});

test('cancelled in the middle: nothing of the file is taken, the others of the job neither, a later job is', async () => {
  const desk = deskOn(store);
  const first = desk.handle(
    load([file('big.jsonl', lines(50_000)), file('next.jsonl', lines(1))], AS_IT_IS, '1'),
  );
  const second = desk.handle(load([file('other.jsonl', lines(1))], AS_IT_IS, '2'));
  while (of('data-progress').length < 3) await macrotask();
  await desk.handle({ type: 'cancel-data', job: '1' });
  await Promise.all([first, second]);
  expect(of('dataset').map(({ report }) => report.name)).toEqual(['other.jsonl']);
  expect(of('notice').map(({ message }) => message)).toEqual([
    expect.stringMatching(/big\.jsonl was cancelled/),
    expect.stringMatching(/cancelled/),
  ]);
  expect(of('error')).toEqual([]);
  expect(await (await root.folder('data')).folders()).toHaveLength(1);
});

test('a file that nobody recognises gives its columns, and is taken once they are mapped', async () => {
  const desk = deskOn(store);
  const odd = [1, 2, 3].map((n) => JSON.stringify({ frage: `F${n}`, loesung: `L${n}` })).join('\n');
  await desk.handle(load([file('odd.jsonl', odd)]));
  expect(of('dataset')).toEqual([]);
  const [refused] = of('data-refused');
  expect(refused.report!.columns!.map(({ name, examples }) => [name, examples[0]])).toEqual([
    ['frage', 'F1'],
    ['loesung', 'L1'],
  ]);
  expect(of('error')[0].message).toMatch(/odd\.jsonl has no usable row \(3 read\).*frage, loesung/);
  await desk.handle({
    type: 'reload-data',
    job: '2',
    name: 'odd.jsonl',
    choice: { policy: 'skip', mapping: { prompt: 'frage', completion: 'loesung' } },
  });
  expect(of('dataset')[0].report).toMatchObject({ kept: 3, sample: { prompt: 'F1', completion: 'L1' } });
});

test('a member of an archive is read again by itself', async () => {
  const desk = deskOn(store);
  const bad = `${lines(2)}\n{"prompt": "x", "completion": "\\alpha",}`;
  const archive = zipSync({
    'one.jsonl': new TextEncoder().encode(lines(2)),
    'two.jsonl': new TextEncoder().encode(bad),
  });
  await desk.handle(load([file('all.zip', archive)]));
  const [, two] = of('dataset').map(({ report }) => report);
  expect(two).toMatchObject({ kept: 2, issueCount: 1, fixable: 1 });
  await desk.handle({
    type: 'reload-data',
    job: '2',
    name: 'two.jsonl',
    choice: { policy: 'fix', mapping: null },
  });
  expect(of('dataset')).toHaveLength(3);
  expect(of('dataset')[2].report).toMatchObject({ name: 'two.jsonl', kept: 3, issueCount: 0 });
  await expect(
    desk.handle({ type: 'reload-data', job: '3', name: 'never.jsonl', choice: AS_IT_IS }),
  ).rejects.toThrow(/never\.jsonl is not at hand any more.*Drop it again/);
});

test('a full disk: the data set is there for this visit, said in a sentence; the one before it stays', async () => {
  const desk = deskOn(store);
  await desk.handle(load([file('x.jsonl', lines(2))]));
  disk.room = 500;
  await desk.handle(load([file('x.jsonl', lines(100))]));
  expect(of('dataset')[1]).toMatchObject({ kept: false, report: { kept: 100 } });
  expect(of('notice')[0].message).toMatch(/x\.jsonl is loaded, but not kept.*full\. Delete/);
  const [{ name, bytes }] = of('data-table');
  expect(TextTable.from(name, new Uint8Array(bytes)).length).toBe(100);
  expect((await store.open('x.jsonl'))!.length).toBe(2);
  expect(await (await root.folder('data')).folders()).toHaveLength(1);
  // What is shown is what was loaded last.
  await desk.handle({ type: 'read-rows', name: 'x.jsonl', from: 98, to: 103 });
  expect(of('data-rows')[0]).toMatchObject({ from: 98, total: 100 });
  expect(of('data-rows')[0].rows.map(({ prompt }) => prompt)).toEqual(['question 98', 'question 99']);
});

test('without a disk the table goes to the engine', async () => {
  const desk = deskOn(null);
  await desk.handle(load([file('x.jsonl', lines(3))]));
  expect(posted.map(({ type }) => type).filter((type) => type !== 'data-progress')).toEqual([
    'data-table',
    'dataset',
    'data-sets',
    'data-done',
  ]);
  expect(of('notice')).toEqual([]);
  await desk.handle({ type: 'delete-data', name: 'x.jsonl' });
  expect(of('data-deleted')).toEqual([{ type: 'data-deleted', name: 'x.jsonl' }]);
  await expect(desk.handle({ type: 'read-rows', name: 'x.jsonl', from: 0, to: 1 })).rejects.toThrow(
    /no data set x\.jsonl/,
  );
});

test('what a crash left in the middle of a load does not count, and is swept away by the next one', async () => {
  disk.before = (change) => {
    if (change.includes('manifest')) throw new Error('crash');
  };
  const desk = deskOn(store);
  await desk.handle(load([file('x.jsonl', lines(3))]));
  expect(of('dataset')[0].kept).toBe(false);
  delete disk.before;
  // The tab died before it could tidy up.
  await (await (await root.folder('data')).folder('left')).append('rows.bin', new Uint8Array(9));
  expect(await store.list()).toEqual([]);
  await desk.handle(load([file('y.jsonl', lines(3))]));
  expect((await store.list()).map(({ name }) => name)).toEqual(['y.jsonl']);
  expect(await (await root.folder('data')).folders()).toHaveLength(1);
});

test('files that are no data are told one by one, and do not keep the others out', async () => {
  const desk = deskOn(store);
  const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0]);
  const files = [file('photo.png', png), file('none.jsonl', ''), file('good.jsonl', lines(1))];
  await desk.handle(load(files));
  expect(of('error').map(({ message }) => message)).toEqual([
    expect.stringContaining('photo.png'),
    expect.stringMatching(/none\.jsonl.*empty/),
  ]);
  expect(of('dataset').map(({ report }) => report.name)).toEqual(['good.jsonl']);
});

describe('addresses', () => {
  let server: Server;
  let base: string;
  beforeEach(async () => {
    server = createServer((request, response) => {
      const { pathname } = new URL(request.url!, 'http://x');
      if (pathname === '/data/train%20set.jsonl') response.end(lines(4));
      else if (pathname === '/page') response.setHeader('content-type', 'text/html').end('<html>');
      else if (pathname === '/private.jsonl') response.writeHead(403).end();
      else if (pathname === '/cut.jsonl') {
        response.writeHead(200, { 'content-length': '1000' });
        response.write(lines(3));
        setTimeout(() => response.destroy(), 20);
      } else response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    server.close();
    server.closeAllConnections();
  });
  const fetchUrl = (url: string) =>
    deskOn(store).handle({ type: 'load-data-url', job: 'u', url, choice: AS_IT_IS });

  test('a file is fetched, by the name at the end of its address', async () => {
    await fetchUrl(`${base}/data/train%20set.jsonl?download=true`);
    expect(of('dataset')[0].report).toMatchObject({ name: 'train set.jsonl', kept: 4 });
  });

  test.each([
    ['/page', /is a web page.*address of the file/],
    ['/private.jsonl', /answered 403.*Download/],
    ['/gone.jsonl', /answered 404.*Check the address/],
    ['/cut.jsonl', /cut\.jsonl/],
  ])('%s is refused in a sentence', async (path, message) => {
    await fetchUrl(base + path);
    expect(of('error')[0].message).toMatch(message);
    expect(await store.list()).toEqual([]);
  });

  test('what is no address, and what does not answer', async () => {
    await fetchUrl('train.jsonl');
    await fetchUrl('file:///etc/passwd');
    await fetchUrl('http://127.0.0.1:1/x.jsonl');
    expect(of('error').map(({ message }) => message)).toEqual([
      expect.stringMatching(/"train\.jsonl" is not an address/),
      expect.stringMatching(/file: addresses can't be fetched/),
      expect.stringMatching(/x\.jsonl could not be fetched.*CORS.*drop it/),
    ]);
  });

  test('pages that show a file of the Hub or of GitHub lead to the file', async () => {
    const asked: string[] = [];
    const fetchIt = (async (url: URL) => {
      asked.push(url.href);
      return new Response(lines(1));
    }) as typeof fetch;
    const desk = new DataDesk({
      store,
      post: (event) => posted.push(event),
      breathe: macrotask,
      fetch: fetchIt,
    });
    for (const url of [
      'https://huggingface.co/datasets/o/d/blob/main/a/train.jsonl',
      'https://github.com/o/r/blob/main/a/test.jsonl',
    ])
      await desk.handle({ type: 'load-data-url', job: 'u', url, choice: AS_IT_IS });
    expect(asked).toEqual([
      'https://huggingface.co/datasets/o/d/resolve/main/a/train.jsonl',
      'https://raw.githubusercontent.com/o/r/main/a/test.jsonl',
    ]);
    expect(of('dataset')).toHaveLength(2);
  });
});
