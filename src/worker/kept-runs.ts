/**
 * The runs on disk, as the engine's worker uses them: one that goes now at most, held by a lock of the browser so that no
 * other tab writes into it. A lock dies with its tab.
 */
import { UserError } from '../base/assert.ts';
import type { NamedBlob } from '../engine/model/blobs.ts';
import { parseModelConfig } from '../engine/model/config.ts';
import { loadTokenizer } from '../engine/tokenizer/hf-tokenizer.ts';
import type { SavedFile, SavedRun, TrainEvent } from '../engine/train/events.ts';
import type { Recipe } from '../engine/train/recipe.ts';
import type { RunContext } from '../engine/train/run.ts';
import type { EngineEvent, HistoryEvent, ListedRun } from './protocol.ts';
import { RunRecorder } from './run-recorder.ts';
import type { Directory } from './run-store/directory.ts';
import { type DataUse, type RunRecord, RunStore, type StoredRun } from './run-store/run-store.ts';

const lockName = (id: string): string => `polypath-run-${id}`;

interface Going {
  run: StoredRun;
  recorder: RunRecorder;
  release(): void;
  /** What its log has of the part that is resumed, which must not stand there twice. */
  told: ReadonlySet<string>;
}

export interface Resumed {
  saved: SavedRun;
  base: NonNullable<RunContext['base']>;
  data: DataUse[];
  device: string;
}

/** Events that a resumed run tells again, by what makes them the same. */
function keyOf(event: Pick<TrainEvent, 'type'> | HistoryEvent): string | null {
  if (event.type === 'run-started' || event.type === 'base') return event.type;
  return event.type === 'stage-started' && 'index' in event ? `stage-started ${event.index}` : null;
}

export class KeptRuns {
  private readonly store: RunStore;
  private going: Going | null = null;

  constructor(
    root: Directory,
    private readonly post: (event: EngineEvent) => void,
  ) {
    this.store = new RunStore(root);
  }

  get id(): string | null {
    return this.going?.run.record.id ?? null;
  }

  async list(): Promise<ListedRun[]> {
    const held = new Set((await navigator.locks.query()).held?.map(({ name }) => name));
    return Promise.all(
      (await this.store.list()).map(async (record) => ({
        ...record,
        checkpoints: await (await this.stored(record.id)).checkpoints(),
        going: record.id === this.id ? 'here' : held.has(lockName(record.id)) ? 'elsewhere' : null,
      })),
    );
  }

  /** The run that goes is the one object that knows what is not on disk yet. */
  private async stored(id: string): Promise<StoredRun> {
    return id === this.id ? this.going!.run : this.store.open(id);
  }

  /** Holds a run for this tab; the promise of the lock ends when it is released. */
  private async hold(id: string): Promise<() => void> {
    return new Promise((resolve, reject) => {
      void navigator.locks
        .request(lockName(id), { ifAvailable: true }, (lock) => {
          if (!lock) {
            reject(
              new UserError(
                'This run goes in another tab. Look at it there, or close that tab and try again; two tabs must not write into one run.',
              ),
            );
            return undefined;
          }
          return new Promise<void>((release) => resolve(release));
        })
        .catch(reject);
    });
  }

  async begin(recipe: Recipe, scale: number, device: string, data: DataUse[]): Promise<void> {
    const now = Date.now();
    const id = `${new Date(now).toISOString().slice(0, 19).replace(/[-:]/g, '').replace('T', '-')}-${crypto.randomUUID().slice(0, 4)}`;
    const record: RunRecord = {
      id,
      name: recipe.name,
      recipe,
      scale,
      created: now,
      updated: now,
      state: 'unfinished',
      saved: null,
      parameters: 0,
      device,
      scores: {},
      elapsedSeconds: 0,
      tokens: 0,
      notes: '',
    };
    const release = await this.hold(id);
    const run = await this.store.create(record).catch((error) => {
      release();
      throw error;
    });
    this.going = { run, release, recorder: this.recorderOf(run, data), told: new Set() };
    // Otherwise a browser short of space may delete it without a word.
    void navigator.storage.persist?.().catch(() => false);
  }

  private recorderOf(run: StoredRun, data: readonly DataUse[]): RunRecorder {
    const { id } = run.record;
    return new RunRecorder(run, data, {
      saved: (stage, step) => this.post({ type: 'saved', id, stage, step }),
      trouble: (message) => this.post({ type: 'notice', message }),
    });
  }

  /** Takes a run from its last good save; its log is then cut back to it. */
  async resume(id: string): Promise<Resumed> {
    const release = await this.hold(id);
    try {
      const run = await this.store.open(id);
      const loaded = await run.load(true);
      if (!loaded)
        throw new UserError('This run was never saved, so it can’t go on. Start it again from its recipe.');
      for (const message of loaded.passedOver) this.post({ type: 'notice', message });
      const { base } = await run.readBase();
      const events = await run.events();
      const told = new Set(events.map(keyOf).filter((key) => key !== null));
      told.add('base');
      await run.update({ state: 'unfinished' });
      this.going = { run, release, told, recorder: this.recorderOf(run, loaded.data) };
      await this.postHistory(run);
      return {
        saved: loaded.saved,
        data: loaded.data,
        device: run.record.device,
        base: {
          config: parseModelConfig(base.config),
          tokenizer: loadTokenizer(base.tokenizerJson, base.tokenizerConfigJson),
        },
      };
    } catch (error) {
      release();
      throw error;
    }
  }

  private async postHistory(run: StoredRun): Promise<void> {
    const rolloutSteps = (await run.rolloutSteps()).map(({ stage, step, count }) => ({ stage, step, count }));
    this.post({ type: 'history', record: run.record, events: await run.events(), rolloutSteps });
  }

  async open(id: string): Promise<void> {
    await this.postHistory(await this.store.open(id));
  }

  /** Keeps an event; says whether the page should hear of it. */
  async see(event: TrainEvent): Promise<boolean> {
    if (!this.going) return event.type !== 'base';
    const key = keyOf(event);
    if (key && this.going.told.has(key)) return false;
    await this.going.recorder.see(event);
    return event.type !== 'base' && event.type !== 'autosave';
  }

  async end(state: 'finished' | 'failed' | 'unfinished'): Promise<void> {
    const { going } = this;
    if (!going) return;
    await going.recorder.end(state);
    this.going = null;
    going.release();
  }

  async delete(id: string): Promise<void> {
    if (id === this.id) throw new UserError('This run is going. Stop it before you delete it.');
    const release = await this.hold(id);
    try {
      await this.store.delete(id);
    } finally {
      release();
    }
  }

  async describe(id: string, change: { name?: string; notes?: string }): Promise<void> {
    const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
    await (await this.stored(id)).update(given);
  }

  /** What a run is. */
  async recordOf(id: string): Promise<RunRecord> {
    return (await this.stored(id)).record;
  }

  /** The model at the end of a stage. */
  async checkpoint(id: string, stage: string): Promise<SavedFile[]> {
    return (await this.stored(id)).readCheckpoint(stage);
  }

  /** What a run logged, without making it the one that the page shows. */
  async readLog(id: string): Promise<void> {
    const run = await this.stored(id);
    await run.flush();
    this.post({ type: 'run-log', record: run.record, events: await run.events() });
  }

  /** @param rollouts they quote the problems of the data */
  async bundle(id: string, rollouts: boolean): Promise<void> {
    const run = await this.stored(id);
    this.post({ type: 'bundled', id, name: run.record.name, zip: await run.pack({ rollouts }) });
  }

  async unbundle({ path, blob }: NamedBlob): Promise<void> {
    const { name } = await this.store.unpack(path, blob);
    this.post({ type: 'notice', message: `The run “${name}” was taken in from ${path}.` });
  }

  async rollouts(id: string, stage: string, step: number): Promise<void> {
    const run = await this.stored(id);
    this.post({ type: 'stored-rollouts', id, stage, step, records: await run.rolloutsOf(stage, step) });
  }
}
