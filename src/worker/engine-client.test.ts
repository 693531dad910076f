import { expect, test } from 'vitest';
import { EngineClient } from './engine-client.ts';
import type { Command, DatasetReport, EngineEvent } from './protocol.ts';

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
  const data = new FakeWorker();
  const client = new EngineClient(worker as unknown as Worker, data as unknown as Worker);
  const heard: EngineEvent[] = [];
  const end = client.subscribe((event) => heard.push(event));
  return { worker, data, client, heard, end };
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

test('disposing ends the workers', () => {
  const { worker, data, client } = setUp();
  client.dispose();
  expect([worker.terminated, data.terminated]).toEqual([true, true]);
});

test('data is read by a worker of its own; a table that has no place on disk goes on to the engine', () => {
  const { worker, data, client, heard } = setUp();
  client.send({ type: 'load-data', job: '1', files: [], choice: { policy: 'skip', mapping: null } });
  expect([worker.sent.length, data.sent.length]).toEqual([0, 1]);
  const bytes = new ArrayBuffer(8);
  data.onmessage?.({ data: { type: 'data-table', name: 'x.jsonl', bytes } as never });
  expect(worker.sent).toEqual([[{ type: 'put-data', name: 'x.jsonl', bytes }, [bytes]]]);
  expect(heard).toEqual([]);
  // Kept on disk or deleted: the engine must not hold on to what it has.
  const report = { name: 'x.jsonl' } as DatasetReport;
  const choice = { policy: 'skip', mapping: null } as const;
  data.onmessage?.({ data: { type: 'dataset', report, choice, kept: true } });
  data.onmessage?.({ data: { type: 'data-deleted', name: 'y.jsonl' } });
  data.onmessage?.({ data: { type: 'dataset', report, choice, kept: false } });
  expect(worker.sent.slice(1).map(([command]) => command)).toEqual([
    { type: 'forget-data', name: 'x.jsonl' },
    { type: 'forget-data', name: 'y.jsonl' },
  ]);
  expect(heard).toHaveLength(3);
});

test('a reader of data that breaks does not end the run', () => {
  const { data, heard } = setUp();
  data.onerror?.({ message: 'out of memory', preventDefault: () => {} });
  expect(heard).toMatchObject([
    { type: 'error', fatal: false, message: expect.stringMatching(/data files.*out of memory/) },
  ]);
});
