import { beforeEach, expect, test, vi } from 'vitest';
import {
  chooseRecipe,
  editRecipe,
  loadOffers,
  OPENED,
  openRecipe,
  redo,
  undo,
  useDraft,
  withValue,
} from './recipe-draft.ts';

const first = { name: 'First', stages: [{ steps: 10 }, { steps: 20 }] };
const second = { name: 'Second' };
/** Answers when it is told to. */
let answers: Record<string, Promise<unknown>>;

beforeEach(() => {
  useDraft.setState(useDraft.getInitialState());
  answers = {
    './models/index.json': Promise.resolve([{ file: 'first.json' }, { file: 'second.json' }]),
    './models/experiments.json': Promise.resolve([]),
    './models/first.json': Promise.resolve(first),
    './models/second.json': Promise.resolve(second),
  };
  vi.stubGlobal('fetch', async (url: string) => ({ ok: true, json: () => answers[url] }));
});

const document = () => useDraft.getState().document;

test('the first of the list is taken, unless something was opened meanwhile', async () => {
  await loadOffers();
  expect(document()).toEqual(first);
  useDraft.setState(useDraft.getInitialState());
  const loading = loadOffers();
  openRecipe('mine.json', second);
  await loading;
  expect(useDraft.getState()).toMatchObject({ chosen: OPENED, openedName: 'mine.json', document: second });
});

test('of two choices the later one wins, also when the earlier one arrives last', async () => {
  let arrive = (_: unknown): void => {};
  answers['./models/first.json'] = new Promise((resolve) => {
    arrive = resolve;
  });
  const slow = chooseRecipe('first.json');
  await chooseRecipe('second.json');
  arrive(first);
  await slow;
  expect(document()).toEqual(second);
});

test('edits change a copy and can be taken back and made again', async () => {
  await chooseRecipe('first.json');
  editRecipe(['stages', 1, 'steps'], 5);
  editRecipe(['adapter', 'rank'], 8);
  expect(document()).toEqual({ name: 'First', stages: [{ steps: 10 }, { steps: 5 }], adapter: { rank: 8 } });
  expect(first.stages[1].steps).toBe(20);
  undo();
  undo();
  undo();
  expect(document()).toEqual(first);
  redo();
  expect(document()).toEqual({ ...first, stages: [{ steps: 10 }, { steps: 5 }] });
  editRecipe(['name'], 'Other');
  redo();
  expect(document()).toMatchObject({ name: 'Other', stages: [{ steps: 10 }, { steps: 5 }] });
});

test('undefined removes a key or an entry of a list', () => {
  expect(withValue({ a: 1, b: 2 }, ['a'], undefined)).toEqual({ b: 2 });
  expect(withValue(first, ['stages', 0], undefined)).toEqual({ name: 'First', stages: [{ steps: 20 }] });
});
