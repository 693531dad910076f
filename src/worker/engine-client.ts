/** The page's side of the seam: one worker, commands in, events out. */
import type { Command, EngineEvent } from './protocol.ts';

type Listener = (event: EngineEvent) => void;

export class EngineClient {
  private readonly listeners = new Set<Listener>();
  private worker: Worker | null;

  /** @param worker one of the caller's own (tests) */
  constructor(worker: Worker | null = null) {
    this.worker = worker && this.listenTo(worker);
  }

  /** The worker starts with the first command, so that the page is drawn before the engine loads. */
  private start(): Worker {
    return this.listenTo(new Worker(new URL('./engine.worker.ts', import.meta.url), { type: 'module' }));
  }

  private listenTo(worker: Worker): Worker {
    worker.onmessage = (message: MessageEvent<EngineEvent>) => this.emit(message.data);
    worker.onerror = (event) => {
      event.preventDefault();
      this.fail(event.message || 'its script could not be loaded');
    };
    worker.onmessageerror = () => this.fail('it sent something that could not be read');
    return worker;
  }

  private fail(reason: string): void {
    this.emit({
      type: 'error',
      message: `The engine stopped working: ${reason}. Reload the page to start it again.`,
      fatal: true,
    });
    this.emit({ type: 'state', state: 'failed' });
  }

  private emit(event: EngineEvent): void {
    for (const listener of this.listeners) listener(event);
  }

  send(command: Command): void {
    this.worker ??= this.start();
    const transfer = command.type === 'start' && command.options.resume ? [command.options.resume.state] : [];
    this.worker.postMessage(command, transfer);
  }

  /** @returns a function that ends the subscription */
  subscribe(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }

  dispose(): void {
    this.worker?.terminate();
    this.worker = null;
    this.listeners.clear();
  }
}
