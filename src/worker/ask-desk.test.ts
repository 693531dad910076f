import { beforeAll, beforeEach, expect, test } from 'vitest';
import { openBackend } from '../engine/tensor/device.ts';
import { memory } from '../engine/tensor/tfjs.ts';
import type { LoadedModel } from '../engine/train/setup.ts';
import { loadShipped } from '../engine/train/trajectories/trajectory.ts';
import { AskDesk } from './ask-desk.ts';
import type { AskRequest, EngineEvent } from './protocol.ts';

type AskEvent = Extract<EngineEvent, { type: `ask-${string}` }>;

let base: LoadedModel;
beforeAll(async () => {
  await openBackend('wasm');
  base = await loadShipped('base');
});

let events: AskEvent[];
beforeEach(() => {
  events = [];
});
const deskOf = (onEvent: (event: AskEvent) => void = () => {}) =>
  new AskDesk({
    load: async () => ({ model: base, recipe: null }),
    post: (event) => {
      events.push(event);
      onEvent(event);
    },
    viewEvery: 0,
  });
const of = <T extends AskEvent['type']>(type: T) =>
  events.filter((event): event is Extract<AskEvent, { type: T }> => event.type === type);

const REQUEST: AskRequest = {
  id: 'q',
  model: { from: 'shipped', name: 'base' },
  question: '+8+23-5',
  gold: '26',
  modes: [{ kind: 'sequential' }, { kind: 'parallel', decide: 'model' }, { kind: 'vote', votes: 3 }],
  limits: { maxTokens: 60 },
  equalTokens: false,
  seed: 4,
};

test('each way is told as it is written and when it is done, and nothing stays on the device', async () => {
  const before = memory().numTensors;
  await deskOf().ask(REQUEST);
  expect(of('ask-started')).toEqual([
    {
      type: 'ask-started',
      id: 'q',
      prompts: { plain: '+8+23-5?', parallel: '+8+23-5!' },
      task: 'signed-chain',
      maxTokens: 60,
      temperature: 1,
    },
  ]);
  const results = of('ask-result');
  expect(results.map(({ column, mode }) => [column, mode.kind])).toEqual([
    [0, 'sequential'],
    [1, 'parallel'],
    [2, 'vote'],
  ]);
  expect(results[2].result.responses).toHaveLength(3);
  expect(results.every(({ result }) => result.correct !== null)).toBe(true);
  for (const column of [0, 1, 2]) {
    const views = of('ask-view').filter((event) => event.column === column);
    expect(views.length).toBeGreaterThan(3);
    expect(views.at(-1)!.view.tokens.total).toBe(results[column].result.tokens.total);
  }
  expect(events.at(-1)).toEqual({ type: 'ask-done', id: 'q', stopped: false, failure: null });
  expect(memory().numTensors).toBe(before);
});

test('at equal tokens the vote has as many responses as the parallel one pays for', async () => {
  await deskOf().ask({
    ...REQUEST,
    equalTokens: true,
    modes: [...REQUEST.modes.slice(0, 2), { kind: 'vote', votes: 64 }],
  });
  const [alone, forked, vote] = of('ask-result').map(({ result }) => result);
  const votes = Math.max(1, Math.floor(forked.tokens.total / alone.tokens.total));
  expect(vote.responses).toHaveLength(votes);
});

test('a question can be stopped between two tokens; another one meanwhile is refused', async () => {
  const before = memory().numTensors;
  const desk: AskDesk = deskOf((event) => {
    if (event.type === 'ask-view' && event.view.tokens.total === 5) desk.stop();
  });
  const asking = desk.ask(REQUEST);
  await expect(desk.ask({ ...REQUEST, id: 'other' })).rejects.toThrow(/already/);
  await asking;
  expect(of('ask-result')).toEqual([]);
  expect(Math.max(...of('ask-view').map(({ view }) => view.tokens.total))).toBe(5);
  expect(events.at(-1)).toEqual({ type: 'ask-done', id: 'q', stopped: true, failure: null });
  expect(desk.busy).toBe(false);
  expect(memory().numTensors).toBe(before);
});

test('what can’t be asked ends in its sentence, and the desk is free again', async () => {
  const desk = deskOf();
  await desk.ask({ ...REQUEST, question: 'why?' });
  await desk.ask({ ...REQUEST, id: 'greedy', limits: { temperature: 0 } });
  expect(of('ask-done').map(({ failure }) => failure)).toEqual([
    expect.stringMatching(/no tokens for a part of "why\?"/),
    expect.stringMatching(/A vote needs responses that differ/),
  ]);
  expect(of('ask-result').map(({ id }) => id)).toEqual(['greedy', 'greedy']);
  expect(desk.busy).toBe(false);
});

test('a problem is drawn without its mark, with its answer', async () => {
  const desk = deskOf();
  await desk.draw('d', REQUEST.model, 3);
  await desk.draw('e', REQUEST.model, 3);
  const [one, again] = of('ask-problem');
  expect(one.question).toMatch(/^([+-]\d+){2,3}$/);
  expect(one.answer).toMatch(/^\d+$/);
  expect({ ...again, id: 'd' }).toEqual(one);
});
