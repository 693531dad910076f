/**
 * A `tokenizer.json` as the vocabulary of a GGUF file, the way back of `gguf-tokenizer.ts`. llama.cpp has no WordLevel,
 * but it cuts text at user-defined tokens before all else, the longest first: a vocabulary of words is such a list.
 */
import { splittingName } from '../../tokenizer/gguf-tokenizer.ts';
import type { SavedTokenizer } from '../checkpoint.ts';
import type { GgufField } from './gguf-file.ts';

/** Numbers of `tokenizer.ggml.token_type`. */
const KIND = { piece: 1, unknown: 2, control: 3, user: 4, unused: 5, byte: 6 } as const;

interface TokenizerJson {
  added_tokens?: { id: number; content: string; special?: boolean }[];
  normalizer?: { type?: string; normalizers?: { type?: string }[] } | null;
  pre_tokenizer?: { type?: string; prepend_scheme?: string; pretokenizers?: { type?: string }[] } | null;
  decoder?: { type?: string } | null;
  model: {
    type?: string;
    vocab: Record<string, number>;
    merges?: (string | [string, string])[];
    unk_token?: string | null;
    byte_fallback?: boolean;
  };
}

interface Vocabulary {
  /** Null where GGUF has no kind of tokenizer for it. */
  fields: [string, GgufField][] | null;
  note: string | null;
}

const LEFT_OUT =
  'The GGUF file carries no tokenizer, because llama.cpp has none of its kind; tokenizer.json lies beside it. Keep them together.';

/** @param V rows of the embedding; rows without a token get names that no text has */
export function ggufVocabulary({ json, configJson, special }: SavedTokenizer, V: number): Vocabulary {
  const document = json as TokenizerJson;
  const { model } = document;
  const tokens = Array.from({ length: V }, (_, id) => `[PAD${id}]`);
  const kinds: number[] = new Array(V).fill(KIND.unused);
  if (Array.isArray(model.vocab)) return { fields: null, note: LEFT_OUT };
  const words = model.type === 'WordLevel';
  for (const [token, id] of Object.entries(model.vocab)) {
    tokens[id] = token;
    const byte = model.byte_fallback && /^<0x[0-9A-F]{2}>$/.test(token);
    kinds[id] = words ? KIND.user : byte ? KIND.byte : KIND.piece;
  }
  for (const { id, content, special: control } of document.added_tokens ?? []) {
    tokens[id] = content;
    kinds[id] = control ? KIND.control : KIND.user;
  }
  // Every word is one already; for bytes the unknown token is a control token like others.
  if (model.byte_fallback && model.unk_token != null && Object.hasOwn(model.vocab, model.unk_token))
    kinds[model.vocab[model.unk_token]] = KIND.unknown;
  const kind = words
    ? wordFields()
    : model.type === 'BPE' && document.decoder?.type === 'ByteLevel'
      ? byteLevelFields(document)
      : model.type === 'BPE' && model.byte_fallback
        ? scoredFields(document, tokens)
        : null;
  if (!kind) return { fields: null, note: LEFT_OUT };
  const ids = {
    bos: special.bos,
    eos: special.eos,
    padding: special.pad,
    unknown: kinds.indexOf(KIND.unknown),
  };
  return {
    fields: [
      ...kind,
      ['tokenizer.ggml.tokens', { type: 'strings', value: tokens }],
      ['tokenizer.ggml.token_type', { type: 'i32s', value: kinds }],
      ...Object.entries(ids)
        .filter(([, id]) => id >= 0)
        .map(([name, id]): [string, GgufField] => [
          `tokenizer.ggml.${name}_token_id`,
          { type: 'u32', value: id },
        ]),
      ['tokenizer.ggml.add_bos_token', { type: 'bool', value: addsBos(configJson, special.bos) }],
      ['tokenizer.ggml.add_eos_token', { type: 'bool', value: false }],
    ],
    note: words
      ? 'In llama.cpp text is cut into the longest words of the vocabulary; what the vocabulary does not have may be cut differently than here.'
      : null,
  };
}

/** Training and rollouts begin a text with <bos> where there is one, unless the model's own documents say no. */
function addsBos(configJson: unknown, bos: number): boolean {
  const said = (configJson as Record<string, unknown> | null)?.add_bos_token;
  return bos >= 0 && said !== false;
}

const string = (value: string): GgufField => ({ type: 'string', value });
const pairOf = (merge: string | [string, string]): string[] =>
  typeof merge === 'string' ? merge.split(' ') : merge;

const wordFields = (): [string, GgufField][] => [
  ['tokenizer.ggml.model', string('gpt2')],
  ['tokenizer.ggml.pre', string('gpt-2')],
  ['tokenizer.ggml.merges', { type: 'strings', value: [] }],
];

function byteLevelFields(document: TokenizerJson): [string, GgufField][] | null {
  const merges = (document.model.merges ?? []).map((merge) => pairOf(merge).join(' '));
  // Where nothing is merged it does not matter how text is split.
  const pre = merges.length === 0 ? 'gpt-2' : splittingName(document as unknown as Record<string, unknown>);
  if (pre === null) return null;
  return [
    ['tokenizer.ggml.model', string('gpt2')],
    ['tokenizer.ggml.pre', string(pre)],
    ['tokenizer.ggml.merges', { type: 'strings', value: merges }],
  ];
}

/** Scores that put the pieces in the order in which the merges first make them; what no merge makes comes last. */
function scoredFields(document: TokenizerJson, tokens: readonly string[]): [string, GgufField][] {
  const rank = new Map<string, number>();
  for (const merge of document.model.merges ?? []) {
    const piece = pairOf(merge).join('');
    if (!rank.has(piece)) rank.set(piece, rank.size);
  }
  const { normalizer, pre_tokenizer: pre } = document;
  const prepends =
    [normalizer, ...(normalizer?.normalizers ?? [])].some((step) => step?.type === 'Prepend') ||
    (pre?.type === 'Metaspace' && pre.prepend_scheme !== 'never');
  return [
    ['tokenizer.ggml.model', string('llama')],
    ['tokenizer.ggml.pre', string('default')],
    [
      'tokenizer.ggml.scores',
      { type: 'f32s', value: tokens.map((token) => -(rank.get(token) ?? rank.size)) },
    ],
    ['tokenizer.ggml.add_space_prefix', { type: 'bool', value: prepends }],
  ];
}
