/** Models kept in the page's private files (OPFS, folder `models/`), so that a reload finds them: list, open, delete. */
import { messageOf, UserError } from '../base/assert.ts';
import type { NamedBlob } from '../engine/model/blobs.ts';
import {
  keepFiles,
  keptFiles,
  listKept,
  type Manifest,
  type PartStore,
  readManifest,
} from '../engine/model/model-files.ts';

const FOLDER = 'models';

const isName = (error: unknown, name: string) => error instanceof DOMException && error.name === name;

/** Parts in a folder of OPFS. A file is replaced when its writer closes: until then readers see the old one. */
export class OpfsParts implements PartStore {
  constructor(private readonly root: FileSystemDirectoryHandle) {}

  private async folder(path: string, create: boolean): Promise<[FileSystemDirectoryHandle, string]> {
    const names = path.split('/');
    let folder = this.root;
    for (const name of names.slice(0, -1)) folder = await folder.getDirectoryHandle(name, { create });
    return [folder, names.at(-1)!];
  }

  async read(path: string): Promise<Blob | null> {
    try {
      const [folder, name] = await this.folder(path, false);
      return await (await folder.getFileHandle(name)).getFile();
    } catch (error) {
      if (isName(error, 'NotFoundError')) return null;
      throw error;
    }
  }

  async write(path: string, data: Blob | Uint8Array<ArrayBuffer>): Promise<void> {
    const [folder, name] = await this.folder(path, true);
    const handle = await folder.getFileHandle(name, { create: true });
    const writer = await handle.createWritable();
    try {
      await writer.write(data);
      await writer.close();
    } catch (error) {
      await writer.abort().catch(() => undefined);
      if (isName(error, 'QuotaExceededError'))
        throw new UserError(
          'The browser has no room left for the model. Delete models that you no longer need, or free some disk space, and try again.',
        );
      throw error;
    }
  }

  async remove(folder: string): Promise<void> {
    try {
      await this.root.removeEntry(folder, { recursive: true });
    } catch (error) {
      if (!isName(error, 'NotFoundError')) throw error;
    }
  }

  async list(): Promise<string[]> {
    const names: string[] = [];
    for await (const name of this.root.keys()) names.push(name);
    return names;
  }
}

/** What the page shows of a kept model. */
export interface KeptModel {
  id: string;
  name: string;
  source: 'hub' | 'dropped';
  revision: string | null;
  bytes: number;
  /** Milliseconds since 1970. */
  saved: number;
}

export class ModelStore {
  constructor(readonly parts: PartStore) {}

  /** @throws UserError where the browser keeps no private files (an old one, or a private window of some) */
  static async open(): Promise<ModelStore> {
    try {
      const root = await navigator.storage.getDirectory();
      return new ModelStore(new OpfsParts(await root.getDirectoryHandle(FOLDER, { create: true })));
    } catch (error) {
      throw new UserError(
        `This browser keeps no files for the page (${messageOf(error)}), so the model can't be kept. Use a normal window of a current browser.`,
      );
    }
  }

  async list(): Promise<KeptModel[]> {
    return (await listKept(this.parts)).map(({ id, name, source, revision, bytes, saved }) => ({
      id,
      name,
      source,
      revision,
      bytes,
      saved,
    }));
  }

  /** The model's files, read only as far as they are used. */
  async files(id: string): Promise<{ manifest: Manifest; files: NamedBlob[] }> {
    const manifest = await readManifest(this.parts, id);
    const files = manifest && (await keptFiles(this.parts, manifest));
    if (!files)
      throw new UserError(
        `The kept model "${id}" is no longer whole: the browser has removed files of it. Delete it and load it again.`,
      );
    return { manifest, files };
  }

  async delete(id: string): Promise<void> {
    if (!id || /[/\\]/.test(id) || id.startsWith('.')) throw new UserError(`"${id}" is no kept model.`);
    await this.parts.remove(id);
  }

  /** Replaces the model of this name that was dropped before. */
  keepDropped(
    name: string,
    files: readonly NamedBlob[],
    options: Parameters<typeof keepFiles>[3] = {},
  ): Promise<Manifest> {
    const id = `dropped--${name.replace(/[^A-Za-z0-9._-]+/g, '-')}`;
    const about = { id, name, source: 'dropped', revision: null, saved: Date.now() } as const;
    return keepFiles(this.parts, about, files, options);
  }

  /** The model that was dropped last, or null. */
  async lastDropped(): Promise<KeptModel | null> {
    return (await this.list()).find(({ source }) => source === 'dropped') ?? null;
  }
}
