/**
 * Reads `tokenizer.json` and `tokenizer_config.json` (Hugging Face), of our own vocabularies and of real models.
 *
 * The library underneath knows the models BPE, Unigram and WordPiece; a WordLevel vocabulary goes through its old path,
 * which takes the unknown token from the configuration instead of the document (see `innerTokenizer`).
 */
import { Tokenizer as HfTokenizer } from '@huggingface/tokenizers';
import { messageOf, UserError } from '../../base/assert.ts';
import { type SpecialIds, TAGS } from './tags.ts';
import type { Tokenizer } from './tokenizer.ts';

export interface LoadTokenizerOptions {
  /** Refuse a vocabulary in which one of the six tags is not a single token. Without it a missing tag has id −1. */
  requireTags?: boolean;
}

/** No vocabulary is near it; a larger id is damage. */
const MOST_TOKENS = 10_000_000;

interface AddedToken {
  id: number;
  content: string;
}

/** The parts of `tokenizer.json` that are looked at here. */
interface TokenizerDocument {
  model: { vocab: Record<string, number> | [string, number][]; unk_token?: string | null };
  added_tokens: AddedToken[];
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * @param json the parsed `tokenizer.json`
 * @param configJson the parsed `tokenizer_config.json`; it names the special tokens, as strings or as added tokens
 * @throws UserError if the documents are no tokenizer, name no end-of-text token, or lack a tag
 */
export function loadTokenizer(
  json: unknown,
  configJson: unknown,
  { requireTags = true }: LoadTokenizerOptions = {},
): Tokenizer {
  const config = isObject(configJson) ? configJson : {};
  const document = completed(json);
  const ids = idsOf(document);
  const names: string[] = [];
  for (const [token, id] of ids) names[id] = token;

  const id = (token: string): number => ids.get(token) ?? -1;
  const named = (key: string): number => {
    const content = contentOf(config[key]);
    return content === null ? -1 : id(content);
  };
  const special: SpecialIds = {
    pad: named('pad_token'),
    bos: named('bos_token'),
    eos: named('eos_token'),
    parallel: id('<Parallel>'),
    parallelEnd: id('</Parallel>'),
    path: id('<Path>'),
    pathEnd: id('</Path>'),
    summary: id('<Summary>'),
    summaryEnd: id('</Summary>'),
    beforeSummary: [],
  };
  if (special.eos < 0) throw new UserError(withoutEnd(contentOf(config.eos_token)));
  const missing = TAGS.filter((tag) => id(tag) < 0);
  if (requireTags && missing.length > 0)
    throw new UserError(
      `The tokenizer does not have ${missing.join(', ')} as single tokens, which parallel thinking needs. ` +
        "Drop the model's files on the page, or name it as a model of the Hub: both add them.",
    );

  const inner = innerTokenizer(document, config);
  special.beforeSummary = beforeSummary(inner, config);
  const hidden = new Set([special.pad, special.bos, special.eos]);
  return {
    vocabSize: names.length,
    special,
    // Rust leaves out what a vocabulary without an unknown token can't say; here it comes as undefined.
    encode: (text) =>
      inner.encode(text, { add_special_tokens: false }).ids.filter((one) => one !== undefined),
    decode: (list) => {
      // Embeddings may have more rows than the vocabulary has names; those stand for no text.
      const shown = Array.from(list).filter((one) => !hidden.has(one) && names[one] !== undefined);
      // The text as it was written: cleaning up would take the space out of "a , b".
      const options = { skip_special_tokens: false, clean_up_tokenization_spaces: false };
      return shown.length === 0 ? '' : inner.decode(shown, options);
    },
    token: (one) => names[one] ?? '',
    id,
    json,
    configJson,
  };
}

/** The document with everything that older files leave out; refuses what is no `tokenizer.json`. */
function completed(json: unknown): TokenizerDocument {
  if (!isObject(json) || !isObject(json.model) || typeof json.model.vocab !== 'object' || !json.model.vocab)
    throw new UserError(
      'This is not a tokenizer.json: it has no model.vocab. Take the tokenizer.json that lies beside the weights.',
    );
  const empty = { normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null };
  const added_tokens = Array.isArray(json.added_tokens) ? json.added_tokens : [];
  return { ...empty, ...json, added_tokens } as unknown as TokenizerDocument;
}

/** Text of a token that a configuration gives as a string or as `{content}`. */
function contentOf(value: unknown): string | null {
  if (typeof value === 'string') return value;
  return isObject(value) && typeof value.content === 'string' ? value.content : null;
}

/**
 * Token → id of a parsed `tokenizer.json`. A Unigram vocabulary is a list of [token, score] in id order.
 * @throws UserError if the document is no tokenizer
 */
export const tokenIds = (json: unknown): Map<string, number> => idsOf(completed(json));

function idsOf({ model, added_tokens }: TokenizerDocument): Map<string, number> {
  const { vocab } = model;
  const ids = new Map<string, number>();
  const put = (token: unknown, id: unknown) => {
    if (typeof token !== 'string' || !Number.isSafeInteger(id) || Number(id) < 0 || Number(id) >= MOST_TOKENS)
      throw new UserError(
        `The tokenizer.json is damaged: its token ${shown(token)} has the id ${shown(id)}. Take the file from its source again.`,
      );
    ids.set(token, Number(id));
  };
  if (Array.isArray(vocab)) for (const [id, entry] of vocab.entries()) put(entry?.[0], id);
  else for (const [token, id] of Object.entries(vocab)) put(token, id);
  for (const added of added_tokens) put(added?.content, added?.id);
  return ids;
}

const shown = (value: unknown): string => (JSON.stringify(value) ?? 'missing').slice(0, 60);

/** What `before_summary` says is injected between </Parallel> and <Summary>, if it is one token. */
function beforeSummary(inner: HfTokenizer, config: Record<string, unknown>): number[] {
  if (typeof config.before_summary !== 'string') return [];
  const { ids } = inner.encode(config.before_summary, { add_special_tokens: false });
  return ids.length === 1 && ids[0] !== undefined ? [ids[0]] : [];
}

function withoutEnd(content: string | null): string {
  const reason =
    content === null
      ? 'tokenizer_config.json names no "eos_token"'
      : `the eos_token "${content}" of tokenizer_config.json is not in tokenizer.json`;
  return `The tokenizer has no end-of-text token: ${reason}. Without one a response never ends; add it to tokenizer_config.json.`;
}

function innerTokenizer(document: TokenizerDocument, config: Record<string, unknown>): HfTokenizer {
  const unk_token = contentOf(config.unk_token) ?? document.model.unk_token ?? undefined;
  try {
    return new HfTokenizer(document, { ...config, unk_token });
  } catch (error) {
    throw new UserError(`This tokenizer.json can't be read: ${messageOf(error)}`);
  }
}
