/** A vocabulary of the characters of given texts, written as a real `tokenizer.json` (word level, one character a word). */
import { TAGS } from './tags.ts';
import {
  addedToken,
  SPECIAL_TOKENS,
  type TokenizerDocuments,
  tokenizerConfig,
  tokenizerJson,
} from './task-tokenizer.ts';

const UNKNOWN = '<unk>';
const TAG = new RegExp(TAGS.join('|'));

/** Ids: <pad>, <bos>, <eos>, the six tags, <unk>, then the characters (code points) in code point order. */
export function characterTokenizerDocuments(texts: Iterable<string>): TokenizerDocuments {
  const characters = new Set<string>();
  for (const text of texts) {
    // Tags are tokens of their own and need no characters. A lone surrogate can't be written in a JSON file.
    for (const stretch of text.toWellFormed().split(TAG))
      for (const character of stretch) characters.add(character);
  }
  const named = [...SPECIAL_TOKENS, ...TAGS, UNKNOWN];
  const sorted = [...characters].sort((a, b) => a.codePointAt(0)! - b.codePointAt(0)!);
  const words = [...named, ...sorted];
  const added = named.map((word, id) => addedToken(id, word, id < SPECIAL_TOKENS.length || word === UNKNOWN));
  return {
    json: tokenizerJson(added, {
      pre_tokenizer: { type: 'Split', pattern: { Regex: '[\\s\\S]' }, behavior: 'Isolated', invert: false },
      decoder: { type: 'Fuse' },
      model: {
        type: 'WordLevel',
        vocab: Object.fromEntries(words.map((word, id) => [word, id])),
        unk_token: UNKNOWN,
      },
    }),
    configJson: { ...tokenizerConfig(added), unk_token: UNKNOWN },
  };
}
