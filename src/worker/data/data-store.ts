/**
 * Data sets on disk, so that a reload finds them and the engine's worker reads them without their passing the page.
 *
 *     data/<id>/rows.bin        a `TextTable`, written while it grows
 *               manifest.json   last: without it the folder is what a cut-off load left, and does not count
 *
 * A set that is loaded again under its name is written beside the old one, which goes when the new one is whole.
 */
import type { LoadedTable } from '../../engine/data/load-table.ts';
import type { DatasetReport } from '../../engine/data/report.ts';
import { TextTable } from '../../engine/data/table.ts';
import type { Directory } from '../run-store/directory.ts';

const ROWS = 'rows.bin';
const MANIFEST = 'manifest.json';
const VERSION = 1;
/** Bytes that are gathered before they are written: each write opens the file and flushes it. */
const WRITE_BYTES = 4 << 20;
/** Held by whoever writes, so that another tab does not take a half-written set for what a crash left. */
const LOCK = 'polypath-data';

/** What the list shows of a data set. */
export interface StoredData {
  id: string;
  /** Of its file; one set a name. */
  name: string;
  report: DatasetReport;
  /** Of its rows, to know the same data again. */
  hash: string;
  bytes: number;
  /** Milliseconds since 1970. */
  saved: number;
}

/** Writes a table while it grows. A disk that takes no more does not end the load: the table is whole in memory. */
export class TableWriter {
  private written = 0;
  /** Why the disk took no more, or null. */
  trouble: unknown = null;

  constructor(
    private readonly folder: Directory,
    /** Bytes that are worth a write. */
    private readonly gather = WRITE_BYTES,
  ) {}

  /** Writes what the disk has not got, once it is enough. */
  async follow(table: TextTable, all = false): Promise<void> {
    if (this.trouble !== null || (!all && table.bytes - this.written < this.gather)) return;
    try {
      for (const chunk of table.chunks(this.written)) {
        await this.folder.append(ROWS, chunk);
        this.written += chunk.length;
      }
    } catch (error) {
      this.trouble = error;
    }
  }
}

type Lock = <T>(use: () => Promise<T>) => Promise<T>;

const webLock: Lock = (use) => navigator.locks.request(LOCK, use) as ReturnType<typeof use>;

export class DataStore {
  constructor(
    private readonly root: Directory,
    private readonly lock: Lock = webLock,
  ) {}

  private get sets(): Promise<Directory> {
    return this.root.folder('data');
  }

  private async manifestOf(id: string): Promise<StoredData | null> {
    const bytes = await (await (await this.sets).folder(id)).read(MANIFEST);
    if (!bytes) return null;
    try {
      const { version, ...stored } = JSON.parse(new TextDecoder().decode(bytes));
      return version === VERSION ? { ...stored, id } : null;
    } catch {
      return null; // cut off while it was written: the set is not whole
    }
  }

  /** Oldest first. */
  async list(): Promise<StoredData[]> {
    const all = await Promise.all((await (await this.sets).folders()).map((id) => this.manifestOf(id)));
    return all.filter((one) => one !== null).sort((a, b) => a.saved - b.saved);
  }

  /** @returns null where there is no such set; throws a UserError where its bytes are damaged */
  async open(name: string): Promise<TextTable | null> {
    const stored = (await this.list()).findLast((one) => one.name === name);
    if (!stored) return null;
    const bytes = await (await (await this.sets).folder(stored.id)).read(ROWS);
    return TextTable.from(name, bytes ?? new Uint8Array());
  }

  /**
   * Keeps the table that `load` fills; what was there under its name stays until the new one is whole. Whatever `load`
   * throws leaves nothing behind, and neither does a disk that takes no more: `stored` is then null and `trouble` says why.
   */
  async keep(
    name: string,
    load: (writer: TableWriter) => Promise<LoadedTable>,
  ): Promise<LoadedTable & { stored: StoredData | null; trouble: unknown }> {
    return this.lock(async () => {
      const sets = await this.sets;
      const { earlier, newest } = await this.sweep(name);
      // Their order is the order of their rows where a run trains on all of them.
      const saved = Math.max(Date.now(), newest + 1);
      const id = `${saved.toString(36)}-${crypto.randomUUID().slice(0, 8)}`;
      let whole = false;
      try {
        const folder = await sets.folder(id);
        const writer = new TableWriter(folder);
        const { table, report } = await load(writer);
        await writer.follow(table, true);
        if (writer.trouble !== null) return { table, report, stored: null, trouble: writer.trouble };
        const stored = { id, name, report, hash: table.contentHash, bytes: table.bytes, saved };
        const manifest = new TextEncoder().encode(JSON.stringify({ version: VERSION, ...stored }));
        try {
          await folder.write(MANIFEST, manifest);
        } catch (trouble) {
          return { table, report, stored: null, trouble };
        }
        whole = true;
        for (const old of earlier) await sets.remove(old);
        return { table, report, stored, trouble: null };
      } finally {
        if (!whole) await sets.remove(id).catch(() => {});
      }
    });
  }

  /** Removes what crashes left; gives the folders of the sets of a name, and when the newest set was saved. */
  private async sweep(name: string): Promise<{ earlier: string[]; newest: number }> {
    const sets = await this.sets;
    const earlier: string[] = [];
    let newest = 0;
    for (const id of await sets.folders()) {
      const stored = await this.manifestOf(id);
      if (!stored) await sets.remove(id);
      else if (stored.name === name) earlier.push(id);
      newest = Math.max(newest, stored?.saved ?? 0);
    }
    return { earlier, newest };
  }

  delete(name: string): Promise<void> {
    return this.lock(async () => {
      const sets = await this.sets;
      for (const stored of await this.list()) if (stored.name === name) await sets.remove(stored.id);
    });
  }
}
