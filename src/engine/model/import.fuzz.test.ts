/**
 * Damaged model files: whatever is changed or cut, reading ends soon, with a model or with a sentence for the person,
 * and a claimed size is refused before anything of that size is asked for.
 */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { UserError } from '../../base/assert.ts';
import type { NamedBlob } from './blobs.ts';
import { importModel } from './import.ts';
import { floatBytes, ggufBytes, llama2cBytes } from './import-fixtures.ts';

const RUNS = { numRuns: 300, seed: 42 };
const fixture = (file: string) =>
  new Uint8Array(readFileSync(new URL(`./fixtures/ckpt/llama/${file}`, import.meta.url)));

/** The outcome of an import of anything; fails on an error of ours. */
async function survives(files: readonly NamedBlob[]): Promise<'read' | 'refused'> {
  try {
    await importModel(files);
    return 'read';
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return 'refused';
  }
}

/** Cuts, changed bytes and inserted numbers that are large, negative or zero, most of them in the head. */
const damage = (size: number, head: number) =>
  fc.record({
    cut: fc.option(fc.nat(size), { freq: 2 }),
    bytes: fc.array(fc.tuple(fc.oneof(fc.nat(head), fc.nat(size - 1)), fc.nat(255)), { maxLength: 6 }),
    words: fc.array(
      fc.tuple(
        fc.nat(head),
        fc.constantFrom(0n, 1n, 255n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n),
      ),
      { maxLength: 2 },
    ),
  });

function damaged(
  source: Uint8Array<ArrayBuffer>,
  { cut, bytes, words }: { cut: number | null; bytes: [number, number][]; words: [number, bigint][] },
): Uint8Array<ArrayBuffer> {
  const copy = source.slice(0, cut ?? source.length);
  for (const [at, value] of bytes) if (at < copy.length) copy[at] = value;
  for (const [at, value] of words)
    if (at + 8 <= copy.length) new DataView(copy.buffer).setBigUint64(at, value, true);
  return copy;
}

async function fuzz(
  source: Uint8Array<ArrayBuffer>,
  head: number,
  wrap: (bytes: Uint8Array<ArrayBuffer>) => NamedBlob[],
) {
  expect(await survives(wrap(source))).toBe('read');
  const outcomes = { read: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(damage(source.length, head), async (harm) => {
      outcomes[await survives(wrap(damaged(source, harm)))]++;
    }),
    RUNS,
  );
  expect(outcomes.refused).toBeGreaterThan(50);
}

test('safetensors', () =>
  fuzz(fixture('model.safetensors'), 2000, (bytes) => [
    { path: 'config.json', blob: new Blob([fixture('config.json')]) },
    { path: 'model.safetensors', blob: new Blob([bytes]) },
  ]));

test('config.json', () =>
  fuzz(fixture('config.json'), 300, (bytes) => [
    { path: 'config.json', blob: new Blob([bytes]) },
    { path: 'model.safetensors', blob: new Blob([fixture('model.safetensors')]) },
  ]));

const ones = (...shape: number[]) => ({
  type: 0,
  shape,
  data: floatBytes(new Float32Array(shape.reduce((a, b) => a * b, 1)).fill(1)),
});
const GGUF = ggufBytes(
  {
    'general.architecture': 'qwen3',
    'qwen3.block_count': 1,
    'qwen3.embedding_length': 4,
    'qwen3.feed_forward_length': 6,
    'qwen3.attention.head_count': 2,
    'qwen3.attention.layer_norm_rms_epsilon': 1e-5,
    'tokenizer.ggml.model': 'gpt2',
    'tokenizer.ggml.pre': 'qwen2',
    'tokenizer.ggml.tokens': ['a', 'b', 'ab', '<end>'],
    'tokenizer.ggml.merges': ['a b'],
    'tokenizer.ggml.eos_token_id': 3,
  },
  {
    'token_embd.weight': ones(4, 4),
    'blk.0.attn_norm.weight': ones(4),
    'blk.0.attn_q.weight': ones(4, 4),
    'blk.0.attn_k.weight': ones(4, 4),
    'blk.0.attn_v.weight': ones(4, 4),
    'blk.0.attn_output.weight': ones(4, 4),
    'blk.0.attn_q_norm.weight': ones(2),
    'blk.0.attn_k_norm.weight': ones(2),
    'blk.0.ffn_norm.weight': ones(4),
    'blk.0.ffn_gate.weight': ones(6, 4),
    'blk.0.ffn_up.weight': ones(6, 4),
    'blk.0.ffn_down.weight': ones(4, 6),
    'output_norm.weight': ones(4),
  },
);

test('GGUF', () => fuzz(GGUF, GGUF.length - 1200, (bytes) => [{ path: 'm.gguf', blob: new Blob([bytes]) }]));

const FLOATS = 5 * 4 + 2 * (4 + 16 + 8 + 8 + 16 + 4 + 24 * 3) + 4 + 3 * 2;
test("llama2.c's .bin", () =>
  fuzz(
    llama2cBytes([4, 6, 2, 2, 1, 5, 3], FLOATS, (i) => i),
    40,
    (bytes) => [{ path: 'm.bin', blob: new Blob([bytes]) }],
  ));

test('any bytes under any of the names', () =>
  fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ maxLength: 300 }),
      fc.constantFrom('config.json', 'm.gguf', 'm.bin', 'model.safetensors', 'tokenizer.json'),
      fc.boolean(),
      async (bytes, path, magic) => {
        const head = magic ? [Uint8Array.of(0x47, 0x47, 0x55, 0x46, 3, 0, 0, 0)] : [];
        expect(await survives([{ path, blob: new Blob([...head, new Uint8Array(bytes)]) }])).toBe('refused');
      },
    ),
    RUNS,
  ));

test('a GGUF that claims 2^50 tensors, pairs or list entries is refused at once', async () => {
  const claims: [number, bigint][] = [
    [8, 2n ** 50n],
    [16, 2n ** 50n],
  ];
  const list = GGUF.findIndex(
    (_, i) => new TextDecoder().decode(GGUF.subarray(i, i + 21)) === 'tokenizer.ggml.tokens',
  );
  claims.push([list + 21 + 8, 2n ** 50n]); // behind the name: type, inner type, count
  for (const [at, value] of claims) {
    const copy = GGUF.slice();
    new DataView(copy.buffer).setBigUint64(at, value, true);
    const started = performance.now();
    expect(await survives([{ path: 'm.gguf', blob: new Blob([copy]) }])).toBe('refused');
    expect(performance.now() - started).toBeLessThan(1000);
  }
});
