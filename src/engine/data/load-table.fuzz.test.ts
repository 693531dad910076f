/** Whatever bytes come: no hang, no crash, and rows in = rows kept + rows reported. */
import fc from 'fast-check';
import { gzipSync, strToU8, zipSync } from 'fflate';
import { expect, test } from 'vitest';
import { UserError } from '../../base/assert.ts';
import { dataFiles, loadTable, type Policy } from './load-table.ts';
import { blobSource } from './read/bytes.ts';
import { TextTable } from './table.ts';

const row = JSON.stringify({ question: 'a "b" é', answer: 'x\n#### 4' });
const FILES: readonly (readonly [string, Uint8Array])[] = [
  ['a.jsonl', strToU8(`${row}\n`.repeat(6))],
  ['a.json', strToU8(JSON.stringify(Array(6).fill(JSON.parse(row)), null, 1))],
  ['a.csv', strToU8(`question,answer\n${'"a, ""b""\nc",1\n'.repeat(6)}`)],
  ['a.txt', strToU8('one\ntwo\n\nthree\n')],
  ['a.jsonl.gz', gzipSync(strToU8(`${row}\n`.repeat(6)))],
  ['a.zip', zipSync({ 'a.jsonl': strToU8(`${row}\n`.repeat(6)), 'b.csv': strToU8('text\na\n') })],
];

async function read(name: string, bytes: Uint8Array, policy: Policy): Promise<void> {
  try {
    for await (const file of dataFiles(blobSource(name, new Blob([bytes as BlobPart])))) {
      const { report, table } = await loadTable(file, { policy, maxCharacters: 10_000 });
      expect(report.rows).toBe(report.kept + report.issueCount);
      expect(table.length).toBe(report.kept);
      const counted = Object.values(report.issuesByReason ?? {}).reduce((a, b) => a + b, 0);
      expect(counted).toBe(report.issueCount);
      for (let i = 0; i < table.length; i++) expect(table.row(i).prompt).toBeTypeOf('string');
    }
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
  }
}

const policy = fc.constantFrom<Policy>('skip', 'fix', 'abort');

test('files with bytes changed, cut out, put in and cut off', async () => {
  const change = fc.record({
    at: fc.nat(2000),
    kind: fc.constantFrom('set', 'insert', 'remove', 'cut'),
    byte: fc.oneof(fc.nat(255), fc.constantFrom(...strToU8('"\\{}[],\n\r;'))),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...FILES),
      fc.array(change, { maxLength: 6 }),
      policy,
      async ([name, bytes], changes, chosen) => {
        const changed = Array.from(bytes);
        for (const { at, kind, byte } of changes) {
          const i = at % (changed.length + 1);
          if (kind === 'set') changed[i] = byte;
          else if (kind === 'insert') changed.splice(i, 0, byte);
          else if (kind === 'remove') changed.splice(i, 1);
          else changed.length = i;
        }
        await read(name, Uint8Array.from(changed), chosen);
      },
    ),
    { numRuns: 400 },
  );
});

test('any text and any bytes under any name', async () => {
  const name = fc.constantFrom('a.jsonl', 'a.json', 'a.csv', 'a.tsv', 'a.txt', 'a', 'a.parquet');
  const piece = fc.oneof(
    fc.string(),
    fc.json(),
    fc.constant(row),
    fc.constantFrom('\r', '\n', '\r\n', '\u2029', '"', '{', '[', ',', "'", '\\', '{"text": "'),
  );
  await fc.assert(
    fc.asyncProperty(name, fc.array(piece), policy, (file, pieces, chosen) =>
      read(file, strToU8(pieces.join('')), chosen),
    ),
    { numRuns: 300 },
  );
  await fc.assert(
    fc.asyncProperty(name, fc.uint8Array({ maxLength: 300 }), (file, bytes) => read(file, bytes, 'skip')),
    { numRuns: 200 },
  );
});

test('rows come back from a table as they went in, from memory and from its bytes', () => {
  const text = fc.oneof(fc.string(), fc.string({ unit: 'grapheme' }));
  const turn = fc.record({
    role: fc.constantFrom('system' as const, 'user' as const, 'assistant' as const),
    content: text,
  });
  const rows = fc.array(
    fc.record({
      prompt: text,
      completion: text,
      answer: fc.option(text),
      turns: fc.option(fc.array(turn)),
    }),
  );
  fc.assert(
    fc.property(rows, fc.nat(), (list, cut) => {
      const table = new TextTable('t');
      for (const one of list) table.append(one);
      const bytes = Uint8Array.from([...table.chunks()].flatMap((chunk) => [...chunk]));
      expect(bytes).toHaveLength(table.bytes);
      const again = TextTable.from('t', bytes);
      expect(again.contentHash).toBe(table.contentHash);
      list.forEach((one, i) => {
        expect(table.row(i)).toEqual(one);
        expect(again.row(i)).toEqual(one);
      });
      // What is written first and what comes after are the whole.
      const some = cut % (bytes.length + 1);
      expect(Uint8Array.from([...table.chunks(some)].flatMap((chunk) => [...chunk]))).toEqual(
        bytes.subarray(some),
      );
      if (some > 0 && some < bytes.length) {
        try {
          expect(TextTable.from('t', bytes.subarray(0, some)).length).toBeLessThan(list.length);
        } catch (error) {
          expect(error).toBeInstanceOf(UserError);
        }
      }
    }),
  );
});

test('a table of many blocks', () => {
  const table = new TextTable('t');
  const long = 'x'.repeat(700_000);
  for (let i = 0; i < 9; i++)
    table.append({ prompt: `${i}`, completion: i % 2 ? long : 'short', answer: null, turns: null });
  for (let i = 0; i < 9; i++) expect(table.row(i).prompt).toBe(`${i}`);
  expect([...table.chunks()].reduce((sum, chunk) => sum + chunk.length, 0)).toBe(table.bytes);
});
