/** Files of a drop, those in folders too, with their paths. */
import type { NamedBlob } from '../../../worker/protocol.ts';

/** More is a mistake: a whole disk, say. */
const MOST_FILES = 2000;

type Entry = Pick<FileSystemEntry, 'isFile' | 'isDirectory' | 'fullPath' | 'name'>;

const fileOf = (entry: Entry): Promise<File> =>
  new Promise((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));

/** A folder gives its entries in lots, the last of which is empty. */
async function entriesOf(entry: Entry): Promise<Entry[]> {
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const all: Entry[] = [];
  for (;;) {
    const some = await new Promise<Entry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return all;
    all.push(...some);
  }
}

async function collect(entry: Entry, into: NamedBlob[]): Promise<void> {
  if (entry.name.startsWith('.')) return; // .git, .DS_Store
  if (entry.isDirectory) for (const inner of await entriesOf(entry)) await collect(inner, into);
  else {
    if (into.length === MOST_FILES)
      throw new Error(`there are more than ${MOST_FILES.toLocaleString('en')} files in it`);
    into.push({ path: entry.fullPath.replace(/^\//, ''), blob: await fileOf(entry) });
  }
}

export async function droppedFiles(transfer: DataTransfer | null): Promise<NamedBlob[]> {
  // Entries can be asked for only while the event is handled.
  const entries = [...(transfer?.items ?? [])].flatMap((item) => item.webkitGetAsEntry?.() ?? []);
  if (entries.length === 0)
    return [...(transfer?.files ?? [])].map((file) => ({ path: file.name, blob: file }));
  const files: NamedBlob[] = [];
  for (const entry of entries) await collect(entry, files);
  return files;
}
