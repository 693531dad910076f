/** The page's private files in a real browser (they need no GPU, but a browser). */
import { afterEach, expect, test } from 'vitest';
import { keepFiles, keptFiles, listKept, readManifest } from '../engine/model/model-files.ts';
import { ModelStore, OpfsParts } from './model-store.ts';

const FOLDER = 'model-store-test';
const open = async () =>
  new OpfsParts(await (await navigator.storage.getDirectory()).getDirectoryHandle(FOLDER, { create: true }));

afterEach(async () => {
  await (await navigator.storage.getDirectory())
    .removeEntry(FOLDER, { recursive: true })
    .catch(() => undefined);
});

const about = { id: 'a', name: 'A', source: 'dropped', revision: null, saved: 1 } as const;
const content = Uint8Array.from({ length: 1000 }, (_, i) => i % 251);
const files = [
  { path: 'folder/model.safetensors', blob: new Blob([content]) },
  { path: 'empty.json', blob: new Blob([]) },
];

test('files are kept in parts, listed, read back and deleted', async () => {
  await keepFiles(await open(), about, files, { partSize: 300 });
  const parts = await open(); // as after a reload
  const [manifest] = await listKept(parts);
  expect(manifest).toMatchObject({ id: 'a', name: 'A', bytes: 1000 });
  const back = (await keptFiles(parts, manifest))!;
  expect(back.map(({ path }) => path)).toEqual(files.map(({ path }) => path));
  expect(new Uint8Array(await back[0].blob.arrayBuffer())).toEqual(content);
  expect(new Uint8Array(await back[0].blob.slice(290, 610).arrayBuffer())).toEqual(content.slice(290, 610));
  await new ModelStore(parts).delete('a');
  expect(await listKept(parts)).toEqual([]);
  expect(await parts.read('a/manifest.json')).toBeNull();
});

test('what was cut off before its manifest is no model', async () => {
  const parts = await open();
  const controller = new AbortController();
  const progress = (done: number) => {
    if (done >= 600) controller.abort(new Error('stop'));
  };
  const cut = keepFiles(parts, about, files, { partSize: 300, progress, signal: controller.signal });
  await expect(cut).rejects.toThrow('stop');
  expect(await readManifest(parts, 'a')).toBeNull();
  expect(await listKept(parts)).toEqual([]);
  await keepFiles(parts, about, files, { partSize: 300 });
  expect(await listKept(parts)).toHaveLength(1);
});

test('a name that leads out of the folder is refused', async () => {
  const store = new ModelStore(await open());
  for (const id of ['', '..', '../x', '.hidden'])
    await expect(store.delete(id)).rejects.toThrow(/no kept model/);
});
