/** The page's side of the seam: commands in, events out, of two workers: the engine and the reader of data files. */
import type { DataCommand, DataHandover } from './data/data-protocol.ts';
import type { Command, EngineCommand, EngineEvent } from './protocol.ts';

type Listener = (event: EngineEvent) => void;

/** Either worker, which starts with its first command, so that the page is drawn before it loads. */
interface Side {
  worker: Worker | null;
  start(): Worker;
  /** As a sentence begins. */
  name: string;
}

/** Commands of the reader of data files. */
const DATA = new Set<string>([
  'load-data',
  'load-data-url',
  'reload-data',
  'cancel-data',
  'list-data',
  'delete-data',
  'read-rows',
] satisfies DataCommand['type'][]);

const isForData = (command: Command): command is DataCommand => DATA.has(command.type);

export class EngineClient {
  private readonly listeners = new Set<Listener>();
  private readonly engine: Side;
  private readonly data: Side;

  /** Workers of the caller's own are for tests. */
  constructor(engine: Worker | null = null, data: Worker | null = null) {
    this.engine = {
      name: 'The engine',
      worker: null,
      start: () => engine ?? new Worker(new URL('./engine.worker.ts', import.meta.url), { type: 'module' }),
    };
    this.data = {
      name: 'The reader of data files',
      worker: null,
      start: () => data ?? new Worker(new URL('./data/data.worker.ts', import.meta.url), { type: 'module' }),
    };
    if (engine) this.workerOf(this.engine);
    if (data) this.workerOf(this.data);
  }

  private workerOf(side: Side): Worker {
    if (side.worker) return side.worker;
    const worker = side.start();
    side.worker = worker;
    worker.onmessage = (message: MessageEvent<EngineEvent | DataHandover>) => this.hear(message.data);
    worker.onerror = (event) => {
      event.preventDefault();
      this.fail(side, event.message || 'its script could not be loaded');
    };
    worker.onmessageerror = () => this.fail(side, 'it sent something that could not be read');
    return worker;
  }

  private hear(event: EngineEvent | DataHandover): void {
    if (event.type === 'data-table') {
      this.toEngine({ type: 'put-data', name: event.name, bytes: event.bytes });
      return;
    }
    // What is on disk is the newer one.
    if (event.type === 'data-deleted' || (event.type === 'dataset' && event.kept))
      this.engine.worker?.postMessage({
        type: 'forget-data',
        name: event.type === 'dataset' ? event.report.name : event.name,
      } satisfies EngineCommand);
    this.emit(event);
  }

  private fail(side: Side, reason: string): void {
    const fatal = side === this.engine;
    this.emit({
      type: 'error',
      message: `${side.name} stopped working: ${reason}. Reload the page to start it again.`,
      fatal,
    });
    if (fatal) this.emit({ type: 'state', state: 'failed' });
  }

  private emit(event: EngineEvent): void {
    for (const listener of this.listeners) listener(event);
  }

  send(command: Command): void {
    if (isForData(command)) this.workerOf(this.data).postMessage(command);
    else this.toEngine(command);
  }

  private toEngine(command: EngineCommand): void {
    const transfer: Transferable[] = [];
    if (command.type === 'start' && command.options.resume) transfer.push(command.options.resume.state);
    if (command.type === 'put-data') transfer.push(command.bytes);
    this.workerOf(this.engine).postMessage(command, transfer);
  }

  /** @returns a function that ends the subscription */
  subscribe(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }

  dispose(): void {
    for (const side of [this.engine, this.data]) {
      side.worker?.terminate();
      side.worker = null;
    }
    this.listeners.clear();
  }
}
