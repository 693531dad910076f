/** A folder of files, as far as the run store needs one: the browser's own (OPFS), or one in memory. */

export interface Directory {
  /** A folder within, made where there is none. */
  folder(name: string): Promise<Directory>;
  /** Names of what is within. */
  files(): Promise<string[]>;
  folders(): Promise<string[]>;
  /** With all that is in it; nothing where there is none. */
  remove(name: string): Promise<void>;
  /** Bytes of a file, or null where there is none. */
  read(name: string): Promise<Uint8Array<ArrayBuffer> | null>;
  /** Bytes from one place to another (exclusive). */
  readRange(name: string, from: number, to: number): Promise<Uint8Array<ArrayBuffer>>;
  size(name: string): Promise<number>;
  /** Replaces a file; what was there stays until the new one is whole. */
  write(name: string, bytes: Uint8Array): Promise<void>;
  /** Puts bytes at the end of a file, made where there is none. */
  append(name: string, bytes: Uint8Array): Promise<void>;
  /** Cuts a file to a size. */
  truncate(name: string, size: number): Promise<void>;
}

const isMissing = (error: unknown): boolean => (error as DOMException | null)?.name === 'NotFoundError';

/** OPFS, from a worker: sync access handles write in place and flush to the disk. */
export class OpfsDirectory implements Directory {
  constructor(private readonly handle: FileSystemDirectoryHandle) {}

  /** The root of this site's own file system, or null where the browser gives none (private windows of some). */
  static async root(): Promise<OpfsDirectory | null> {
    try {
      return new OpfsDirectory(await navigator.storage.getDirectory());
    } catch {
      return null;
    }
  }

  async folder(name: string): Promise<OpfsDirectory> {
    return new OpfsDirectory(await this.handle.getDirectoryHandle(name, { create: true }));
  }

  private async names(kind: FileSystemHandleKind): Promise<string[]> {
    const names: string[] = [];
    for await (const [name, handle] of this.handle.entries()) if (handle.kind === kind) names.push(name);
    return names.sort();
  }

  files(): Promise<string[]> {
    return this.names('file');
  }

  folders(): Promise<string[]> {
    return this.names('directory');
  }

  async remove(name: string): Promise<void> {
    await this.handle.removeEntry(name, { recursive: true }).catch((error) => {
      if (!isMissing(error)) throw error;
    });
  }

  private async file(name: string): Promise<File | null> {
    try {
      return await (await this.handle.getFileHandle(name)).getFile();
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  async read(name: string): Promise<Uint8Array<ArrayBuffer> | null> {
    const file = await this.file(name);
    return file && new Uint8Array(await file.arrayBuffer());
  }

  async readRange(name: string, from: number, to: number): Promise<Uint8Array<ArrayBuffer>> {
    const file = await this.file(name);
    return file ? new Uint8Array(await file.slice(from, to).arrayBuffer()) : new Uint8Array();
  }

  async size(name: string): Promise<number> {
    return (await this.file(name))?.size ?? 0;
  }

  private async open<T>(name: string, use: (access: FileSystemSyncAccessHandle) => T): Promise<T> {
    const access = await (await this.handle.getFileHandle(name, { create: true })).createSyncAccessHandle();
    try {
      const result = use(access);
      access.flush();
      return result;
    } finally {
      access.close();
    }
  }

  async write(name: string, bytes: Uint8Array): Promise<void> {
    // A handle writes in place: a crash in the middle would leave half of the old file and half of the new one. The new
    // one is written beside it and takes its name when it is whole.
    const beside = `${name}.new`;
    await this.open(beside, (access) => {
      access.truncate(0);
      writeAll(access, bytes, 0);
    });
    const handle = (await this.handle.getFileHandle(beside)) as FileSystemFileHandle & {
      move?(name: string): Promise<void>;
    };
    if (handle.move) await handle.move(name);
    else {
      await this.open(name, (access) => {
        access.truncate(0);
        writeAll(access, bytes, 0);
      });
      await this.remove(beside);
    }
  }

  append(name: string, bytes: Uint8Array): Promise<void> {
    return this.open(name, (access) => writeAll(access, bytes, access.getSize()));
  }

  truncate(name: string, size: number): Promise<void> {
    return this.open(name, (access) => access.truncate(Math.min(size, access.getSize())));
  }
}

/** A full disk writes less than it was given instead of throwing, in some browsers. */
function writeAll(access: FileSystemSyncAccessHandle, bytes: Uint8Array, at: number): void {
  const written = access.write(bytes as Uint8Array<ArrayBuffer>, { at });
  if (written < bytes.length) throw new DOMException('the disk took only a part', 'QuotaExceededError');
}
