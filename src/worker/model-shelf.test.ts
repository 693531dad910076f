import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import { UserError } from '../base/assert.ts';
import { type HubServer, openHub } from '../engine/model/hub-server.ts';
import { MemoryParts } from '../engine/model/memory-parts.ts';
import { TAGS, tagIds } from '../engine/tokenizer/tags.ts';
import { parseRecipe } from '../engine/train/recipe.ts';
import { initialModel } from '../engine/train/setup.ts';
import { loadModelFiles } from './model-loading.ts';
import { ModelShelf } from './model-shelf.ts';
import { ModelStore } from './model-store.ts';
import type { EngineEvent } from './protocol.ts';

const fixture = (file: string) =>
  new Uint8Array(readFileSync(new URL(`../engine/model/fixtures/ckpt/qwen3/${file}`, import.meta.url)));
const LETTERS = [...new Set('abcdefghijklmnopqrstuvwxyz<>/PSmry\n')];
const TOKENIZER = {
  model: {
    type: 'BPE',
    vocab: Object.fromEntries([...LETTERS, '<end>'].map((word, id) => [word, id])),
    merges: [],
  },
  added_tokens: [{ id: LETTERS.length, content: '<end>', special: true }],
  decoder: { type: 'Fuse' },
};
const text = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const FILES = new Map<string, Uint8Array<ArrayBuffer>>([
  ['config.json', fixture('config.json')],
  ['model.safetensors', fixture('model.safetensors')],
  ['tokenizer.json', text(TOKENIZER)],
  ['tokenizer_config.json', text({ eos_token: '<end>', chat_template: '{{ messages }}' })],
]);
const blobs = (prefix = '') =>
  [...FILES].map(([path, bytes]) => ({ path: prefix + path, blob: new Blob([bytes]) }));

let store: ModelStore;
let events: EngineEvent[];
const shelf = (endpoint?: string) =>
  new ModelShelf({
    openStore: async () => store,
    post: (event) => {
      events.push(event);
    },
    fetch,
    endpoint,
  });
const of = <T extends EngineEvent['type']>(type: T) =>
  events.filter((event): event is Extract<EngineEvent, { type: T }> => event.type === type);

const recipe = (model: object) => {
  const base = JSON.parse(readFileSync(new URL('../../models/default-recipe.json', import.meta.url), 'utf8'));
  return parseRecipe({ ...base, model });
};

beforeEach(() => {
  store = new ModelStore(new MemoryParts());
  events = [];
});

test('a dropped model gets its tags, is reported, and is there after a reload', async () => {
  await shelf().drop(blobs('my-model/'));
  const [{ report }] = of('model');
  expect(report).toMatchObject({
    name: 'my-model',
    source: 'dropped',
    format: 'huggingface',
    architecture: 'qwen3',
    vocabulary: 72,
    layers: 2,
    chatTemplate: true,
    usable: true,
    tagsAdded: [...TAGS, '<pad>'],
  });
  expect(report.message).toMatch(/7 tokens were added.*spare rows.*Recipes with/);
  expect(of('model-progress').map(({ phase }) => phase)).toEqual(expect.arrayContaining(['read', 'keep']));
  expect(of('models')[0].models).toMatchObject([{ name: 'my-model', source: 'dropped' }]);

  // Another shelf over the same store: the page after a reload.
  const later = shelf();
  expect(await later.dropped({ model: { source: 'shipped', name: 'base' } })).toBeNull();
  const model = await later.dropped({ model: { source: 'dropped' } });
  expect(tagIds(model!.tokenizer.special)).toHaveLength(6);
  expect(model!.tokenizer.special.beforeSummary).toEqual([LETTERS.indexOf('\n')]);
  expect(model!.weights.get('model.norm.weight')).toBeDefined();
  expect((model!.tokenizer.configJson as { chat_template: string }).chat_template).toBe('{{ messages }}');

  const { id } = (await store.list())[0];
  await later.open(id);
  await later.delete(id);
  expect(of('models').at(-1)!.models).toEqual([]);
  await expect(later.open(id)).rejects.toThrow(/no longer whole/);
  expect(await shelf().dropped({ model: { source: 'dropped' } })).toBeNull();
});

test('a model without a tokenizer is whole, but not usable and not kept', async () => {
  await shelf().drop(blobs().filter(({ path }) => !path.startsWith('tokenizer')));
  expect(of('model')[0].report).toMatchObject({
    usable: false,
    message: expect.stringMatching(/no tokenizer.*tokenizer\.json/),
  });
  expect(await store.list()).toEqual([]);
});

test('where nothing can be kept the model is loaded all the same, and that is said', async () => {
  const one = new ModelShelf({
    openStore: () => Promise.reject(new UserError('No room.')),
    post: (event) => {
      events.push(event);
    },
    fetch,
  });
  await one.drop(blobs());
  expect(of('notice')[0].message).toMatch(/loaded, but not kept.*No room/);
  expect(await one.dropped({ model: { source: 'dropped' } })).not.toBeNull();
});

test('a recipe starts from a model of the Hub, and offline again', async () => {
  const hub: HubServer = await openHub('owner/model', FILES);
  const first = shelf(hub.endpoint);
  await first.hub('owner/model');
  expect(of('model')[0].report).toMatchObject({ source: 'hub', name: 'owner/model', usable: true });
  expect(of('model-progress').map(({ phase }) => phase)).toEqual(
    expect.arrayContaining(['download', 'read']),
  );
  await hub.close();
  const later = shelf(hub.endpoint);
  const sources = {
    loadShipped: () => Promise.reject(new Error('not asked for')),
    droppedModel: null,
    documents: [],
  };
  const asked = recipe({ source: 'hub', name: 'owner/model' });
  const model = await initialModel(asked, {
    ...sources,
    loadHub: (name, revision) => later.loadHub(name, revision),
  });
  expect(tagIds(model.tokenizer.special)).toHaveLength(6);
  expect(await later.loadHub('owner/model')).toBe(model);
  await expect(initialModel(asked, sources)).rejects.toThrow(/owner\/model of the Hugging Face Hub.*drop it/);
});

test('parts that the browser threw away are fetched again', async () => {
  const hub = await openHub('owner/model', FILES);
  await shelf(hub.endpoint).hub('owner/model');
  const { parts } = store.parts as MemoryParts;
  parts.delete([...parts.keys()].find((path) => path.includes('safetensors'))!);
  hub.requests.length = 0;
  await shelf(hub.endpoint).hub('owner/model');
  expect(hub.requests.some((request) => request.includes('model.safetensors'))).toBe(true);
  expect(of('model')).toHaveLength(2);
  await hub.close();
});

test('one at a time, and cancelled in the middle', async () => {
  const one = shelf();
  const loading = one.drop(blobs());
  await expect(one.open('x')).rejects.toThrow(/being loaded already/);
  one.cancel();
  await expect(loading).rejects.toThrow(/cancelled/);
  await one.drop(blobs());
  expect(of('model')).toHaveLength(1);
});

test('damaged tokenizer documents are refused in a sentence', async () => {
  const anyJson = fc.json({ maxDepth: 3 });
  const source = JSON.stringify(TOKENIZER);
  const mutated = fc
    .tuple(fc.nat(source.length), fc.nat(12), anyJson)
    .map(([at, length, put]) => source.slice(0, at) + put + source.slice(at + length));
  const patched = fc
    .tuple(fc.constantFrom('model', 'added_tokens', 'decoder', 'normalizer', 'pre_tokenizer'), fc.jsonValue())
    .map(([key, value]) => JSON.stringify({ ...TOKENIZER, [key]: value }));
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(fc.oneof(mutated, patched, anyJson), async (json) => {
      const files = blobs().map((file) =>
        file.path === 'tokenizer.json' ? { ...file, blob: new Blob([json]) } : file,
      );
      try {
        await loadModelFiles(files, { source: 'dropped', name: 'x' });
      } catch (error) {
        if (!(error instanceof UserError)) throw error;
        refused++;
      }
    }),
    { numRuns: 300, seed: 7 },
  );
  expect(refused).toBeGreaterThan(100);
});
