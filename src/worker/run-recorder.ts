/** Keeps a run on disk while it goes: its log, rollouts, checkpoints and saves. A disk that fails does not stop the run. */
import { messageOf } from '../base/assert.ts';
import type { TrainEvent } from '../engine/train/events.ts';
import type { DataUse, StoredRun } from './run-store/run-store.ts';

/** The log goes to disk this often; a save also writes it. */
const FLUSH_MS = 2000;

export interface RecorderTold {
  /** A save is whole. */
  saved(stage: number, step: number): void;
  /** Something could not be written, in a sentence. */
  trouble(message: string): void;
}

const isFull = (error: unknown): boolean => (error as DOMException | null)?.name === 'QuotaExceededError';

export class RunRecorder {
  private flushed = performance.now();
  /** Said once: a full disk fails at every step. */
  private told = new Set<string>();

  constructor(
    private readonly run: StoredRun,
    private readonly data: readonly DataUse[],
    private readonly tell: RecorderTold,
  ) {}

  async see(event: TrainEvent): Promise<void> {
    switch (event.type) {
      case 'tick':
      case 'rollout-progress':
        break;
      case 'base':
        await this.try('its model', () => this.run.writeBase(event));
        break;
      case 'rollouts':
        await this.try('its rollouts', () => this.run.logRollouts(event.records));
        break;
      case 'checkpoint':
        await this.try(`the checkpoint of ${event.stage}`, () =>
          this.run.checkpoint(event.stage, event.files),
        );
        break;
      case 'autosave':
        await this.try('a save', async () => {
          await this.run.save(event.saved, this.data);
          this.tell.saved(event.saved.stage, event.saved.step);
        });
        break;
      default:
        if (event.type === 'run-started')
          await this.try('what it is', () => this.run.update({ parameters: event.parameters }));
        if (event.type === 'evaluation') {
          const score = event.metrics['eval/mean@k'];
          if (score !== undefined)
            await this.try('its scores', () =>
              this.run.update({ scores: { ...this.run.record.scores, [event.set]: score } }),
            );
        }
        this.run.log(event);
    }
    if (performance.now() - this.flushed > FLUSH_MS) await this.flush();
  }

  async flush(): Promise<void> {
    this.flushed = performance.now();
    await this.try('its log', () => this.run.flush());
  }

  /** The run ended; `unfinished` where a person stopped it. */
  async end(state: 'finished' | 'failed' | 'unfinished'): Promise<void> {
    await this.flush();
    await this.try('how it ended', () => this.run.update({ state }));
  }

  private async try(what: string, write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      if (this.told.has(what)) return;
      this.told.add(what);
      const { saved } = this.run.record;
      const last = saved ? ' The last good save stays.' : '';
      this.tell.trouble(
        isFull(error)
          ? `The disk space of this page is full, so ${what} could not be kept.${last} The run goes on; delete old runs on the Runs screen to make room.`
          : `Of this run, ${what} could not be kept on disk: ${messageOf(error)}.${last} The run goes on.`,
      );
    }
  }
}
