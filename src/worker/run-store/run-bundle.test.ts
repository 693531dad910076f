import { downloadZip } from 'client-zip';
import { describe, expect, test } from 'vitest';
import tinyRecipe from '../../../models/tiny-recipe.json';
import { UserError } from '../../base/assert.ts';
import { parseRecipe } from '../../engine/train/recipe.ts';
import { MemoryDirectory } from './memory-directory.ts';
import { type RunRecord, RunStore } from './run-store.ts';

const recipe = parseRecipe(tinyRecipe);
const record: RunRecord = {
  id: '20260101-000000-abcd',
  name: 'Tiny',
  recipe,
  scale: 0.5,
  created: 1,
  updated: 2,
  state: 'unfinished',
  saved: null,
  parameters: 7,
  device: 'wasm',
  scores: { hard: 0.25 },
  elapsedSeconds: 3,
  tokens: 4,
  notes: 'mine',
};
const bytes = (length: number) => Uint8Array.from({ length }, (_, i) => (i * 31) % 251);

async function filled() {
  const store = new RunStore(new MemoryDirectory());
  const run = await store.create(record);
  await run.writeBase({ config: { a: 1 }, tokenizerJson: null, tokenizerConfigJson: null }, bytes(9));
  run.log({ type: 'stage-started', index: 0 });
  await run.logRollouts([{ stage: 's', step: 1, text: 'a secret problem' } as never]);
  await run.checkpoint('sft', [{ path: 'config.json', bytes: bytes(5).buffer }]);
  await run.save(
    {
      recipe,
      scale: 0.5,
      stage: 0,
      step: 3,
      elapsedSeconds: 3,
      tokens: 4,
      optimizerSteps: 3,
      state: bytes(100_000).buffer,
    },
    [{ name: 'own.jsonl', hash: 'ff' }],
  );
  return { store, run };
}

const zipOf = (members: Record<string, string | Uint8Array<ArrayBuffer>>) =>
  downloadZip(Object.entries(members).map(([name, input]) => ({ name, input }))).blob();
const HEAD = JSON.stringify({ format: 'polypath-run', version: 1, rollouts: true });

test('a bundle comes back elsewhere as the same run, save and all, bit for bit', async () => {
  const { run } = await filled();
  const elsewhere = new RunStore(new MemoryDirectory());
  const taken = await elsewhere.unpack('run.zip', await run.pack({ rollouts: true }));
  expect(taken).toEqual(run.record);
  const again = await elsewhere.open(taken.id);
  const loaded = (await again.load(false))!;
  expect(new Uint8Array(loaded.saved.state)).toEqual(bytes(100_000));
  expect(loaded.data).toEqual([{ name: 'own.jsonl', hash: 'ff' }]);
  expect((await again.readBase()).frozen).toEqual(bytes(9));
  expect(await again.events()).toEqual([{ type: 'stage-started', index: 0 }]);
  expect(await again.rolloutsOf('s', 1)).toHaveLength(1);
  expect(await again.readCheckpoint('sft')).toEqual([{ path: 'config.json', bytes: bytes(5).buffer }]);
});

test('without rollouts no problem of the data is in it, and the save goes on with empty logs of them', async () => {
  const { run } = await filled();
  const zip = await run.pack({ rollouts: false });
  expect(await zip.text()).not.toContain('a secret problem');
  const elsewhere = new RunStore(new MemoryDirectory());
  const { id } = await elsewhere.unpack('run.zip', zip);
  const again = await elsewhere.open(id);
  await again.load(true);
  expect(await again.rolloutSteps()).toEqual([]);
  expect(await again.events()).toHaveLength(1);
});

test('a run that is there already gets another id, and both stay', async () => {
  const { store, run } = await filled();
  const { id } = await store.unpack('run.zip', await run.pack({ rollouts: true }));
  expect(id).not.toBe(record.id);
  expect((await store.list()).map((one) => one.id).sort()).toEqual([record.id, id].sort());
});

describe('what is no bundle is refused with a sentence, and nothing of it stays', () => {
  const json = (change: object = {}) => JSON.stringify({ ...record, ...change });
  test.each<[string, Record<string, string>, RegExp]>([
    ['another zip', { 'a.txt': 'a' }, /is not a run of Polypath: it does not begin with bundle\.json/],
    ['no JSON', { 'bundle.json': '{' }, /is not a run of Polypath/],
    ['another format', { 'bundle.json': '{"format": "x"}' }, /names another format/],
    [
      'a newer version',
      { 'bundle.json': '{"format": "polypath-run", "version": 9}' },
      /newer version of Polypath/,
    ],
    ['no record', { 'bundle.json': HEAD, 'base.json': '{}' }, /no run\.json/],
    [
      'a record without a number',
      { 'bundle.json': HEAD, 'run.json': json({ tokens: 'many' }) },
      /no number "tokens"/,
    ],
    ['a state that is none', { 'bundle.json': HEAD, 'run.json': json({ state: 'odd' }) }, /a state "odd"/],
    [
      'a recipe that is none',
      { 'bundle.json': HEAD, 'run.json': json({ recipe: { version: 1 } }) },
      /can't be read/,
    ],
  ])('%s', async (_, members, reason) => {
    const root = new MemoryDirectory();
    const unpacked = new RunStore(root).unpack('odd.zip', await zipOf(members));
    await expect(unpacked).rejects.toThrow(UserError);
    await expect(unpacked).rejects.toThrow(reason);
    expect(await (await root.folder('runs')).folders()).toEqual([]);
  });

  test('cut off in the middle', async () => {
    const { run } = await filled();
    const zip = await run.pack({ rollouts: true });
    const root = new MemoryDirectory();
    await expect(new RunStore(root).unpack('cut.zip', zip.slice(0, 60_000))).rejects.toThrow(UserError);
    expect(await (await root.folder('runs')).folders()).toEqual([]);
  });

  test('names that lead out of the folder are passed over', async () => {
    const root = new MemoryDirectory();
    const evil = { 'bundle.json': HEAD, 'run.json': json(), '../models/x': 'x', 'checkpoints/../../y': 'y' };
    const { id } = await new RunStore(root).unpack('evil.zip', await zipOf(evil));
    const folder = await (await root.folder('runs')).folder(id);
    expect(await folder.files()).toEqual(['run.json']);
    expect(await folder.folders()).toEqual([]);
    expect(await root.folders()).toEqual(['runs']);
  });

  test('a full disk leaves no half of it', async () => {
    const { run } = await filled();
    const root = new MemoryDirectory({ room: 50_000 });
    await expect(new RunStore(root).unpack('big.zip', await run.pack({ rollouts: true }))).rejects.toThrow();
    expect(await (await root.folder('runs')).folders()).toEqual([]);
  });
});
