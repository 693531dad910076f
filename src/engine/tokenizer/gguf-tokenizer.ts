/**
 * The tokenizer that a GGUF file carries, written as `tokenizer.json` and `tokenizer_config.json`: `gpt2` (byte-level
 * BPE with merges) and `llama` (SentencePiece with scores). How text is split before BPE stands in the file only as a
 * name (`tokenizer.ggml.pre`); the patterns are those of llama.cpp (llama-vocab.cpp) and of the models' own documents.
 */
import { UserError } from '../../base/assert.ts';
import { namedTokens, type ScoredPiece, scoredTokenizerDocuments } from './scored-pieces.ts';
import { addedToken, type TokenizerDocuments } from './task-tokenizer.ts';

const WORDS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|";
const REST = '| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+';
const GPT2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)";

const split = (pattern: string) => ({
  type: 'Split',
  pattern: { Regex: pattern },
  behavior: 'Isolated',
  invert: false,
});
const bytes = (useRegex: boolean) => ({
  type: 'ByteLevel',
  add_prefix_space: false,
  trim_offsets: true,
  use_regex: useRegex,
});

interface Splitting {
  pre: readonly object[];
  normalizer?: object;
  /** A piece that is a token as it stands is not merged anew. */
  ignoreMerges?: boolean;
}

const gpt2: Splitting = { pre: [bytes(true)] };
const llama3: Splitting = {
  pre: [split(`${WORDS}\\p{N}{1,3}${REST}`), bytes(false)],
  ignoreMerges: true,
};
const qwen2: Splitting = {
  pre: [split(`${WORDS}\\p{N}${REST}`), bytes(false)],
  normalizer: { type: 'NFC' },
};
/** Each digit for itself, then as GPT-2. */
const digits: Splitting = { pre: [{ type: 'Digits', individual_digits: true }, bytes(true)] };
/** llama.cpp's own for files that name none. */
const unnamed: Splitting = {
  pre: [
    split('[\\p{P}\\$\\+<=>\\^~\\|]+'),
    split(GPT2),
    split('\\p{N}+'),
    split('[0-9][0-9][0-9]'),
    bytes(false),
  ],
};

const SPLITTINGS: Readonly<Record<string, Splitting>> = {
  default: unnamed,
  'gpt-2': gpt2,
  'phi-2': gpt2,
  mpt: gpt2,
  olmo: gpt2,
  'llama-bpe': llama3,
  'llama-v3': llama3,
  llama3: llama3,
  'smaug-bpe': llama3,
  qwen2: qwen2,
  'deepseek-r1-qwen': qwen2,
  smollm: digits,
  starcoder: digits,
  refact: digits,
  'command-r': digits,
  codeshell: digits,
  exaone: digits,
};

/** What of a splitting decides where text is cut: patterns, digits, GPT-2's own pattern, normaliser, merging. */
function splittingKey(pre: readonly unknown[], normalizer: unknown, ignoreMerges: unknown): string {
  const steps = pre.flatMap((step) => {
    const { type, pattern, use_regex, individual_digits, behavior, invert } = step as Record<string, unknown>;
    if (type === 'ByteLevel') return use_regex === false ? [] : ['gpt2'];
    return [JSON.stringify({ type, pattern, behavior, invert, individual_digits })];
  });
  return JSON.stringify([
    steps,
    (normalizer as { type?: string } | null)?.type ?? null,
    ignoreMerges === true,
  ]);
}

/**
 * The `tokenizer.ggml.pre` under which llama.cpp splits text as a byte-level `tokenizer.json` does.
 * @returns null if none of the known ones does
 */
export function splittingName(json: Record<string, unknown>): string | null {
  const step = json.pre_tokenizer as { type?: string; pretokenizers?: unknown[] } | null;
  const steps = step?.type === 'Sequence' ? (step.pretokenizers ?? []) : step ? [step] : [];
  const model = json.model as Record<string, unknown>;
  const key = splittingKey(steps, json.normalizer ?? null, model.ignore_merges);
  const found = Object.entries(SPLITTINGS).find(
    ([, { pre, normalizer, ignoreMerges }]) => splittingKey(pre, normalizer ?? null, ignoreMerges) === key,
  );
  return found?.[0] ?? null;
}

/** Numbers of `tokenizer.ggml.token_type`. */
const KINDS: Readonly<Record<number, ScoredPiece['kind']>> = {
  1: 'piece',
  2: 'unknown',
  3: 'control',
  4: 'user',
  5: 'piece',
  6: 'byte',
};

type Metadata = ReadonlyMap<string, unknown>;

function list<T>(metadata: Metadata, key: string, type: 'string' | 'number'): T[] | null {
  const value = metadata.get(`tokenizer.ggml.${key}`);
  if (value === undefined) return null;
  if (!Array.isArray(value) || !value.every((item) => typeof item === type))
    throw new UserError(`The GGUF file's "tokenizer.ggml.${key}" is no list of ${type}s.`);
  return value as T[];
}

/** @returns null for a file without a vocabulary. Throws a UserError for one of an unknown kind. */
export function ggufTokenizerDocuments(metadata: Metadata): TokenizerDocuments | null {
  const model = metadata.get('tokenizer.ggml.model');
  if (model === undefined || model === 'none' || model === 'no_vocab') return null;
  const tokens = list<string>(metadata, 'tokens', 'string');
  if (!tokens) throw new UserError('The GGUF file names a tokenizer, but has no "tokenizer.ggml.tokens".');
  const types = list<number>(metadata, 'token_type', 'number');
  const kinds = tokens.map((_, id) => KINDS[types?.[id] ?? 1] ?? 'piece');
  const id = (key: string): number => {
    const value = metadata.get(`tokenizer.ggml.${key}_token_id`);
    return typeof value === 'number' && tokens[value] !== undefined ? value : -1;
  };
  const unk = id('unknown');
  if (model === 'llama') {
    const scores = list<number>(metadata, 'scores', 'number');
    if (scores?.length !== tokens.length)
      throw new UserError(
        `The GGUF file has ${scores?.length ?? 0} scores for ${tokens.length} tokens: its tokenizer is not whole.`,
      );
    return scoredTokenizerDocuments({
      pieces: tokens.map((text, i) => ({ text, score: scores[i], kind: kinds[i] })),
      bos: id('bos'),
      eos: id('eos'),
      pad: id('padding'),
      unk: unk >= 0 ? unk : kinds.indexOf('unknown'),
      spacePrefix: metadata.get('tokenizer.ggml.add_space_prefix') !== false,
    });
  }
  if (model !== 'gpt2')
    throw new UserError(
      `The GGUF file's tokenizer is of the kind ${JSON.stringify(model)}; this page reads "gpt2" and "llama". Drop the model's tokenizer.json and tokenizer_config.json with it.`,
    );
  const merges = list<string>(metadata, 'merges', 'string');
  if (!merges)
    throw new UserError('The GGUF file has no "tokenizer.ggml.merges", which its tokenizer needs.');
  const broken = merges.find((merge) => merge.split(' ').length !== 2);
  if (broken !== undefined)
    throw new UserError(`The GGUF file's merge ${JSON.stringify(broken)} is not two pieces.`);
  const pre = metadata.get('tokenizer.ggml.pre') ?? 'default';
  const splitting = Object.hasOwn(SPLITTINGS, String(pre)) ? SPLITTINGS[String(pre)] : null;
  if (!splitting)
    throw new UserError(
      `The GGUF file splits text as ${JSON.stringify(pre)}, which this page does not know. Drop the model's tokenizer.json and tokenizer_config.json with it.`,
    );
  return {
    json: {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: tokens.flatMap((content, i) =>
        kinds[i] === 'piece' || kinds[i] === 'byte' ? [] : [addedToken(i, content, kinds[i] !== 'user')],
      ),
      normalizer: splitting.normalizer ?? null,
      pre_tokenizer: { type: 'Sequence', pretokenizers: splitting.pre },
      post_processor: null,
      decoder: bytes(false),
      model: {
        type: 'BPE',
        dropout: null,
        unk_token: tokens[unk] ?? null,
        continuing_subword_prefix: null,
        end_of_word_suffix: null,
        fuse_unk: false,
        byte_fallback: false,
        ignore_merges: splitting.ignoreMerges ?? false,
        vocab: Object.fromEntries(tokens.map((token, i) => [token, i])),
        merges: merges.map((merge) => merge.split(' ')),
      },
    },
    configJson: namedTokens({
      unk_token: tokens[unk] ?? null,
      bos_token: tokens[id('bos')] ?? null,
      eos_token: tokens[id('eos')] ?? null,
      pad_token: tokens[id('padding')] ?? null,
    }),
  };
}
