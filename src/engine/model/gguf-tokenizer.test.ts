/** Tokenizers out of GGUF metadata. Here and not beside gguf-tokenizer.ts, because the vectors lie in a GGUF file. */
import { existsSync, openAsBlob, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, type TestContext, test } from 'vitest';
import { byteCharacters } from '../tokenizer/byte-tokenizer.ts';
import { ggufTokenizerDocuments } from '../tokenizer/gguf-tokenizer.ts';
import { loadTokenizer } from '../tokenizer/hf-tokenizer.ts';
import { readGguf } from './gguf.ts';

/** The folder `shared` lies beside the repository, here and in CI. */
const SHARED = fileURLToPath(new URL('../../../../shared/data/tokenizers/', import.meta.url));

function need(name: string, context: TestContext): string {
  const path = SHARED + name;
  if (!existsSync(path)) {
    if (process.env.CI) throw new Error(`CI must have ${path}`);
    console.warn(`SKIPPED: this tokenizer test needs ${path}`);
    context.skip();
  }
  return path;
}

describe("Phi-3's vocabulary, scores to merges", () => {
  const documents = async (context: TestContext) => {
    const path = need('ggml-vocab-phi-3.gguf', context);
    return ggufTokenizerDocuments((await readGguf({ path, blob: await openAsBlob(path) })).metadata)!;
  };

  test('the merges are those of its own tokenizer.json, one by one', async (context) => {
    const { json } = (await documents(context)) as { json: { model: { merges: string[][] } } };
    const own = JSON.parse(readFileSync(need('phi-3-mini.tokenizer.json', context), 'utf8'));
    expect(json.model.merges.length).toBeGreaterThan(60_000);
    expect(json.model.merges.map((pair) => pair.join(' '))).toEqual(own.model.merges);
  });

  test("llama.cpp's vectors", async (context) => {
    const { json, configJson } = await documents(context);
    const tokenizer = loadTokenizer(json, configJson, { requireTags: false });
    const path = need('ggml-vocab-phi-3.gguf.inp', context);
    const texts = readFileSync(path, 'utf8').split('\n__ggml_vocab_test__\n');
    const lines = readFileSync(path.replace(/inp$/, 'out'), 'utf8').split('\n');
    expect(texts.length).toBe(47);
    texts.forEach((text, i) => {
      expect(tokenizer.encode(text).join(' '), JSON.stringify(text)).toBe(lines[i].trim());
    });
    for (const text of texts.filter((one) => one.trim() === one))
      expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
  });
});

/** A byte-level vocabulary that merges nothing: what encode gives are the bytes, so its splitting shows in merges. */
function byteVocabulary(pre: string | null, merges: string[]) {
  const pieces = merges.map((merge) => merge.replace(' ', ''));
  const tokens = [...byteCharacters(), ...pieces, '<|end|>'];
  const metadata = new Map<string, unknown>([
    ['tokenizer.ggml.model', 'gpt2'],
    ['tokenizer.ggml.tokens', tokens],
    ['tokenizer.ggml.token_type', tokens.map((token) => (token === '<|end|>' ? 3 : 1))],
    ['tokenizer.ggml.merges', merges],
    ['tokenizer.ggml.eos_token_id', tokens.length - 1],
  ]);
  if (pre) metadata.set('tokenizer.ggml.pre', pre);
  const { json, configJson } = ggufTokenizerDocuments(metadata)!;
  const tokenizer = loadTokenizer(json, configJson, { requireTags: false });
  return (text: string) => tokenizer.encode(text).map((id) => tokenizer.token(id));
}

describe('how text is split before merging', () => {
  const digits = ['1 2', '12 3', '123 4'];
  test.each([
    ['gpt-2', ['1234', '5']],
    ['llama-bpe', ['123', '4', '5']],
    ['qwen2', ['1', '2', '3', '4', '5']],
    ['smollm', ['1', '2', '3', '4', '5']],
    [null, ['123', '4', '5']],
  ])('%s: digits', (pre, expected) => {
    expect(byteVocabulary(pre, digits)('12345')).toEqual(expected);
  });

  test('llama-bpe takes one sign with the word behind it, gpt-2 only a space', () => {
    const merges = ['( a', 'Ġ a'];
    expect(byteVocabulary('llama-bpe', merges)('(a a')).toEqual(['(a', 'Ġa']);
    expect(byteVocabulary('gpt-2', merges)('(a a')).toEqual(['(', 'a', 'Ġa']);
  });

  test('a control token in the text is one token', () => {
    expect(byteVocabulary('qwen2', [])('a<|end|>b')).toEqual(['a', '<|end|>', 'b']);
  });

  test('qwen2 composes letters (NFC)', () => {
    expect(byteVocabulary('qwen2', [])('e\u0301')).toEqual(byteVocabulary('qwen2', [])('é'));
    expect(byteVocabulary('gpt-2', [])('e\u0301')).not.toEqual(byteVocabulary('gpt-2', [])('é'));
  });
});
