/** What a run gets of the data sets, and that a resumed one gets the same. */
import { beforeEach, expect, test } from 'vitest';
import type { DatasetReport } from '../../engine/data/report.ts';
import { RowList, rowsOf } from '../../engine/data/rows.ts';
import { TextTable } from '../../engine/data/table.ts';
import type { Recipe } from '../../engine/train/recipe.ts';
import { MemoryDirectory } from '../run-store/memory-directory.ts';
import { bytesOf } from './data-desk.ts';
import { DataShelf } from './data-shelf.ts';
import { DataStore } from './data-store.ts';

const recipe = (...names: string[]) =>
  ({
    stages: [
      { data: { source: 'task', task: 'chain' } },
      ...names.map((name) => ({ data: { source: 'dropped', name } })),
    ],
  }) as unknown as Recipe;

function tableOf(name: string, ...prompts: string[]): TextTable {
  const table = new TextTable(name);
  for (const row of rowsOf(
    new RowList(
      name,
      prompts.map((prompt) => ({ prompt, completion: 'x' })),
    ),
  ))
    table.append(row);
  return table;
}

let store: DataStore;
let shelf: DataShelf;
const keep = (name: string, ...prompts: string[]) =>
  store.keep(name, async () => ({ table: tableOf(name, ...prompts), report: { name } as DatasetReport }));

beforeEach(() => {
  store = new DataStore(new MemoryDirectory(), (use) => use());
  shelf = new DataShelf(async () => store);
});

async function opened(names: string[], used: Parameters<DataShelf['open']>[1] = null) {
  const { dropped, uses } = await shelf.open(recipe(...names), used);
  const rows = Object.fromEntries(
    [...dropped].map(([name, source]) => [name, [...rowsOf(source)].map(({ prompt }) => prompt)]),
  );
  return { rows, uses };
}

test('a run gets what its stages name, from the disk or from memory, and what it used is known', async () => {
  await keep('a', 'a1', 'a2');
  await keep('b', 'b1');
  shelf.put('c', bytesOf(tableOf('c', 'c1')));
  const { rows, uses } = await opened(['a', 'c', 'none']);
  expect(rows).toEqual({ a: ['a1', 'a2'], c: ['c1'] });
  expect(uses).toEqual([
    { name: 'a', hash: tableOf('a', 'a1', 'a2').contentHash },
    { name: 'c', hash: tableOf('c', 'c1').contentHash },
  ]);
  expect(await shelf.open(recipe(), null)).toEqual({ dropped: new Map(), uses: [] });
  shelf.delete('c');
  expect((await opened(['c'])).rows).toEqual({});
});

test('* is all of them, as one; a resumed run has those that it had', async () => {
  await keep('a', 'a1', 'a2');
  await keep('b', 'b1');
  const { rows, uses } = await opened(['*', 'b']);
  expect(rows).toEqual({ '*': ['a1', 'a2', 'b1'], b: ['b1'] });
  await keep('later', 'l1');
  expect((await opened(['*'])).rows['*']).toEqual(['a1', 'a2', 'b1', 'l1']);
  // In the same order, or it would not go on exactly.
  expect((await opened(['*', 'b'], uses)).rows).toEqual(rows);
});

test('a run does not go on with other rows than it had, nor without them', async () => {
  await keep('a', 'a1');
  const { uses } = await opened(['a']);
  await expect(opened(['a'], uses)).resolves.toMatchObject({ rows: { a: ['a1'] } });
  await keep('a', 'a2');
  await expect(opened(['a'], uses)).rejects.toThrow(/another a than.*Drop the file that it had/);
  await store.delete('a');
  await expect(opened(['a'], uses)).rejects.toThrow(/trains on a, which is not here.*Drop that file/);
});
