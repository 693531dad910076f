/** The engine's hold on data sets: those that a recipe names, from the disk or from memory, and which ones a run used. */
import { UserError } from '../../base/assert.ts';
import { JoinedRows } from '../../engine/data/rows.ts';
import { TextTable } from '../../engine/data/table.ts';
import type { Recipe } from '../../engine/train/recipe.ts';
import { ALL_DATA, type DroppedData } from '../../engine/train/stage-data.ts';
import type { DataUse } from '../run-store/run-store.ts';
import type { DataStore } from './data-store.ts';

export class DataShelf {
  /** Data sets that are not on disk. */
  private readonly inMemory = new Map<string, TextTable>();

  /** @param openStore null where the browser gives no disk */
  constructor(private readonly openStore: () => Promise<DataStore | null>) {}

  put(name: string, bytes: ArrayBuffer): void {
    this.inMemory.set(name, TextTable.from(name, new Uint8Array(bytes)));
  }

  delete(name: string): void {
    this.inMemory.delete(name);
  }

  /** The newest last. */
  private async names(store: DataStore | null): Promise<string[]> {
    const stored = (await store?.list()) ?? [];
    return [...new Set([...stored.map(({ name }) => name), ...this.inMemory.keys()])];
  }

  /**
   * Opens what the stages of a recipe train on; a name that is not there is left out, and its stage says so.
   * @param used what the run had before, which must be the same now; null for a new run
   */
  async open(
    recipe: Recipe,
    used: readonly DataUse[] | null,
  ): Promise<{ dropped: DroppedData; uses: DataUse[] }> {
    const wanted = new Set(
      recipe.stages.flatMap(({ data }) => ('source' in data && data.source === 'dropped' ? [data.name] : [])),
    );
    if (wanted.size === 0) return { dropped: new Map(), uses: [] };
    const store = await this.openStore();
    const all = wanted.has(ALL_DATA) ? (used?.map(({ name }) => name) ?? (await this.names(store))) : [];
    const dropped = new Map<string, TextTable | JoinedRows>();
    const uses: DataUse[] = [];
    for (const name of new Set([...all, ...wanted])) {
      if (name === ALL_DATA) continue;
      const table = this.inMemory.get(name) ?? (await store?.open(name)) ?? null;
      checkSame(name, table, used);
      if (!table) continue;
      dropped.set(name, table);
      uses.push({ name, hash: table.contentHash });
    }
    if (wanted.has(ALL_DATA)) {
      const parts = all.flatMap((name) => dropped.get(name) ?? []);
      const joined = new JoinedRows(ALL_DATA, parts);
      for (const name of all) if (!wanted.has(name)) dropped.delete(name);
      dropped.set(ALL_DATA, joined);
    }
    return { dropped, uses };
  }
}

/** A run that goes on must see the rows that it would have seen. */
function checkSame(name: string, table: TextTable | null, used: readonly DataUse[] | null): void {
  const before = used?.find((use) => use.name === name);
  if (!before || table?.contentHash === before.hash) return;
  throw new UserError(
    table
      ? `The run was trained on another ${name} than the one that is loaded now, so it can't go on exactly. Drop the file that it had, or start a new run.`
      : `The run trains on ${name}, which is not here any more. Drop that file again, then go on.`,
  );
}
