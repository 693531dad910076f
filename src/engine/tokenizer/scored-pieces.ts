/**
 * SentencePiece vocabularies with scores (Llama's, as GGUF and llama2.c store them), written as a real `tokenizer.json`:
 * BPE with byte fallback, whose merges are those that lead to a piece, the best score first. The way of transformers'
 * `generate_merges`, with ties in the order of ids.
 */
import { addedToken, type TokenizerDocuments } from './task-tokenizer.ts';

export interface ScoredPiece {
  text: string;
  score: number;
  /** An ordinary piece may come of a merge; control tokens, bytes and the unknown token never do. */
  kind: 'piece' | 'control' | 'user' | 'byte' | 'unknown';
}

/** Pieces longer than this are split at no merge: the search is quadratic in it. */
const MAX_PIECE = 256;

export function scoredMerges(pieces: readonly ScoredPiece[]): [string, string][] {
  const ids = new Map(pieces.map(({ text }, id) => [text, id]));
  const merges: { left: string; right: string; score: number; leftId: number; rightId: number }[] = [];
  for (const { text, score, kind } of pieces) {
    if (kind !== 'piece' && kind !== 'user') continue;
    const letters = Array.from(text);
    if (letters.length > MAX_PIECE) continue;
    let left = '';
    const own: typeof merges = [];
    for (let i = 0; i + 1 < letters.length; i++) {
      left += letters[i];
      const right = text.slice(left.length);
      const [leftId, rightId] = [ids.get(left), ids.get(right)];
      if (leftId !== undefined && rightId !== undefined) own.push({ left, right, score, leftId, rightId });
    }
    merges.push(...own.sort((a, b) => a.leftId - b.leftId || a.rightId - b.rightId));
  }
  // Stable: equal scores keep the order of ids.
  return merges.sort((a, b) => b.score - a.score).map(({ left, right }) => [left, right]);
}

/** What a scored vocabulary says about itself besides its pieces. */
export interface ScoredVocabulary {
  pieces: readonly ScoredPiece[];
  /** Ids, −1 for none. */
  bos: number;
  eos: number;
  unk: number;
  pad: number;
  /** Text begins as if after a space. */
  spacePrefix: boolean;
}

/** Spaces are written ▁ (U+2581) in the pieces. */
export function scoredTokenizerDocuments(vocabulary: ScoredVocabulary): TokenizerDocuments {
  const { pieces, spacePrefix } = vocabulary;
  const text = (id: number): string | null => pieces[id]?.text ?? null;
  const added = pieces.flatMap(({ kind, text: content }, id) =>
    kind === 'control' || kind === 'user' || kind === 'unknown'
      ? [addedToken(id, content, kind !== 'user')]
      : [],
  );
  const replace = { type: 'Replace', pattern: { String: ' ' }, content: '▁' };
  return {
    json: {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: added,
      normalizer: spacePrefix
        ? { type: 'Sequence', normalizers: [{ type: 'Prepend', prepend: '▁' }, replace] }
        : replace,
      pre_tokenizer: null,
      post_processor: null,
      decoder: {
        type: 'Sequence',
        decoders: [
          { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
          { type: 'ByteFallback' },
          { type: 'Fuse' },
          ...(spacePrefix ? [{ type: 'Strip', content: ' ', start: 1, stop: 0 }] : []),
        ],
      },
      model: {
        type: 'BPE',
        dropout: null,
        unk_token: text(vocabulary.unk),
        continuing_subword_prefix: null,
        end_of_word_suffix: null,
        fuse_unk: true,
        byte_fallback: true,
        ignore_merges: false,
        vocab: Object.fromEntries(pieces.map((piece, id) => [piece.text, id])),
        merges: scoredMerges(pieces),
      },
    },
    configJson: namedTokens({
      unk_token: text(vocabulary.unk),
      bos_token: text(vocabulary.bos),
      eos_token: text(vocabulary.eos),
      pad_token: text(vocabulary.pad),
    }),
  };
}

/** A `tokenizer_config.json` for documents that were made from another format. */
export function namedTokens(tokens: Record<string, string | null>): Record<string, unknown> {
  return {
    tokenizer_class: 'PreTrainedTokenizerFast',
    ...Object.fromEntries(Object.entries(tokens).filter(([, content]) => content !== null)),
    clean_up_tokenization_spaces: false,
    model_max_length: 1_000_000,
  };
}
