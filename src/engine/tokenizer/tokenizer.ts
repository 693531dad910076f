import type { SpecialIds } from './tags.ts';

/** Text ↔ ids. Adds no special token by itself: the caller puts <bos> and <eos> where they belong. */
export interface Tokenizer {
  readonly vocabSize: number;
  readonly special: SpecialIds;
  encode(text: string): number[];
  /** Every token is shown, tags included; <bos>, <eos> and <pad> are left out. */
  decode(ids: ArrayLike<number>): string;
  /** Text of one token. */
  token(id: number): string;
  /** Id of a token that must exist as one piece, or −1. */
  id(token: string): number;
  /** The `tokenizer.json` document (and `tokenizer_config.json`) that a saved model folder carries. */
  readonly json: unknown;
  readonly configJson: unknown;
}
