/**
 * Runs on disk: what each is, its log, and saves from which it goes on exactly.
 *
 *     runs/<id>/run.json            what it is and how far it came
 *               base.json           config and tokenizer of its model
 *               frozen.safetensors  weights that it does not train, if there are any
 *               events.jsonl        every event, in order; a save says how much of it is sure
 *               rollouts.jsonl      every logged rollout; rollouts.index tells where a step's begin
 *               saves/<n>/          state.safetensors, then manifest.json: without it a save does not count
 *               checkpoints/<stage>/ a Hugging Face folder
 *
 * A save is written beside the last good one, which goes only when the new one is whole.
 */
import { messageOf, UserError } from '../../base/assert.ts';
import { ContentHash } from '../../engine/data/table.ts';
import type { SavedFile, SavedRun, TrainEvent } from '../../engine/train/events.ts';
import type { Recipe } from '../../engine/train/recipe.ts';
import type { Directory } from './directory.ts';
import { readManifest } from './manifest.ts';
import { packRun, unpackRun } from './run-bundle.ts';

/** Good saves that are kept: the newest, and one before it should its file turn out to be damaged. */
const KEPT = 2;
const SAVE_VERSION = 1;

export type StoredState = 'unfinished' | 'finished' | 'failed';

/** What the list of runs shows. */
export interface RunRecord {
  id: string;
  name: string;
  recipe: Recipe;
  scale: number;
  /** Milliseconds since 1970. */
  created: number;
  updated: number;
  state: StoredState;
  /** Stage and step of the last good save; null before the first. */
  saved: { stage: number; step: number; at: number } | null;
  parameters: number;
  device: string;
  /** Last held-out scores, by set. */
  scores: Record<string, number>;
  elapsedSeconds: number;
  tokens: number;
  notes: string;
}

/** Config and tokenizer of a run's model: its save needs no model to be dropped again. */
export interface StoredBase {
  config: unknown;
  tokenizerJson: unknown;
  tokenizerConfigJson: unknown;
}

/** Data sets that a run reads, as they were when it began. */
export interface DataUse {
  name: string;
  hash: string;
}

export interface Manifest extends Omit<SavedRun, 'state'> {
  version: number;
  at: number;
  /** Size and checksum of the file beside it. */
  state: { bytes: number; hash: string };
  /** How long the logs were. */
  logs: { events: number; rollouts: number; index: number };
  data: DataUse[];
}

export type LoggedEvent = Exclude<
  TrainEvent,
  { type: 'tick' | 'rollout-progress' | 'rollouts' | 'checkpoint' | 'autosave' | 'base' }
>;

interface StepRollouts {
  stage: string;
  step: number;
  from: number;
  to: number;
  count: number;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const json = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value));
const hashOf = (bytes: Uint8Array): string => {
  const hash = new ContentHash();
  hash.add(bytes);
  return hash.hex;
};

/** Lines of JSON; the last one may have been cut off by a crash. */
function linesOf<T>(bytes: Uint8Array): T[] {
  return decoder
    .decode(bytes)
    .split('\n')
    .flatMap((line) => {
      try {
        return line === '' ? [] : [JSON.parse(line) as T];
      } catch {
        return [];
      }
    });
}

export class RunStore {
  constructor(private readonly root: Directory) {}

  private runs(): Promise<Directory> {
    return this.root.folder('runs');
  }

  /** Newest first. A folder whose record can't be read is no run. */
  async list(): Promise<RunRecord[]> {
    const runs = await this.runs();
    const records = await Promise.all(
      (await runs.folders()).map(async (id) => {
        const bytes = await (await runs.folder(id)).read('run.json');
        return bytes ? (linesOf<RunRecord>(bytes)[0] ?? null) : null;
      }),
    );
    return records.filter((record) => record !== null).sort((a, b) => b.updated - a.updated);
  }

  async create(record: RunRecord): Promise<StoredRun> {
    const folder = await (await this.runs()).folder(record.id);
    const run = new StoredRun(folder, record);
    await run.update({});
    return run;
  }

  /** Throws a UserError where there is no such run. */
  async open(id: string): Promise<StoredRun> {
    const record = (await this.list()).find((one) => one.id === id);
    if (!record)
      throw new UserError('This run is not kept here any more. It may have been deleted in another tab.');
    return new StoredRun(await (await this.runs()).folder(id), record);
  }

  async delete(id: string): Promise<void> {
    await (await this.runs()).remove(id);
  }

  /** Takes a run in that `StoredRun.pack` wrote, here or elsewhere. */
  async unpack(name: string, file: Blob): Promise<RunRecord> {
    return unpackRun(name, file, await this.runs());
  }
}

export class StoredRun {
  /** Lines that are not on disk yet. */
  private waiting: string[] = [];
  private index: StepRollouts[] | null = null;

  constructor(
    private readonly folder: Directory,
    private current: RunRecord,
  ) {}

  get record(): RunRecord {
    return this.current;
  }

  async update(change: Partial<RunRecord>): Promise<void> {
    this.current = { ...this.current, updated: Date.now(), ...change };
    await this.folder.write('run.json', json(this.current));
  }

  async writeBase(base: StoredBase, frozen: Uint8Array | null = null): Promise<void> {
    if (frozen) await this.folder.write('frozen.safetensors', frozen);
    await this.folder.write('base.json', json(base));
  }

  async readBase(): Promise<{ base: StoredBase; frozen: Uint8Array<ArrayBuffer> | null }> {
    const bytes = await this.folder.read('base.json');
    if (!bytes) throw new UserError('The run has no model on disk: it was stopped before its first step.');
    return { base: JSON.parse(decoder.decode(bytes)), frozen: await this.folder.read('frozen.safetensors') };
  }

  /** Kept in memory until `flush`: a step may take a millisecond. */
  log(event: LoggedEvent): void {
    this.waiting.push(JSON.stringify(event));
  }

  async flush(): Promise<void> {
    if (this.waiting.length === 0) return;
    const text = `${this.waiting.join('\n')}\n`;
    this.waiting = [];
    await this.folder.append('events.jsonl', encoder.encode(text));
  }

  async events(): Promise<LoggedEvent[]> {
    const bytes = await this.folder.read('events.jsonl');
    return bytes ? linesOf<LoggedEvent>(bytes) : [];
  }

  /** Rollouts of one step, as they come. */
  async logRollouts(records: Extract<TrainEvent, { type: 'rollouts' }>['records']): Promise<void> {
    const [first] = records;
    if (!first) return;
    const from = await this.folder.size('rollouts.jsonl');
    const bytes = encoder.encode(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
    await this.folder.append('rollouts.jsonl', bytes);
    const entry: StepRollouts = {
      stage: first.stage,
      step: first.step,
      from,
      to: from + bytes.length,
      count: records.length,
    };
    await this.folder.append('rollouts.index', encoder.encode(`${JSON.stringify(entry)}\n`));
    this.index?.push(entry);
  }

  /** Steps of which there are rollouts, in order. */
  async rolloutSteps(): Promise<readonly StepRollouts[]> {
    if (!this.index) {
      const bytes = await this.folder.read('rollouts.index');
      this.index = bytes ? linesOf<StepRollouts>(bytes) : [];
    }
    return this.index;
  }

  async rolloutsOf(
    stage: string,
    step: number,
  ): Promise<Extract<TrainEvent, { type: 'rollouts' }>['records']> {
    // After a rollback a step is there twice: the later one counts.
    const entry = (await this.rolloutSteps()).findLast((one) => one.stage === stage && one.step === step);
    return entry ? linesOf(await this.folder.readRange('rollouts.jsonl', entry.from, entry.to)) : [];
  }

  async checkpoint(stage: string, files: readonly SavedFile[]): Promise<void> {
    const folder = await (await this.folder.folder('checkpoints')).folder(stage);
    for (const { path, bytes } of files) await folder.write(path, new Uint8Array(bytes));
  }

  /** The whole run in one zip file, without any data set. */
  async pack(options: { rollouts: boolean }): Promise<Blob> {
    await this.flush();
    return packRun(this.folder, options);
  }

  async checkpoints(): Promise<string[]> {
    return (await this.folder.folder('checkpoints')).folders();
  }

  /** @throws UserError where there is none of this stage */
  async readCheckpoint(stage: string): Promise<SavedFile[]> {
    if (!(await this.checkpoints()).includes(stage))
      throw new UserError(`The run "${this.current.name}" has no checkpoint of a stage "${stage}".`);
    const folder = await (await this.folder.folder('checkpoints')).folder(stage);
    const files: SavedFile[] = [];
    for (const path of await folder.files()) files.push({ path, bytes: (await folder.read(path))!.buffer });
    return files;
  }

  /** The manifest comes last: a crash before it leaves the save before as the newest. */
  async save(saved: SavedRun, data: readonly DataUse[]): Promise<void> {
    await this.flush();
    const saves = await this.folder.folder('saves');
    const numbers = (await saves.folders()).map(Number).sort((a, b) => a - b);
    const next = (numbers[numbers.length - 1] ?? 0) + 1;
    const folder = await saves.folder(String(next));
    const state = new Uint8Array(saved.state);
    const at = Date.now();
    try {
      await folder.write('state.safetensors', state);
      const manifest: Manifest = {
        ...saved,
        version: SAVE_VERSION,
        at,
        state: { bytes: state.length, hash: hashOf(state) },
        logs: {
          events: await this.folder.size('events.jsonl'),
          rollouts: await this.folder.size('rollouts.jsonl'),
          index: await this.folder.size('rollouts.index'),
        },
        data: [...data],
      };
      await folder.write('manifest.json', json(manifest));
    } catch (error) {
      await saves.remove(String(next)).catch(() => {});
      throw error;
    }
    const { stage, step, elapsedSeconds, tokens } = saved;
    await this.update({ saved: { stage, step, at }, elapsedSeconds, tokens });
    // Those before the newest good ones, and what a crash left behind.
    const good: number[] = [next];
    for (const number of numbers.reverse()) {
      const isGood = good.length < KEPT && (await (await saves.folder(String(number))).read('manifest.json'));
      if (isGood) good.push(number);
      else await saves.remove(String(number));
    }
  }

  /**
   * The newest good save, or null where there is none. One that is damaged is passed over; the reason is told.
   * @param cut the logs are cut back to the save, so that what comes after it is not there twice
   */
  async load(
    cut: boolean,
  ): Promise<{ saved: SavedRun; data: DataUse[]; at: number; passedOver: string[] } | null> {
    const saves = await this.folder.folder('saves');
    const passedOver: string[] = [];
    for (const number of (await saves.folders()).map(Number).sort((a, b) => b - a)) {
      const folder = await saves.folder(String(number));
      const bytes = await folder.read('manifest.json');
      if (!bytes) continue;
      try {
        const manifest = readManifest(JSON.parse(decoder.decode(bytes)), SAVE_VERSION);
        const state = await folder.read('state.safetensors');
        if (!state || state.length !== manifest.state.bytes || hashOf(state) !== manifest.state.hash)
          throw new UserError('its weights are damaged');
        if (cut) await this.cutBack(manifest.logs);
        const { version: _, at, logs: _logs, data, ...rest } = manifest;
        return { saved: { ...rest, state: state.buffer }, data, at, passedOver };
      } catch (error) {
        passedOver.push(`Save ${number} could not be used: ${messageOf(error)}.`);
      }
    }
    if (passedOver.length > 0)
      throw new UserError(`No save of this run can be used. ${passedOver.join(' ')}`);
    return null;
  }

  private async cutBack(logs: Manifest['logs']): Promise<void> {
    this.waiting = [];
    this.index = null;
    await this.folder.truncate('events.jsonl', logs.events);
    await this.folder.truncate('rollouts.jsonl', logs.rollouts);
    await this.folder.truncate('rollouts.index', logs.index);
  }
}
