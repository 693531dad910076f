/** What the data worker does: reads files and addresses into data sets, keeps them, lists, shows and deletes them. */
import { messageOf, UserError } from '../../base/assert.ts';
import { dataFiles, loadFailure, loadTable, nothingKept } from '../../engine/data/load-table.ts';
import { type ByteSource, blobSource, counted } from '../../engine/data/read/bytes.ts';
import type { DatasetReport } from '../../engine/data/report.ts';
import type { TextTable } from '../../engine/data/table.ts';
import type { EngineEvent } from '../protocol.ts';
import type { DataCommand, DataEvent, DataHandover, LoadChoice } from './data-protocol.ts';
import type { DataStore, TableWriter } from './data-store.ts';
import { urlSource } from './url-source.ts';

/** At most so many progress events a second: ten. */
const PROGRESS_MS = 100;
/** Rows that are shown at once. */
const MOST_ROWS = 1000;

type Posted = DataEvent | DataHandover | Extract<EngineEvent, { type: 'error' | 'notice' }>;

export interface DeskOptions {
  /** Null where the browser gives no disk: data sets then last as long as the page. */
  store: DataStore | null;
  post(event: Posted): void;
  /** Lets waiting commands in. */
  breathe(): Promise<void>;
  fetch?: typeof fetch;
  now?(): number;
}

/** Where a data set came from, to read it again. */
type Origin = (signal: AbortSignal) => Promise<ByteSource>;

export class DataDesk {
  private readonly jobs = new Map<string, AbortController>();
  private readonly origins = new Map<string, Origin>();
  /** Data sets that are not on disk. */
  private readonly inMemory = new Map<string, TextTable>();
  /** The data set that is being looked at. */
  private shown: { name: string; table: TextTable } | null = null;
  /** One file after the other: two at once would only need the memory of both. */
  private queue: Promise<void> = Promise.resolve();

  constructor(private readonly options: DeskOptions) {}

  async handle(command: DataCommand): Promise<void> {
    switch (command.type) {
      case 'load-data': {
        const origins = command.files.map(
          ({ path, blob }): Origin =>
            async () =>
              blobSource(path, blob),
        );
        return this.run(command.job, origins, command.choice);
      }
      case 'load-data-url': {
        const { fetch } = this.options;
        return this.run(command.job, [(signal) => urlSource(command.url, { signal, fetch })], command.choice);
      }
      case 'reload-data': {
        const origin = this.origins.get(command.name);
        if (!origin)
          throw new UserError(
            `The file of ${command.name} is not at hand any more, because the page was left since. Drop it again.`,
          );
        return this.run(command.job, [origin], command.choice, command.name);
      }
      case 'cancel-data':
        this.jobs.get(command.job)?.abort();
        return;
      case 'list-data':
        return this.list();
      case 'delete-data':
        return this.delete(command.name);
      case 'read-rows':
        return this.rows(command.name, command.from, command.to);
      default:
        command satisfies never;
    }
  }

  /** Loads all files of some origins, or only the data set of a name. */
  private run(job: string, origins: readonly Origin[], choice: LoadChoice, only?: string): Promise<void> {
    const controller = new AbortController();
    this.jobs.set(job, controller);
    const work = async (): Promise<void> => {
      try {
        for (const origin of origins) await this.loadAll(job, origin, choice, controller.signal, only);
        await this.list();
      } finally {
        this.jobs.delete(job);
        this.options.post({ type: 'data-done', job });
      }
    };
    const done = this.queue.then(work);
    this.queue = done.catch(() => {});
    return done;
  }

  private async loadAll(
    job: string,
    origin: Origin,
    choice: LoadChoice,
    signal: AbortSignal,
    only: string | undefined,
  ): Promise<void> {
    const { post } = this.options;
    let name = '';
    try {
      signal.throwIfAborted();
      const source = await origin(signal);
      name = source.name;
      let read = 0;
      const whole = counted(source, (bytes) => {
        read = bytes;
      });
      let found = false;
      for await (const file of dataFiles(whole)) {
        if (only !== undefined && file.name !== only) continue;
        found = true;
        name = file.name;
        const progress = this.progress(job, name, source.size, () => read);
        await this.load(file, choice, signal, progress);
        this.origins.set(file.name, origin);
      }
      if (!found)
        throw new UserError(
          `${name} holds no data file. Put .jsonl, .json, .csv, .tsv, .parquet or .txt files in it.`,
        );
    } catch (error) {
      if (signal.aborted)
        post({
          type: 'notice',
          message: `Loading ${name || 'the data'} was cancelled; nothing of it was taken.`,
        });
      else if (error instanceof Refused) {
        const { message, report } = error;
        this.origins.set(report.name, origin);
        post({ type: 'data-refused', name: report.name, message, choice, report });
        post({ type: 'error', message, fatal: false });
      } else {
        const message = loadFailure(name, error);
        if (name) this.origins.set(name, origin);
        if (name) post({ type: 'data-refused', name, message, choice, report: null });
        post({ type: 'error', message, fatal: false });
      }
    }
  }

  private progress(job: string, name: string, size: number, read: () => number) {
    const { now = () => performance.now() } = this.options;
    let told = Number.NEGATIVE_INFINITY;
    return (rows: number): void => {
      if (now() - told < PROGRESS_MS) return;
      told = now();
      this.options.post({ type: 'data-progress', job, name, read: read(), size, rows });
    };
  }

  private async load(
    source: ByteSource,
    choice: LoadChoice,
    signal: AbortSignal,
    tell: (rows: number) => void,
  ): Promise<void> {
    const { store, post, breathe } = this.options;
    const { name } = source;
    tell(0);
    const read = async (writer: TableWriter | null) => {
      const loaded = await loadTable(source, {
        ...choice,
        signal,
        progress: async (rows, table) => {
          tell(rows);
          await writer?.follow(table);
          await breathe();
        },
      });
      if (loaded.table.length === 0) throw new Refused(nothingKept(loaded.report), loaded.report);
      return loaded;
    };
    const { table, report, stored, trouble } = store
      ? await store.keep(name, read)
      : { ...(await read(null)), stored: null, trouble: null };
    this.shown = null;
    if (stored) this.inMemory.delete(name);
    else {
      this.inMemory.set(name, table);
      post({ type: 'data-table', name, bytes: bytesOf(table) });
      if (trouble !== null)
        post({
          type: 'notice',
          message: `${name} is loaded, but not kept for the next visit, because ${
            (trouble as DOMException).name === 'QuotaExceededError'
              ? 'the disk space of this page is full. Delete old runs, models or data sets to make room'
              : `it could not be written (${messageOf(trouble)})`
          }.`,
        });
    }
    post({ type: 'dataset', report, choice, kept: stored !== null });
  }

  private async list(): Promise<void> {
    this.options.post({ type: 'data-sets', sets: (await this.options.store?.list()) ?? [] });
  }

  private async delete(name: string): Promise<void> {
    await this.options.store?.delete(name);
    this.inMemory.delete(name);
    this.origins.delete(name);
    if (this.shown?.name === name) this.shown = null;
    this.options.post({ type: 'data-deleted', name });
    await this.list();
  }

  private async rows(name: string, from: number, to: number): Promise<void> {
    if (this.shown?.name !== name) {
      const table = this.inMemory.get(name) ?? (await this.options.store?.open(name)) ?? null;
      if (!table) throw new UserError(`There is no data set ${name}. Drop its file again.`);
      this.shown = { name, table };
    }
    const { table } = this.shown;
    const first = Math.max(0, from);
    const last = Math.min(table.length, to, first + MOST_ROWS);
    const rows = Array.from({ length: Math.max(0, last - first) }, (_, i) => table.row(first + i));
    this.options.post({ type: 'data-rows', name, from: first, rows, total: table.length });
  }
}

/** A file that was read to its end and has no usable row. */
class Refused extends UserError {
  constructor(
    message: string,
    readonly report: DatasetReport,
  ) {
    super(message);
  }
}

/** All bytes of a table, in one piece that may be given away. */
export function bytesOf(table: TextTable): ArrayBuffer {
  const bytes = new Uint8Array(table.bytes);
  let at = 0;
  for (const chunk of table.chunks()) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes.buffer;
}
