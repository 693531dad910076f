import { expect, test } from 'vitest';
import { EngineClient } from './engine-client.ts';
import type { Command, EngineEvent } from './protocol.ts';

class FakeWorker {
  sent: [Command, Transferable[]][] = [];
  terminated = false;
  onmessage: ((message: { data: EngineEvent }) => void) | null = null;
  onerror: ((event: { message: string; preventDefault(): void }) => void) | null = null;
  onmessageerror: (() => void) | null = null;
  postMessage(command: Command, transfer: Transferable[]): void {
    this.sent.push([command, transfer]);
  }
  terminate(): void {
    this.terminated = true;
  }
}

function setUp() {
  const worker = new FakeWorker();
  const client = new EngineClient(worker as unknown as Worker);
  const heard: EngineEvent[] = [];
  const end = client.subscribe((event) => heard.push(event));
  return { worker, client, heard, end };
}

test('commands go out, the state of a save by transfer; events come in until the subscription ends', () => {
  const { worker, client, heard, end } = setUp();
  const state = new ArrayBuffer(8);
  client.send({ type: 'pause' });
  client.send({ type: 'start', recipe: {}, options: { scale: 1, resume: { state } as never } });
  expect(worker.sent.map(([command, transfer]) => [command.type, transfer])).toEqual([
    ['pause', []],
    ['start', [state]],
  ]);
  worker.onmessage?.({ data: { type: 'state', state: 'running' } });
  end();
  worker.onmessage?.({ data: { type: 'state', state: 'paused' } });
  expect(heard).toEqual([{ type: 'state', state: 'running' }]);
});

test('a worker that breaks says so in a sentence, and the run has failed', () => {
  const { worker, heard } = setUp();
  worker.onerror?.({ message: '', preventDefault: () => {} });
  expect(heard.map(({ type }) => type)).toEqual(['error', 'state']);
  expect(heard[0]).toMatchObject({
    fatal: true,
    message: expect.stringMatching(/could not be loaded.*Reload/),
  });
  worker.onmessageerror?.();
  expect(heard[2]).toMatchObject({ message: expect.stringMatching(/could not be read/) });
});

test('disposing ends the worker', () => {
  const { worker, client } = setUp();
  client.dispose();
  expect(worker.terminated).toBe(true);
});
