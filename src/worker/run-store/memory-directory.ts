/** A folder in memory: for browsers without OPFS (nothing survives a reload there), and for tests, which let it fail. */
import type { Directory } from './directory.ts';

/** Shared by all folders of one root. */
export interface Disk {
  /** Bytes that may still be written; a write that needs more writes what fits and then fails, as a full disk does. */
  room: number;
  /** Called before each change; throws to stop there, as a crash does. */
  before?(change: string): void;
}

export class MemoryDirectory implements Directory {
  private readonly contents = new Map<string, Uint8Array<ArrayBuffer>>();
  private readonly inner = new Map<string, MemoryDirectory>();

  constructor(
    readonly disk: Disk = { room: Number.POSITIVE_INFINITY },
    private readonly path = '',
  ) {}

  async folder(name: string): Promise<MemoryDirectory> {
    let folder = this.inner.get(name);
    if (!folder) {
      folder = new MemoryDirectory(this.disk, `${this.path}${name}/`);
      this.inner.set(name, folder);
    }
    return folder;
  }

  async files(): Promise<string[]> {
    return [...this.contents.keys()].sort();
  }

  async folders(): Promise<string[]> {
    return [...this.inner.keys()].sort();
  }

  async remove(name: string): Promise<void> {
    this.disk.before?.(`remove ${this.path}${name}`);
    this.disk.room += this.contents.get(name)?.length ?? 0;
    this.contents.delete(name);
    this.inner.delete(name);
  }

  async read(name: string): Promise<Uint8Array<ArrayBuffer> | null> {
    return this.contents.get(name)?.slice() ?? null;
  }

  async readRange(name: string, from: number, to: number): Promise<Uint8Array<ArrayBuffer>> {
    return this.contents.get(name)?.slice(from, to) ?? new Uint8Array();
  }

  async size(name: string): Promise<number> {
    return this.contents.get(name)?.length ?? 0;
  }

  async write(name: string, bytes: Uint8Array): Promise<void> {
    this.disk.before?.(`write ${this.path}${name}`);
    this.spend(bytes.length);
    this.disk.room += this.contents.get(name)?.length ?? 0;
    this.contents.set(name, bytes.slice());
  }

  async append(name: string, bytes: Uint8Array): Promise<void> {
    this.disk.before?.(`append ${this.path}${name}`);
    const old = this.contents.get(name) ?? new Uint8Array();
    const fits = Math.min(bytes.length, this.disk.room);
    const all = new Uint8Array(old.length + fits);
    all.set(old);
    all.set(bytes.subarray(0, fits), old.length);
    this.contents.set(name, all);
    this.spend(bytes.length);
  }

  async truncate(name: string, size: number): Promise<void> {
    this.disk.before?.(`truncate ${this.path}${name}`);
    const old = this.contents.get(name);
    if (old && old.length > size) this.contents.set(name, old.slice(0, size));
  }

  private spend(bytes: number): void {
    if (bytes > this.disk.room) {
      this.disk.room = 0;
      throw new DOMException('the disk is full', 'QuotaExceededError');
    }
    this.disk.room -= bytes;
  }
}
