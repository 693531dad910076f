import { Tokenizer as HfTokenizer } from '@huggingface/tokenizers';
import { UserError } from '../../base/assert.ts';
import { type SpecialIds, TAGS } from './tags.ts';
import type { Tokenizer } from './tokenizer.ts';

export function loadTokenizer(json: unknown, configJson: unknown): Tokenizer {
  const inner = new HfTokenizer(json as object, (configJson ?? {}) as object);
  const doc = json as {
    model: { vocab: Record<string, number> };
    added_tokens: { id: number; content: string }[];
  };
  const ids = new Map<string, number>(Object.entries(doc.model.vocab));
  for (const { id, content } of doc.added_tokens) ids.set(content, id);
  const names: string[] = [];
  for (const [token, id] of ids) names[id] = token;
  const id = (token: string) => ids.get(token) ?? -1;
  const config = configJson as Record<string, unknown>;
  const named = (key: string) => {
    const value = config?.[key] as string | { content: string } | null | undefined;
    return value ? id(typeof value === 'string' ? value : value.content) : -1;
  };
  const missing = TAGS.filter((tag) => id(tag) < 0);
  if (missing.length > 0)
    throw new UserError(`The tokenizer lacks the tags ${missing.join(', ')} as single tokens.`);
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
  const hidden = new Set([special.pad, special.bos, special.eos]);
  return {
    vocabSize: names.length,
    special,
    encode: (text) => inner.encode(text, { add_special_tokens: false }).ids,
    decode: (list) => {
      const shown = Array.from(list).filter((one) => !hidden.has(one));
      return shown.length === 0 ? '' : inner.decode(shown, { skip_special_tokens: false });
    },
    token: (one) => names[one],
    id,
    json,
    configJson,
  };
}
