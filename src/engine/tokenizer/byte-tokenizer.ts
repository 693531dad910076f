/** A vocabulary of the 256 bytes, written as a real `tokenizer.json` (byte-level BPE without merges): takes any text. */
import { TAGS } from './tags.ts';
import {
  addedToken,
  SPECIAL_TOKENS,
  type TokenizerDocuments,
  tokenizerConfig,
  tokenizerJson,
} from './task-tokenizer.ts';

/**
 * The printable characters that stand for the bytes in byte-level BPE (GPT-2): printable bytes for themselves, the
 * others by the code points from 256 on, in order.
 */
export function byteCharacters(): string[] {
  const printable = (byte: number) =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(printable(byte) ? byte : next++));
}

/** Ids: <pad>, <bos>, <eos>, the six tags, then the bytes in order: 265 in all. */
export function byteTokenizerDocuments(): TokenizerDocuments {
  const named = [...SPECIAL_TOKENS, ...TAGS];
  const words = [...named, ...byteCharacters()];
  const added = named.map((word, id) => addedToken(id, word, id < SPECIAL_TOKENS.length));
  return {
    json: tokenizerJson(added, {
      pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false },
      decoder: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false },
      model: {
        type: 'BPE',
        dropout: null,
        unk_token: null,
        continuing_subword_prefix: null,
        end_of_word_suffix: null,
        fuse_unk: false,
        byte_fallback: false,
        ignore_merges: false,
        vocab: Object.fromEntries(words.map((word, id) => [word, id])),
        merges: [],
      },
    }),
    configJson: tokenizerConfig(added),
  };
}
