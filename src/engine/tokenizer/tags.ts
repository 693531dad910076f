/** The six tags of Parallel-R1 (section 3.1), each one token. */
export const TAGS = ['<Parallel>', '</Parallel>', '<Path>', '</Path>', '<Summary>', '</Summary>'] as const;
export type Tag = (typeof TAGS)[number];

/** Ids of the tags and of the special tokens in a vocabulary. */
export interface SpecialIds {
  /** −1 when the vocabulary has no padding token. */
  pad: number;
  /** −1 when the vocabulary has no beginning-of-text token. */
  bos: number;
  eos: number;
  parallel: number;
  parallelEnd: number;
  path: number;
  pathEnd: number;
  summary: number;
  summaryEnd: number;
  /** Tokens injected between </Parallel> and <Summary> (the paper has a newline there; the small tasks nothing). */
  beforeSummary: readonly number[];
}

/** The ids of the six tags, or none in a vocabulary that lacks some. */
export function tagIds(ids: SpecialIds): number[] {
  const tags = [ids.parallel, ids.parallelEnd, ids.path, ids.pathEnd, ids.summary, ids.summaryEnd];
  return tags.every((id) => id >= 0) ? tags : [];
}
