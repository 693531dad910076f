import type { PartStore } from './model-files.ts';

/** A part store for tests and for browsers without private files. */
export class MemoryParts implements PartStore {
  readonly parts = new Map<string, Blob>();

  async read(path: string): Promise<Blob | null> {
    return this.parts.get(path) ?? null;
  }

  async write(path: string, data: Blob | Uint8Array<ArrayBuffer>): Promise<void> {
    this.parts.set(path, new Blob([data]));
  }

  async remove(folder: string): Promise<void> {
    for (const path of [...this.parts.keys()]) if (path.startsWith(`${folder}/`)) this.parts.delete(path);
  }

  async list(): Promise<string[]> {
    return [...new Set([...this.parts.keys()].map((path) => path.split('/')[0]))];
  }
}
