import type { Command, EngineEvent } from './protocol.ts';

export class EngineClient {
  private readonly listeners = new Set<(event: EngineEvent) => void>();
  private readonly worker = new Worker(new URL('./engine.worker.ts', import.meta.url), { type: 'module' });
  constructor() {
    this.worker.onmessage = (message: MessageEvent<EngineEvent>) => {
      for (const listener of this.listeners) listener(message.data);
    };
  }
  send(command: Command): void {
    this.worker.postMessage(command);
  }
  subscribe(listener: (event: EngineEvent) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
