import { describe, expect, test } from 'vitest';
import type { CustomRow } from '../engine/reward/custom.ts';
import { RewardSandbox, type SandboxWorker } from './reward-sandbox.ts';
import type { SandboxReply, SandboxRequest } from './reward-sandbox.worker.ts';

// The real worker is tested in the browser: reward-sandbox.webgpu.test.ts. Here it is an actor with a script.

const row = (step: number): CustomRow => ({
  prompt: '+1+2!',
  response: 'Final Answer:3',
  answer: '3',
  gold: '3',
  tree: { segments: [], blocks: [] },
  step,
  correct: true,
});
const rows = [row(1), row(2), row(3)];

class Actor implements SandboxWorker {
  onmessage: SandboxWorker['onmessage'] = null;
  onerror: SandboxWorker['onerror'] = null;
  readonly requests: SandboxRequest[] = [];
  terminated = false;
  constructor(private readonly play: (request: SandboxRequest, actor: Actor) => void) {}
  postMessage(request: SandboxRequest): void {
    this.requests.push(request);
    queueMicrotask(() => this.play(request, this));
  }
  reply(data: SandboxReply): void {
    this.onmessage?.({ data } as MessageEvent<SandboxReply>);
  }
  terminate(): void {
    this.terminated = true;
  }
}

/** A sandbox and the actors that it started. */
function sandboxOf(play: (request: SandboxRequest, actor: Actor) => void) {
  const actors: Actor[] = [];
  const sandbox = new RewardSandbox(() => {
    actors.push(new Actor(play));
    return actors[actors.length - 1];
  });
  return { sandbox, actors };
}

const steps = (request: SandboxRequest, actor: Actor) => {
  if (request.type === 'code') actor.reply({ type: 'ready' });
  else for (const { step } of request.rows) actor.reply({ type: 'value', value: step === 2 ? null : step });
};

test('one worker serves all batches of the same code, another code gets another one', async () => {
  const { sandbox, actors } = sandboxOf(steps);
  expect(await sandbox.run('return step', rows, 100)).toEqual([1, null, 3]);
  expect(await sandbox.run('return step', [row(5)], 100)).toEqual([5]);
  expect(await sandbox.run('return step', [], 100)).toEqual([]);
  expect(actors).toHaveLength(1);
  expect(actors[0].requests.map(({ type }) => type)).toEqual(['code', 'rows', 'rows']);
  await sandbox.run('return 2 * step', rows, 100);
  expect(actors).toHaveLength(2);
  expect(actors[0].terminated).toBe(true);
  sandbox.dispose();
  expect(actors[1].terminated).toBe(true);
});

describe('what goes wrong names the row, ends the worker, and the next run has a fresh one', () => {
  const cases: [string, (request: SandboxRequest, actor: Actor) => void, number | null, RegExp][] = [
    [
      'a row that hangs',
      (request, actor) => {
        if (request.type === 'code') actor.reply({ type: 'ready' });
        else actor.reply({ type: 'value', value: 1 });
      },
      1,
      /longer than 30 ms/,
    ],
    [
      'a row that throws',
      (request, actor) => {
        if (request.type === 'code') return actor.reply({ type: 'ready' });
        actor.reply({ type: 'value', value: 1 });
        actor.reply({ type: 'value', value: 1 });
        actor.reply({ type: 'failed', reason: 'TypeError: x is not a function (line 2)' });
      },
      2,
      /TypeError: x is not a function \(line 2\)/,
    ],
    [
      'code that is refused',
      (_, actor) => actor.reply({ type: 'refused', reason: 'its code is broken' }),
      null,
      /its code is broken/,
    ],
    [
      'a worker that cannot be loaded',
      (_, actor) => actor.onerror?.({ message: '', preventDefault() {} } as ErrorEvent),
      null,
      /could not be loaded/,
    ],
  ];
  test.each(cases)('%s', async (_, play, index, reason) => {
    let failing = true;
    const { sandbox, actors } = sandboxOf((request, actor) => (failing ? play : steps)(request, actor));
    const failed = await sandbox.run('return step', rows, 30).catch((error) => error);
    expect(failed).toMatchObject({ name: 'CustomRewardError', row: index });
    expect(failed.reason).toMatch(reason);
    expect(actors[0].terminated).toBe(true);
    failing = false;
    expect(await sandbox.run('return step', rows, 30)).toEqual([1, null, 3]);
    expect(actors).toHaveLength(2);
  });
});
