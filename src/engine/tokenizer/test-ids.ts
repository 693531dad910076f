import type { SpecialIds } from './tags.ts';

/** Special ids for tests; 9 is the newline before <Summary>, everything from 10 on is a word. */
export const TEST_IDS: SpecialIds = {
  pad: 0,
  bos: 1,
  eos: 2,
  parallel: 3,
  parallelEnd: 4,
  path: 5,
  pathEnd: 6,
  summary: 7,
  summaryEnd: 8,
  beforeSummary: [9],
};
