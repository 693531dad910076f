/**
 * A data set in memory as UTF-8 bytes, not strings: rows are appended one by one and decoded when they are asked for. Its
 * bytes are what lies on disk, so that a table can be written while it grows and read back as it is.
 *
 * One row: four lengths as 32-bit little-endian numbers (prompt, completion, answer, turns; 2³² − 1 for null), then the
 * texts in that order; turns as JSON. Rows follow each other without gaps.
 */
import { assert, UserError } from '../../base/assert.ts';
import type { DataRow, RowSource, Turn } from './rows.ts';

const FIELDS = 4;
const HEAD = 4 * FIELDS;
const NULL = 0xffffffff;
const BLOCK = 1 << 20;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** FNV-1a over bytes, as two lanes of 32 bits with different starts: to know the same data again, not against malice. */
export class ContentHash {
  private a = 0x811c9dc5;
  private b = 0x9747b28c;

  add(bytes: Uint8Array): void {
    let { a, b } = this;
    for (let i = 0; i < bytes.length; i++) {
      a = Math.imul(a ^ bytes[i], 0x01000193);
      b = Math.imul(b ^ bytes[i], 0x85ebca6b) ^ (b >>> 15);
    }
    this.a = a;
    this.b = b;
  }

  get hex(): string {
    return [this.a, this.b].map((lane) => (lane >>> 0).toString(16).padStart(8, '0')).join('');
  }
}

interface Place {
  block: Uint8Array;
  at: number;
}

export class TextTable implements RowSource {
  /** Bytes of all rows. */
  bytes = 0;
  private readonly blocks: Uint8Array[] = [];
  /** Block and offset of each row. */
  private blockOf = new Uint32Array(1024);
  private offsetOf = new Uint32Array(1024);
  private rows = 0;
  /** Bytes used in the last block. */
  private used = 0;
  private readonly hash = new ContentHash();

  constructor(readonly name: string) {}

  get length(): number {
    return this.rows;
  }

  get contentHash(): string {
    return this.hash.hex;
  }

  append({ prompt, completion, answer, turns }: DataRow): void {
    const texts = [prompt, completion, answer, turns && JSON.stringify(turns)];
    const fields = texts.map((text) => (text === null ? null : encoder.encode(text)));
    const size = HEAD + fields.reduce((sum, field) => sum + (field?.length ?? 0), 0);
    const { block, at } = this.room(size);
    const view = new DataView(block.buffer, block.byteOffset + at, size);
    let end = HEAD;
    fields.forEach((field, i) => {
      view.setUint32(4 * i, field ? field.length : NULL, true);
      if (!field) return;
      block.set(field, at + end);
      end += field.length;
    });
    this.hash.add(block.subarray(at, at + size));
  }

  /** A place for a row, which then counts as written. */
  private room(size: number): Place {
    let block = this.blocks[this.blocks.length - 1];
    if (!block || this.used + size > block.length) {
      // What is left of the block is given back: a table of long texts would waste half of it.
      if (block) this.blocks[this.blocks.length - 1] = block.slice(0, this.used);
      block = new Uint8Array(Math.max(BLOCK, size));
      this.blocks.push(block);
      this.used = 0;
    }
    const at = this.used;
    this.index(this.blocks.length - 1, at);
    this.used += size;
    this.bytes += size;
    return { block, at };
  }

  private index(block: number, offset: number): void {
    if (this.rows === this.blockOf.length) {
      const longer = (old: Uint32Array): Uint32Array<ArrayBuffer> => {
        const all = new Uint32Array(2 * old.length);
        all.set(old);
        return all;
      };
      this.blockOf = longer(this.blockOf);
      this.offsetOf = longer(this.offsetOf);
    }
    this.blockOf[this.rows] = block;
    this.offsetOf[this.rows] = offset;
    this.rows++;
  }

  row(index: number): DataRow {
    assert(index >= 0 && index < this.rows, `row ${index} of ${this.rows}`);
    const block = this.blocks[this.blockOf[index]];
    const at = this.offsetOf[index];
    const view = new DataView(block.buffer, block.byteOffset + at, HEAD);
    let start = at + HEAD;
    const [prompt, completion, answer, turns] = Array.from({ length: FIELDS }, (_, i) => {
      const length = view.getUint32(4 * i, true);
      if (length === NULL) return null;
      const text = decoder.decode(block.subarray(start, start + length));
      start += length;
      return text;
    });
    return {
      prompt: prompt ?? '',
      completion: completion ?? '',
      answer,
      turns: turns === null ? null : (JSON.parse(turns) as Turn[]),
    };
  }

  /** The bytes of the rows from a byte on, in order, without a copy: what a disk has not got yet. */
  *chunks(from = 0): Generator<Uint8Array> {
    let before = 0;
    for (const [i, block] of this.blocks.entries()) {
      const size = i === this.blocks.length - 1 ? this.used : block.length;
      if (before + size > from) yield block.subarray(Math.max(0, from - before), size);
      before += size;
    }
  }

  /** A table over bytes that `chunks` gave, without a copy. Throws a UserError where they are cut or no table. */
  static from(name: string, bytes: Uint8Array): TextTable {
    const table = new TextTable(name);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    table.blocks.push(bytes);
    let at = 0;
    while (at < bytes.length) {
      let end = at + HEAD;
      if (end <= bytes.length)
        for (let i = 0; i < FIELDS; i++) {
          const length = view.getUint32(at + 4 * i, true);
          if (length !== NULL) end += length;
        }
      if (end > bytes.length)
        throw new UserError(
          `The stored copy of ${name} is damaged at byte ${at} of ${bytes.length}. Drop the file again.`,
        );
      table.index(0, at);
      at = end;
    }
    table.used = at;
    table.bytes = at;
    table.hash.add(bytes);
    return table;
  }
}
