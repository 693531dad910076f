import { describe, expect, test } from 'vitest';
import { TEST_IDS } from '../tokenizer/test-ids.ts';
import { checkFormat } from './format.ts';

const ids = TEST_IDS;
const WORDS: Record<string, number> = { P: 3, '/P': 4, '<': 5, '>': 6, S: 7, '/S': 8, n: 9, e: 2 };
/** "P < a > < b > /P n S c /S": letters are words, the rest tags. */
const tokens = (text: string) => text.split(' ').map((word) => WORDS[word] ?? word.charCodeAt(0));
const check = (text: string) => checkFormat(tokens(text), ids);

describe('valid', () => {
  test.each([
    ['a b e', 0],
    ['a P < a > < b > /P n S c /S d e', 1],
    ['P < a > < b > < c > /P n S c /S P < a > < b > /P n S c /S e', 2],
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

describe('each hole of the released checker', () => {
  test.each([
    ['one path', 'P < a > /P n S c /S e', undefined],
    ['an empty path', 'P < > < b > /P n S c /S e', 'empty_path'],
    ['no summary', 'P < a > < b > /P d e', 'missing_summary'],
    ['a summary far later', 'P < a > < b > /P x y S c /S e', 'missing_summary'],
    ['no summary at the end of the text', 'P < a > < b > /P', 'missing_summary'],
    ['a path outside a block', '< a > e', 'path_outside_block'],
    ['a nested block', 'P < a P < b > /P > < c > /P n S c /S e', 'nested_block'],
    ['a block that is cut open', 'P < a > < b', undefined],
    ['a summary that is cut open', 'P < a > < b > /P n S c', undefined],
    ['a stray closing tag', 'a /P e', undefined],
    ['a stray summary', 'a S b /S e', undefined],
  ])('%s', (_, text, hack) => {
    const report = check(text);
    expect(report.valid).toBe(false);
    expect(report.faults.length).toBeGreaterThan(0);
    expect(report.validBlocks).toBe(0);
    if (hack) expect(report.hacks).toContain(hack);
  });

  test('identical paths are well-formed but a hack', () => {
    expect(check('P < a b > < a b > /P n S c /S e')).toMatchObject({
      valid: true,
      hacks: ['identical_paths'],
    });
  });

  test('one good and one bad block: the text is not valid, the good block counts', () => {
    const report = check('P < a > < b > /P n S c /S P < a > /P n S c /S e');
    expect(report).toMatchObject({ valid: false, blocks: 2, validBlocks: 1 });
  });
});
