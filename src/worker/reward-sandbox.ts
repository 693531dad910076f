/**
 * Runs the code of custom rewards in a worker of its own (`reward-sandbox.worker.ts`), which has no network and is ended
 * when a row takes too long. One at a time; it starts with the first rows and stays for the next ones.
 */
import { CustomRewardError, type CustomRewardRunner, type CustomRow } from '../engine/reward/custom.ts';
import type { SandboxReply, SandboxRequest } from './reward-sandbox.worker.ts';

/** What the host needs of a worker. */
export interface SandboxWorker {
  postMessage(request: SandboxRequest): void;
  terminate(): void;
  onmessage: ((event: MessageEvent<SandboxReply>) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
}

/** Most time for the worker to load and compile, in ms: generous, since no code of the person runs in it. */
const START_LIMIT_MS = 20_000;

const startWorker = (): SandboxWorker =>
  new Worker(new URL('./reward-sandbox.worker.ts', import.meta.url), { type: 'module' });

export class RewardSandbox implements CustomRewardRunner {
  private worker: SandboxWorker | null = null;
  private code = '';

  /** @param start one of the caller's own (tests) */
  constructor(private readonly start: () => SandboxWorker = startWorker) {}

  async run(code: string, rows: readonly CustomRow[], timeLimitMs: number): Promise<(number | null)[]> {
    try {
      if (!this.worker || this.code !== code) {
        this.dispose();
        this.worker = this.start();
        this.code = code;
        await this.exchange({ type: 'code', code }, 1, START_LIMIT_MS);
      }
      return await this.exchange({ type: 'rows', rows }, rows.length, timeLimitMs);
    } catch (error) {
      // A worker that hangs or failed is in no state to go on.
      this.dispose();
      throw error;
    }
  }

  /** Sends a request and waits for its replies, each within the limit after the one before. */
  private exchange(request: SandboxRequest, count: number, limitMs: number): Promise<(number | null)[]> {
    const worker = this.worker!;
    const values: (number | null)[] = [];
    if (count === 0) return Promise.resolve(values);
    const row = () => (request.type === 'rows' ? values.length : null);
    return new Promise((resolve, reject) => {
      const fail = (reason: string) => {
        clearTimeout(timer);
        reject(new CustomRewardError(row(), reason));
      };
      const late = () =>
        fail(request.type === 'rows' ? `it took longer than ${limitMs} ms` : 'its sandbox did not start');
      let timer = setTimeout(late, limitMs);
      worker.onerror = (event) => {
        event.preventDefault();
        fail(event.message || 'its sandbox could not be loaded');
      };
      worker.onmessage = ({ data }) => {
        if (data.type === 'refused' || data.type === 'failed') return fail(data.reason);
        clearTimeout(timer);
        values.push(data.type === 'value' ? data.value : null);
        if (values.length === count) resolve(values);
        else timer = setTimeout(late, limitMs);
      };
      worker.postMessage(request);
    });
  }

  dispose(): void {
    this.worker?.terminate();
    this.worker = null;
  }
}
