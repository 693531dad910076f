import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TEST_IDS } from '../tokenizer/test-ids.ts';
import { BROKEN, checkFormat, HOLLOW } from './format.ts';

const ids = TEST_IDS;
const WORDS: Record<string, number> = { P: 3, '/P': 4, '<': 5, '>': 6, S: 7, '/S': 8, n: 9, e: 2 };
/** "P < a > < b > /P n S c /S": letters are words, the rest tags. */
const tokens = (text: string) => text.split(' ').map((word) => WORDS[word] ?? word.charCodeAt(0));
const check = (text: string) => checkFormat(tokens(text), ids);

describe('valid', () => {
  test.each([
    ['a b e', 0],
    ['a P < a > < b > /P n S c /S d e', 1],
    ['P < a > < b > < c > /P n S d /S P < a > < b > /P n S c /S e', 2],
    // The tokens before <Summary> are optional
    ['P < a > < b > /P S c /S e', 1],
  ])('%s', (text, blocks) => {
    expect(check(text)).toEqual({ valid: true, blocks, validBlocks: blocks, faults: [], hacks: [] });
  });
});

test('the fewest paths of a block can be set', () => {
  const one = tokens('P < a > /P S c /S e');
  expect(checkFormat(one, ids, { minPaths: 1 })).toMatchObject({ valid: true, validBlocks: 1 });
  expect(checkFormat(tokens('P < a > < b > /P S c /S e'), ids, { minPaths: 3 })).toMatchObject({
    valid: false,
    validBlocks: 0,
    faults: ['block 1 has 2 path(s)'],
  });
});

const VALID = 'P < a > < b > /P n S c /S';

describe('each hole of the released checker (reference note, section 6) is refused, and has a name', () => {
  test.each([
    ['one path', 'P < a > /P n S c /S e', 'too_few_paths'],
    ['no path', 'P /P n S c /S e', 'too_few_paths'],
    ['an empty path', 'P < > < b > /P n S c /S e', 'empty_paths'],
    ['a path without content', 'P < n n > < b > /P n S c /S e', 'empty_paths'],
    ['no summary', 'P < a > < b > /P d e', 'missing_summary'],
    ['no summary at the end of the text', 'P < a > < b > /P', 'missing_summary'],
    ['no summary before the next block', 'P < a > < b > /P P < a > /P n S c /S e', 'missing_summary'],
    ['a summary far later', 'P < a > < b > /P x y S c /S e', 'late_summary'],
    ['a summary that is cut open', 'P < a > < b > /P n S c', 'unclosed_summary'],
    ['a summary that <eos> ends', 'P < a > < b > /P n S c e', 'unclosed_summary'],
    ['a path outside a block', '< a > e', 'path_outside_block'],
    ['a path in a summary', 'P < a > < b > /P n S < c > /S e', 'path_outside_block'],
    ['a nested block', 'P < a P < b > /P > < c > /P n S c /S e', 'nested_block'],
    ['a block right in a block', 'P P < a > < b > /P n S c /S e', 'nested_block'],
    ['a block in a summary', 'P < a > < b > /P n S P < a > < b > /P c /S e', 'block_in_summary'],
    ['a block that is cut open', 'P < a > < b', 'unclosed_block'],
    ['a block that is never closed', 'P < a > < b > c d e', 'unclosed_block'],
    ['a <Path> in a path', 'P < a < b > < c > /P n S c /S e', 'stray_tags'],
    ['a stray closing tag', 'a /P e', 'stray_tags'],
    ['a stray summary', 'a S b /S e', 'stray_tags'],
  ])('%s', (_, text, hack) => {
    const report = check(text);
    expect(report.valid).toBe(false);
    expect(report.faults.length).toBeGreaterThan(0);
    expect(report.validBlocks).toBe(0);
    expect(report.hacks).toContain(hack);
  });

  test('20 blocks one after the other', () => {
    const report = check(`${Array(20).fill(VALID).join(' ')} e`);
    expect(report).toMatchObject({ valid: false, blocks: 20, validBlocks: 8 });
    expect(report.hacks.sort()).toEqual(['repeated_blocks', 'too_many_blocks']);
    expect(checkFormat(tokens(Array(20).fill(VALID).join(' ')), ids, { maxBlocks: 20 }).valid).toBe(true);
  });

  test('a late summary is late, not missing, and its own tags are no second fault', () => {
    const { hacks, faults } = check('P < a > < b > /P x S c /S e');
    expect([hacks, faults]).toEqual([['late_summary'], ['block 1 has no <Summary> right after </Parallel>']]);
  });

  test('one good and one bad block: the text is not valid, the good block counts', () => {
    const report = check(`${VALID} P < a > /P n S c /S e`);
    expect(report).toMatchObject({ valid: false, blocks: 2, validBlocks: 1 });
  });
});

describe('well-formed but hollow: valid, unless it is refused', () => {
  test.each([
    ['identical paths', 'P < a b > < a b > /P n S c /S e', 'identical_paths', 0],
    ['paths that differ in spaces', 'P < a n b > < a b > /P n S c /S e', 'identical_paths', 0],
    ['two of three', 'P < a > < b > < a > /P n S c /S e', 'identical_paths', 0],
    ['the same block again', `${VALID} d ${VALID} e`, 'repeated_blocks', 1],
    ['its paths in another order', `${VALID} P < b > < a > /P n S c /S e`, 'repeated_blocks', 1],
    ['a summary that is a path', 'P < a > < b c > /P n S b c /S e', 'copied_summary', 0],
    ['an empty summary', 'P < a > < b > /P n S /S e', 'empty_summary', 0],
    ['a summary of spaces', 'P < a > < b > /P n S n /S e', 'empty_summary', 0],
  ] as const)('%s', (_, text, hack, left) => {
    const lax = check(text);
    expect(lax).toMatchObject({ valid: true, hacks: [hack], faults: [] });
    expect(lax.validBlocks).toBe(lax.blocks);
    const strict = checkFormat(tokens(text), ids, { refuse: HOLLOW });
    expect(strict).toMatchObject({ valid: false, validBlocks: left, hacks: [hack] });
  });

  test.each([
    ['paths that share words', 'P < a b > < b a > /P n S c /S e'],
    ['blocks that differ in a summary', `${VALID} P < a > < b > /P n S d /S e`],
    ['blocks that differ in a path', `${VALID} P < a > < d > /P n S c /S e`],
    ['a summary of both paths', 'P < a > < b > /P n S a b /S e'],
  ])('%s: nothing to refuse', (_, text) => {
    expect(checkFormat(tokens(text), ids, { refuse: HOLLOW })).toMatchObject({ valid: true, hacks: [] });
  });
});

test('any soup of tags has a report: valid iff there are no faults, and each broken text has a name', () => {
  const piece = fc.constantFrom(...Object.values(WORDS), 97, 98);
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60, size: 'max' }), (soup) => {
      const { valid, blocks, validBlocks, faults, hacks } = checkFormat(soup, ids);
      expect(valid).toBe(faults.length === 0);
      expect(hacks.some((hack) => (BROKEN as readonly string[]).includes(hack))).toBe(!valid);
      expect(validBlocks).toBeLessThanOrEqual(blocks);
      if (valid) expect(validBlocks).toBe(blocks);
    }),
    { numRuns: 500 },
  );
});
