/**
 * Models that are kept for later: files in parts, and a manifest that is written last, so that what was cut off in the
 * middle is never taken for a model. Where the parts lie is the caller's affair (OPFS in the page, a map in tests).
 */
import type { NamedBlob } from './blobs.ts';

/** A place for whole values by path. `write` replaces, and a reader sees the old value or the new one. */
export interface PartStore {
  read(path: string): Promise<Blob | null>;
  write(path: string, data: Blob | Uint8Array<ArrayBuffer>): Promise<void>;
  /** Removes a folder with all it holds; it need not be there. */
  remove(folder: string): Promise<void>;
  /** Names in the top folder. */
  list(): Promise<string[]>;
}

export interface KeptFile {
  path: string;
  size: number;
  /** Bytes of each part but the last. */
  partSize: number;
}

export interface Manifest {
  version: 1;
  id: string;
  /** As the person knows it: `owner/name`, or the name of the file that was dropped. */
  name: string;
  source: 'hub' | 'dropped';
  /** Commit of a model of the Hub. */
  revision: string | null;
  files: KeptFile[];
  bytes: number;
  /** Milliseconds since 1970. */
  saved: number;
}

export const PART_SIZE = 32 * 2 ** 20;

/** A folder name without anything that a file system treats specially. */
export const idOf = (name: string): string =>
  name.replace(/[^A-Za-z0-9._-]+/g, '--').replace(/^\.+/, '') || 'model';

export const partPath = (id: string, file: string, part: number): string => `${id}/${idOf(file)}.${part}`;
const manifestPath = (id: string) => `${id}/manifest.json`;

export const partCount = ({ size, partSize }: KeptFile): number => Math.max(1, Math.ceil(size / partSize));

export async function writeManifest(store: PartStore, manifest: Manifest): Promise<void> {
  await store.write(manifestPath(manifest.id), new TextEncoder().encode(JSON.stringify(manifest)));
}

/** @returns null if the model is not there, or not whole */
export async function readManifest(store: PartStore, id: string): Promise<Manifest | null> {
  const blob = await store.read(manifestPath(id));
  if (!blob) return null;
  try {
    const manifest = JSON.parse(await blob.text());
    return manifest?.version === 1 && Array.isArray(manifest.files) ? manifest : null;
  } catch {
    return null; // a manifest that is no JSON was cut off: the model is not whole
  }
}

/** The newest first. */
export async function listKept(store: PartStore): Promise<Manifest[]> {
  const found = await Promise.all((await store.list()).map((id) => readManifest(store, id)));
  return found.filter((one) => one !== null).sort((a, b) => b.saved - a.saved);
}

/** The files of a kept model, without reading them; null if a part is gone. */
export async function keptFiles(store: PartStore, manifest: Manifest): Promise<NamedBlob[] | null> {
  const files: NamedBlob[] = [];
  for (const file of manifest.files) {
    const parts: Blob[] = [];
    for (let part = 0; part < partCount(file); part++) {
      const blob = await store.read(partPath(manifest.id, file.path, part));
      if (!blob) return null;
      parts.push(blob);
    }
    const blob = new Blob(parts);
    if (blob.size !== file.size) return null;
    files.push({ path: file.path, blob });
  }
  return files;
}

/** Copies files into the store. The model under this id is replaced. */
export async function keepFiles(
  store: PartStore,
  about: Pick<Manifest, 'name' | 'source' | 'revision' | 'saved'> & { id: string },
  files: readonly NamedBlob[],
  options: { progress?(done: number, all: number): void; signal?: AbortSignal; partSize?: number } = {},
): Promise<Manifest> {
  const partSize = options.partSize ?? PART_SIZE;
  const all = files.reduce((sum, { blob }) => sum + blob.size, 0);
  let done = 0;
  await store.remove(about.id);
  const kept: KeptFile[] = [];
  for (const { path, blob } of files) {
    const file = { path, size: blob.size, partSize };
    for (let part = 0; part < partCount(file); part++) {
      options.signal?.throwIfAborted();
      const piece = blob.slice(part * partSize, (part + 1) * partSize);
      await store.write(partPath(about.id, path, part), piece);
      done += piece.size;
      options.progress?.(done, all);
    }
    kept.push(file);
  }
  const manifest: Manifest = { version: 1, ...about, files: kept, bytes: all };
  await writeManifest(store, manifest);
  return manifest;
}
