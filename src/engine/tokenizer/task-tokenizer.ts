/** The small vocabulary of a built-in task, written as a real `tokenizer.json` (WordLevel), which transformers loads. */
import type { Task } from '../data/tasks/task.ts';
import { TAGS } from './tags.ts';

export interface TokenizerDocuments {
  json: unknown;
  configJson: unknown;
}

/** Every vocabulary of ours begins with these. */
export const SPECIAL_TOKENS = ['<pad>', '<bos>', '<eos>'] as const;

/** Fields that every added token has. */
export function addedToken(id: number, content: string, special: boolean) {
  return { id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special };
}

/** The `tokenizer_config.json` that goes with a vocabulary whose special tokens are <pad>, <bos> and <eos>. */
export function tokenizerConfig(added: readonly { id: number; content: string; special: boolean }[]) {
  return {
    tokenizer_class: 'PreTrainedTokenizerFast',
    added_tokens_decoder: Object.fromEntries(
      added.map(({ id, ...rest }) => [
        String(id),
        { ...rest, lstrip: false, normalized: false, rstrip: false, single_word: false },
      ]),
    ),
    bos_token: '<bos>',
    eos_token: '<eos>',
    pad_token: '<pad>',
    clean_up_tokenization_spaces: false,
    model_max_length: 1_000_000,
  };
}

/** A `tokenizer.json` without normaliser and post-processor, in the order of keys that the Rust library writes. */
export function tokenizerJson(
  added: readonly ReturnType<typeof addedToken>[],
  parts: { pre_tokenizer: object; decoder: object; model: object },
) {
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: added,
    normalizer: null,
    pre_tokenizer: parts.pre_tokenizer,
    post_processor: null,
    decoder: parts.decoder,
    model: parts.model,
  };
}

/** Ids: <pad>, <bos>, <eos>, the six tags, then the task's tokens in their order. */
export function taskTokenizerDocuments(task: Task): TokenizerDocuments {
  const words = [...SPECIAL_TOKENS, ...TAGS, ...task.vocabulary];
  // Tags are not "special" for transformers, so that decoding with skip_special_tokens still shows them.
  const added = [...SPECIAL_TOKENS, ...TAGS].map((word, id) =>
    addedToken(id, word, id < SPECIAL_TOKENS.length),
  );
  return {
    json: tokenizerJson(added, {
      pre_tokenizer: {
        type: 'Split',
        pattern: { Regex: task.splitPattern },
        behavior: 'Isolated',
        invert: false,
      },
      decoder: { type: 'Fuse' },
      model: {
        type: 'WordLevel',
        vocab: Object.fromEntries(words.map((word, id) => [word, id])),
        unk_token: '<pad>',
      },
    }),
    configJson: tokenizerConfig(added),
  };
}
